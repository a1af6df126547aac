import contextlib
import importlib.machinery
import importlib.util
import io
import os
import tempfile
import unittest
from unittest import mock

import building
import points
import results
from testing import LCI_LINE, latency_result, launch, write_script

HERE = os.path.dirname(os.path.abspath(__file__))
_loader = importlib.machinery.SourceFileLoader("run", os.path.join(HERE, "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", _loader))
_loader.exec_module(run)

# Prints the result of the options that it was given.
FAKE = [
    "test=latency; size=0; threads=1",
    "while [ $# -gt 0 ]; do",
    '  case $1 in --test) test=$2 ;; --size) size=$2 ;; --threads) threads=$2 ;; esac; shift',
    "done",
    "echo '%s' | sed \"s/TEST/$test/; s/SIZE/$size/; s/THREADS/$threads/\"" % (
        LCI_LINE % {"test": "TEST", "size": "SIZE", "threads": "THREADS"}),
]


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out")
        self.programs = {
            "lcrun": write_script(self.folder, "lcrun", FAKE),
            "lci_perf": write_script(self.folder, "lci_perf", []),
            "physical": write_script(self.folder, "physical", FAKE),
            "cacheline_probe": write_script(self.folder, "cacheline_probe", ["echo 60"]),
        }

    def main(self, *words, nothing_installed=True):
        """(exit code, standard output, standard error)"""
        output, errors = io.StringIO(), io.StringIO()
        given = [word for name, path in self.programs.items() for word in ("--" + name.replace("_", "-"), path)]
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(output))
            stack.enter_context(contextlib.redirect_stderr(errors))
            if nothing_installed:
                stack.enter_context(mock.patch.object(building.shutil, "which", lambda name: None))
            code = run.main(["--out", self.out, "--most-others", "100"] + given + list(words))
        return code, output.getvalue(), errors.getvalue()

    def test_ranks_between_hosts_are_a_multiple_of_the_hosts(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as errors:
            run.parse_arguments(["--between-hosts", "--ranks", "2,3"])
        self.assertIn("--ranks: with --between-hosts, a multiple of 2", errors.getvalue())

    def test_quick_does_without_peers_and_says_so(self):
        code, output, _ = self.main("--quick")
        self.assertEqual(code, 0)
        self.assertIn("compare: Open MPI takes no part: not installed (package openmpi-bin)", output)
        self.assertIn("compare: UCX tag takes no part: g++ is not installed (package libucx-dev)", output)
        self.assertIn("LCI active message", output)
        self.assertEqual(
            sorted(os.listdir(self.out)),
            ["bandwidth.svg", "latency.svg", "launches.jsonl", "programs", "rate.svg", "report.txt", "table.md"])
        launches = results.load(os.path.join(self.out, "launches.jsonl"))
        self.assertEqual({one.state for one in launches}, {"near"})
        self.assertEqual({one.contestant for one in launches},
                         {"lci_am", "lci_queue", "lci_send", "lci_shared", "line", "ring", "copy", "vm_readv"})

    def test_threads_and_processes(self):
        code, output, _ = self.main("--quick", "--threads", "1,2")
        self.assertEqual(code, 0)
        self.assertIn("compare: MPICH, one VCI a thread takes no part: no MPICH with several VCIs was named (--mpich)", output)
        self.assertEqual(
            sorted(os.listdir(self.out)),
            ["launches.jsonl", "programs", "report.txt", "table.md", "threads-bandwidth.svg", "threads-latency.svg",
             "threads-rate.svg"])
        with open(os.path.join(self.out, "table.md"), encoding="utf-8") as file:
            table = file.read()
        self.assertIn("| threads of each rank | 1 | 2 |", table)
        self.assertIn("| LCI send, one device |  | ", table)
        code, again, _ = self.main("--from", os.path.join(self.out, "launches.jsonl"))
        self.assertEqual(code, 1, "too few launches")
        self.assertIn("threads-rate.svg", again)

    def test_an_mpich_that_is_not_there_is_an_error(self):
        code, _, errors = self.main("--quick", "--threads", "1", "--mpich", self.folder)
        self.assertEqual(code, 1)
        self.assertIn("there is no %s/bin/mpicxx" % self.folder, errors)
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as errors:
            run.parse_arguments(["--mpich", self.folder])
        self.assertIn("--mpich: only with --threads", errors.getvalue())

    def test_collective_operations(self):
        code, output, _ = self.main("--quick", "--collectives", "--ranks", "2,3")
        self.assertEqual(code, 0)
        self.assertIn("compare: Open MPI takes no part: not installed (package openmpi-bin)", output)
        self.assertIn("reduce_scatter of 64 KiB, 3 ranks (mean), us", output)
        self.assertIn("overlap of reduce_scatter of 64 KiB, 3 ranks (of the latency hidden), %", output)
        self.assertEqual({name for name in os.listdir(self.out) if name.endswith("-3-ranks.svg")},
                         {name + "-3-ranks.svg" for name in points.COLLECTIVES if name != "barrier"})
        launches = results.load(os.path.join(self.out, "launches.jsonl"))
        self.assertEqual({one.contestant for one in launches}, {"lci_collective"})
        self.assertEqual({one.point.ranks for one in launches}, {2, 3})

    def test_collective_operations_of_given_sizes(self):
        code, output, _ = self.main("--quick", "--collectives", "--ranks", "2", "--sizes", "5K,24")
        self.assertEqual(code, 0)
        self.assertIn("allgather of 5 KiB, 2 ranks (mean), us", output)
        launches = results.load(os.path.join(self.out, "launches.jsonl"))
        self.assertEqual({(one.point.test, one.point.size, one.point.overlap) for one in launches},
                         {(test, size, False) for test in points.COLLECTIVES if test != "barrier"
                          for size in (24, 5120)})
        for words in (["--collectives", "--sizes", "5"], ["--collectives", "--sizes", "5G"],
                      ["--sizes", "8"], ["--collectives", "--sizes", "8,"]):
            with self.subTest(words), self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                self.main("--quick", *words)

    def test_a_comparison_without_peers_is_none(self):
        code, output, _ = self.main("--no-install", "--rounds", "3", "--only", "UCX|line")
        self.assertEqual(code, 1)
        self.assertIn("UCX tag takes no part", output)
        code, _, _ = self.main("--no-install", "--rounds", "3", "--only", "line")
        self.assertEqual(code, 0)

    def test_a_library_that_fails_is_a_failure(self):
        self.programs["lcrun"] = write_script(self.folder, "lcrun", ["echo no memory >&2; exit 1"])
        code, output, _ = self.main("--quick", "--only", "LCI|a cache line")
        self.assertEqual(code, 1)
        self.assertIn("1x lci_am, latency of 8 B, 1 thread a rank:", output)
        self.assertIn("exit code 1: no memory", output)

    def test_what_the_machine_does_not_permit_is_only_reported(self):
        self.programs["physical"] = write_script(self.folder, "physical", ["echo not permitted >&2; exit 1"])
        code, output, _ = self.main("--quick", "--only", "LCI|a cache line")
        self.assertEqual(code, 0)
        self.assertIn("exit code 1: not permitted", output)

    def test_goes_on_while_launches_are_lost_to_changes(self):
        # Every third probe finds the processors elsewhere.
        count = os.path.join(self.folder, "count")
        self.programs["cacheline_probe"] = write_script(self.folder, "cacheline_probe", [
            "echo x >> %s" % count, "[ $(($(wc -l < %s) %% 3)) = 0 ] && echo 200 || echo 60" % count])
        code, output, _ = self.main("--no-install", "--only", "cache line", "--rounds", "3", "--most-rounds", "12")
        self.assertEqual(code, 0)
        launches = results.load(os.path.join(self.out, "launches.jsonl"))
        self.assertEqual(sum(one.state == "near" for one in launches), 3)
        self.assertGreater(sum(one.state == "mixed" for one in launches), 0)
        self.assertIn("round 4:", output)

    def test_too_few_launches_in_one_state_are_named(self):
        code, _, errors = self.main("--no-install", "--only", "LCI", "--rounds", "2", "--most-rounds", "2")
        self.assertEqual(code, 1)
        self.assertIn("too few launches of lci_am at latency of 8 B", errors)

    def test_draws_an_earlier_comparison_again(self):
        kept = os.path.join(self.folder, "kept.jsonl")
        results.save([launch(result=latency_result(0.125))] * 3, kept)
        code, output, _ = self.main("--from", kept)
        self.assertEqual(code, 0)
        self.assertIn("0.125", output)
        self.assertIn("latency.svg", os.listdir(self.out))

    def test_bad_input_is_an_error(self):
        code, _, errors = self.main("--from", os.path.join(self.folder, "nothing"))
        self.assertEqual(code, 1)
        self.assertIn("No such file", errors)
        for words in (["--rounds", "0"], ["--only", "("], ["--most-others", "101"], ["--colour"],
                      ["--over", "ib"], ["--over", "tcp", "--collectives"], ["--ranks", "1"], ["--ranks", "2,x"]):
            with self.subTest(words), self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                run.main(words)

    def test_peers_that_do_not_build_are_named(self):
        def compiler(name):
            return self.folder + "/compiler" if name.startswith("mpicxx") else None

        failure = mock.Mock(returncode=1, stdout="In file\nx.cc:1: error: no mpi.h\n")
        with mock.patch.object(building.shutil, "which", compiler), mock.patch.object(
                building.subprocess, "run", return_value=failure):
            paths, reasons = building.find_peers(os.path.join(self.out, "programs"))
        self.assertEqual(paths, {})
        self.assertEqual(reasons["mpi_bench_mpich"],
                         "does not build (package libmpich-dev): x.cc:1: error: no mpi.h")


if __name__ == "__main__":
    unittest.main()
