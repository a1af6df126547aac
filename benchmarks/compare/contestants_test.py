import socket
import unittest
from unittest import mock

import building
import contestants
import points
from launching import LaunchError
from testing import latency_result, rate_result


class ContestantsTest(unittest.TestCase):
    def test_all_of_them_are_there(self):
        self.assertEqual([one.key for one in contestants.CONTESTANTS if one.contest == "messages"], [
            "lci_am", "lci_queue", "lci_send", "lci_shared", "openmpi_single", "openmpi_multiple", "mpich_single", "mpich_multiple",
            "ucx_tag", "ucx_am", "ucx_perftest", "line", "ring", "copy", "vm_readv"])
        self.assertEqual([one.key for one in contestants.CONTESTANTS if one.contest == "tcp"], [
            "lci_am_tcp", "lci_send_tcp", "lci_am_rxm", "lci_send_rxm", "openmpi_single_tcp", "openmpi_multiple_tcp",
            "ofi_tcp", "ofi_net", "ucx_tag_tcp", "ucx_am_tcp"])
        self.assertEqual([one.key for one in contestants.CONTESTANTS if one.contest == "collectives"], [
            "lci_collective", "openmpi_collective", "mpich_collective"])
        self.assertEqual([one.key for one in contestants.CONTESTANTS if one.contest == "hosts"], [
            "lci_hosts", "openmpi_hosts", "mpich_hosts"])
        self.assertEqual([one.key for one in contestants.CONTESTANTS if one.contest == "threads"], [
            "lci_am_processes", "lci_am_own", "lci_am_one", "lci_send_processes", "lci_send_own", "lci_send_one",
            "mpich_vci_multiple_threads", "openmpi_multiple_threads", "ucx_tag_threads", "ucx_am_threads"])
        self.assertEqual({one.family for one in contestants.CONTESTANTS if one.is_peer},
                         {"Open MPI", "MPICH", "UCX", "libfabric"})

    def test_their_names_fit_beside_a_plot(self):
        self.assertLessEqual(max(len(one.name) for one in contestants.CONTESTANTS), 30)

    def test_they_need_programs_that_somebody_makes(self):
        made = set(building.OURS) | set(building.INSTALLED) | set(building.COMPILED) | set(building.VCI)
        needed = {name for one in contestants.CONTESTANTS for name in one.needs}
        self.assertEqual(needed, made - {"cacheline_probe"})

    def test_every_point_has_the_library_and_every_peer(self):
        for contest, families in (("messages", {"Open MPI", "MPICH", "UCX"}), ("tcp", {"Open MPI", "UCX"})):
            for point in points.all_points() + points.all_points(quick=True):
                takers = [one for one in contestants.CONTESTANTS if one.contest == contest and one.takes(point)]
                alone = {"libfabric"} if contest == "tcp" and point.threads == 1 else set()
                with self.subTest(point.name, contest=contest):
                    self.assertEqual({one.family for one in takers if one.is_peer}, families | alone)
                    self.assertIn(contestants.reference_for(point, contest), [one.key for one in takers])

    def test_over_tcp_all_are_told_to_use_it(self):
        commands_run = []

        def run_programs(commands, _timeout, environment=None):
            commands_run.append(" ".join(commands[0] + ["%s=%s" % pair for pair in sorted((environment or {}).items())]))
            return '{"messages_per_s": 1, "bytes_per_s": 8, "size": 8}'

        point = points.make_point("rate", 8, 1)
        programs = {name: name for one in contestants.CONTESTANTS for name in one.needs}
        with mock.patch.object(contestants, "run_programs", run_programs):
            for one in contestants.CONTESTANTS:
                if one.contest == "tcp":
                    one.measure(programs, point, 1)
                    words = {"LCI": "LCI_ATTR_BACKEND=ofi", "Open MPI": "--mca btl tcp,self", "UCX": "UCX_TLS=tcp",
                             "libfabric": "ofi_bench --op"}
                    self.assertIn(words[one.family], commands_run[-1])
        self.assertEqual(len(commands_run), 10)

    def test_threads_and_processes_are_as_many(self):
        commands_run = []

        def run_programs(commands, _timeout, environment=None):
            commands_run.append(" ".join(commands[0] + ["%s=%s" % pair for pair in sorted((environment or {}).items())]))
            return '{"messages_per_s": 1, "bytes_per_s": 8, "size": 8}'

        point = points.threads_points([1, 4])[3]
        self.assertEqual(point.name, "rate of 8 B, 4 threads a rank")
        programs = {name: name for one in contestants.CONTESTANTS for name in one.needs}
        with mock.patch.object(contestants, "run_programs", run_programs):
            for key in ("lci_am_processes", "lci_am_own", "lci_send_one", "mpich_vci_multiple_threads"):
                contestants.by_key(key).measure(programs, point, 7)
        for command, words in zip(commands_run, (
                ("lcrun -n 8 ", "--threads 1 ", "--devices shared", "--completion handler"),
                ("lcrun -n 2 ", "--threads 4 ", "--devices dedicated", "--completion handler"),
                ("lcrun -n 2 ", "--threads 4 ", "--devices shared", "--completion sync"),
                ("mpirun_vci -n 2", "--threads 4 ", "MPIR_CVAR_CH4_NUM_VCIS=4"))):
            for word in words:
                self.assertIn(word, command)
        self.assertEqual(len(commands_run), 4)

    def test_every_number_of_threads_has_processes_to_compare_with(self):
        for point in points.threads_points([1, 2, 16]):
            takers = [one.key for one in contestants.CONTESTANTS if one.contest == "threads" and one.takes(point)]
            with self.subTest(point.name):
                self.assertIn(contestants.reference_for(point, "threads"), takers)
                self.assertEqual("lci_send_own" in takers, point.threads > 1)
                self.assertEqual("lci_am_one" in takers, point.threads > 1 and point.test != "bandwidth")

    def test_between_hosts_half_of_the_ranks_are_on_each(self):
        commands_run = []

        def run_programs(commands, _timeout, _environment=None):
            commands_run.append(" ".join(commands[0]))
            return '{"latency_us_mean": 1, "messages_per_s": 1}'

        class Hosts:
            names, agent = ["h1", "h2"], "/a b/agent"
            command_on_first = staticmethod(lambda words: ["first"] + words)

        point = points.host_points([4], 2)[1]
        self.assertEqual(point.name, "broadcast of 8 B, 4 ranks on 2 hosts")
        programs = dict({name: name for one in contestants.CONTESTANTS for name in one.needs}, hosts=Hosts())
        with mock.patch.object(contestants, "run_programs", run_programs):
            for key in ("lci_hosts", "openmpi_hosts", "mpich_hosts"):
                contestants.by_key(key).measure(programs, point, 7)
        for command, words in zip(commands_run, ("lcrun --launch-agent /a b/agent %h -H h1:2,h2:2 lci_perf",
                                                 "mpirun.openmpi -n 4 --mca plm_rsh_agent /a b/agent --host h1:2,h2:2",
                                                 "mpirun.mpich -n 4 -launcher ssh -launcher-exec /a b/agent -hosts h1:2,h2:2")):
            self.assertTrue(command.startswith("first " + words), command)
            self.assertIn("--op broadcast --size 8 --bind none", command)
        self.assertEqual(contestants.reference_for(point, "hosts"), "lci_hosts")

    def test_several_threads_need_a_library_that_allows_them(self):
        two = points.make_point("rate", 8, 2)
        takers = [one.key for one in contestants.CONTESTANTS if one.takes(two)]
        self.assertNotIn("openmpi_single", takers)
        self.assertNotIn("mpich_single", takers)
        self.assertIn("lci_shared", takers)
        self.assertIn("ucx_perftest", takers)

    def test_lci_perf_is_called_by_its_options(self):
        point = points.make_point("bandwidth", 65536, 1)
        command = contestants.lci_command({"lcrun": "L", "lci_perf": "P"}, "send", "dedicated", "sync", point, 123)
        self.assertEqual(
            " ".join(command),
            "L -n 2 P --op send --test bandwidth --size 65536 --threads 1 --window 16 --bind core --devices dedicated "
            "--completion sync --iters 123 --format json")

    def test_receivers_read_where_the_point_says_so(self):
        read = [point for point in points.all_points() if point.read]
        self.assertEqual([point.size for point in read], [16384, 65536, 262144])
        self.assertEqual(read[0].name, "latency of 16 KiB, 1 thread a rank, read by the receiver")
        for point in read:
            self.assertIn("--read", contestants.pair_words("tag", point))
        self.assertNotIn("--read", contestants.pair_words("tag", points.make_point("latency", 16384, 1)))

    def test_more_threads_than_cores_are_not_bound(self):
        command = contestants.pair_words("tag", points.make_point("latency", 8, 2))
        self.assertEqual(" ".join(command),
                         "--op tag --test latency --size 8 --threads 2 --window 2 --bind core --seconds 0.3")


class CollectivesTest(unittest.TestCase):
    def commands(self, point, processors):
        """The command line of each library that takes the point, by its key."""
        programs = {name: name for one in contestants.CONTESTANTS for name in one.needs}
        told = {}

        def run_programs(commands, _timeout, _environment=None):
            told[one.key] = " ".join(commands[0])
            return '{"latency_us_mean": 1.5, "messages_per_s": 1333333, "overlap_percent": 0}'

        with mock.patch.object(contestants, "run_programs", run_programs), mock.patch.object(
                contestants, "processors", lambda: processors):
            for one in contestants.CONTESTANTS:
                if one.contest == "collectives" and one.takes(point):
                    self.assertEqual(one.measure(programs, point, 70)["latency_us_mean"], 1.5)
        return told

    def test_all_are_asked_for_the_same(self):
        told = self.commands(points.make_collective("allreduce", 65536, 2), processors=2)
        self.assertEqual(told, {
            "lci_collective":
                "lcrun -n 2 lci_perf --op allreduce --size 65536 --bind core --iters 70 --format json",
            "openmpi_collective":
                "mpirun.openmpi -n 2 --bind-to none --oversubscribe mpi_collectives_openmpi --op allreduce --size 65536 "
                "--bind core --seconds 0.2",
            "mpich_collective":
                "mpirun.mpich -n 2 -bind-to none mpi_collectives_mpich --op allreduce --size 65536 --bind core "
                "--seconds 0.2",
        })

    def test_all_are_asked_for_the_same_overlap(self):
        told = self.commands(points.make_collective("allgather", 4096, 2, overlap=True), processors=2)
        self.assertEqual(set(told), {"lci_collective", "openmpi_collective", "mpich_collective"})
        for words in told.values():
            self.assertIn("--op allgather --size 4096 --bind core --overlap --progress-calls 10 ", words)

    def test_a_result_without_overlap_is_refused(self):
        one = contestants.by_key("lci_collective")
        point = points.make_collective("barrier", 0, 2, overlap=True)
        for wrong in ("", ', "overlap_percent": -1', ', "overlap_percent": 101', ', "overlap_percent": "much"'):
            line = '{"latency_us_mean": 1.5, "messages_per_s": 5%s}' % wrong
            with self.subTest(wrong), mock.patch.object(contestants, "run_programs", lambda *_, line=line: line):
                with self.assertRaisesRegex(ValueError, "as overlap_percent"):
                    one.measure({"lcrun": "", "lci_perf": ""}, point, 1)

    def test_a_barrier_has_no_size(self):
        told = self.commands(points.make_collective("barrier", 8, 2), processors=2)
        self.assertFalse([words for words in told.values() if "--size" in words])

    def test_more_ranks_than_processors_yield(self):
        told = self.commands(points.make_collective("alltoall", 8, 4), processors=2)
        self.assertIn("--mca mpi_yield_when_idle 1", told["openmpi_collective"])
        self.assertNotIn("mpich_collective", told)

    def test_a_result_without_a_time_is_refused(self):
        one = contestants.by_key("lci_collective")
        with mock.patch.object(contestants, "run_programs", lambda *_: '{"messages_per_s": 5}'):
            with self.assertRaisesRegex(ValueError, "None as latency_us_mean"):
                one.measure({"lcrun": "", "lci_perf": ""}, points.make_collective("barrier", 0, 2), 1)

    def test_the_pace_is_that_of_the_calls(self):
        paces = contestants.Paces()
        point = points.make_collective("allgather", 8, 4)
        paces.learn("lci_collective", point, {"messages_per_s": 4e6})
        self.assertEqual(paces.iterations("lci_collective", point), int(1e6 * point.seconds))


class PerftestTest(unittest.TestCase):
    HEADING = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"

    def test_one_thread(self):
        point = points.make_point("latency", 8, 1)
        result = contestants.parse_perftest(
            self.HEADING + "100000,0.238,1.026,1.026,7.44,7.44,975120,975120\n", point)
        self.assertEqual((result["latency_us_p50"], result["latency_us_mean"]), (0.238, 1.026))

    def test_two_threads_have_fewer_columns(self):
        rate = contestants.parse_perftest(self.HEADING + "100000,17.886,0.85,111817\n", points.make_point("rate", 8, 2))
        self.assertEqual(rate["messages_per_s"], 111817)
        self.assertEqual(rate["bytes_per_s"], 8 * 111817)
        latency = contestants.parse_perftest(
            self.HEADING + "2000,3.904,3.99,500000\n", points.make_point("latency", 8, 2))
        self.assertEqual(latency["latency_us_p50"], 3.904)
        self.assertEqual(latency["latency_us_mean"], 4.0)

    def test_anything_else_is_refused(self):
        for text in ("", self.HEADING, self.HEADING + "1,2,3\n", self.HEADING + "1,2,3,0\n", "connection refused"):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "ucx_perftest printed"):
                contestants.parse_perftest(text, points.make_point("rate", 8, 1))

    def test_sees_who_listens(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            port = server.getsockname()[1]
            with self.assertRaisesRegex(LaunchError, "port %d" % port):
                contestants.wait_until_listening(port, timeout=0.02)
            server.listen()
            self.assertIsNone(contestants.wait_until_listening(port))


class PacesTest(unittest.TestCase):
    def setUp(self):
        self.paces = contestants.Paces()
        self.latency = points.make_point("latency", 8, 1)
        self.rate = points.make_point("rate", 8, 2)

    def test_starts_with_few(self):
        self.assertEqual(self.paces.iterations("lci_am", self.latency), self.paces.FIRST)

    def test_makes_the_time_of_the_point(self):
        self.paces.learn("lci_am", self.latency, latency_result(0.1, messages_per_s=10e6))
        # 5 million round trips a second.
        self.assertEqual(self.paces.iterations("lci_am", self.latency), int(5e6 * self.latency.seconds))
        self.paces.learn("lci_am", self.rate, rate_result(12.8e6))
        # Two threads with windows of 64.
        self.assertEqual(self.paces.iterations("lci_am", self.rate), int(0.1e6 * self.rate.seconds))
        self.assertEqual(self.paces.iterations("lci_send", self.rate), self.paces.FIRST)

    def test_goes_by_the_slowest_launch(self):
        for rate in (12.8e6, 1.28e6, 12.8e6):
            self.paces.learn("lci_am", self.rate, rate_result(rate))
        self.assertEqual(self.paces.iterations("lci_am", self.rate), int(0.01e6 * self.rate.seconds))

    def test_leaves_the_fastest_something_to_measure(self):
        for rate in (12.8e6, 12.8):
            self.paces.learn("lci_am", self.rate, rate_result(rate))
        self.assertEqual(self.paces.iterations("lci_am", self.rate), int(0.1e6 * self.rate.seconds / 30))

    def test_has_an_end(self):
        self.paces.learn("lci_am", self.latency, latency_result(1e-6))
        self.assertEqual(self.paces.iterations("lci_am", self.latency), self.paces.MOST)


if __name__ == "__main__":
    unittest.main()
