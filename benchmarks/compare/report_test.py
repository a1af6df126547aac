import unittest

import points
import report
from testing import FAR, latency_result, launch, rate_result


def three(contestant, result, **more):
    return [launch(contestant, result=result, number=number, **more) for number in (1, 2, 3)]


class FiguresTest(unittest.TestCase):
    def test_three_digits_that_count(self):
        self.assertEqual([report.figures(value) for value in (0.1174, 1.234, 22.42, 304.4, 1876.0)],
                         ["0.117", "1.23", "22.4", "304", "1876"])


class CountTest(unittest.TestCase):
    def test_says_how_many_launches_were_in_which_state(self):
        good = latency_result(0.1)
        launches = [launch(result=good), launch(result=good, number=2), launch(result=good, after=FAR),
                    launch("ucx_tag", result=None, error="it hung", before=FAR, after=FAR)]
        lines = report.count_states(launches)
        self.assertEqual(lines[0], "4 launches in 2 rounds: 2 near, 0 middle, 1 far, 1 mixed, 0 disturbed.")
        self.assertIn("more than 15 %", lines[1])
        self.assertIn("took 1 %", lines[2])
        self.assertEqual(lines[3], "1 launch FAILED:")
        self.assertEqual(lines[4], "  1x ucx_tag, latency of 8 B, 1 thread a rank: it hung")


class TextTest(unittest.TestCase):
    def test_has_the_best_first_and_the_ratio(self):
        launches = three("lci_am", latency_result(0.09)) + three("ucx_tag", latency_result(0.104))
        launches += three("openmpi_single", latency_result(0.18))
        text = report.text_report(launches)
        self.assertIn("latency of 8 B, 1 thread a rank (p50), us", text)
        rows = [line.split() for line in text.splitlines() if line.startswith("  ") and "median" not in line]
        self.assertEqual([row[-5:] for row in rows], [
            ["0.090", "0.090", "0.090", "3", "1.00"],
            ["0.104", "0.104", "0.104", "3", "1.16"],
            ["0.180", "0.180", "0.180", "3", "2.00"],
        ])

    def test_more_is_better_for_rates(self):
        launches = three("lci_am", rate_result(60e6), test="rate") + three("ucx_tag", rate_result(20e6), test="rate")
        rows = [line.split() for line in report.text_report(launches).splitlines() if line.startswith("  ")][1:]
        self.assertEqual([(row[0], row[-1]) for row in rows], [("LCI", "1.00"), ("UCX", "3.00")])

    def test_two_threads_have_a_mean_and_a_tail(self):
        text = report.text_report(three("lci_am", latency_result(0.5), threads=2))
        for label in ("(mean)", "(p50)", "(p99)"):
            self.assertIn("latency of 8 B, 2 threads a rank %s, us" % label, text)

    def test_states_are_apart_and_the_commonest_first(self):
        launches = three("lci_am", latency_result(0.5), before=FAR, after=FAR) + [launch(result=latency_result(0.1))]
        text = report.text_report(launches)
        self.assertLess(text.index("==== far (3 launches)"), text.index("==== near (1 launches)"))
        self.assertNotIn("middle (", text)


class MarkdownTest(unittest.TestCase):
    def test_contestants_by_points(self):
        launches = three("lci_am", latency_result(0.09)) + three("ucx_tag", latency_result(0.18))
        launches += three("mpich_single", latency_result(0.135)) + three("line", latency_result(0.06))
        launches += three("lci_am", rate_result(60e6), test="rate")
        launches += three("lci_am", rate_result(80e6), test="rate", window=1024)
        launches += [launch("ucx_tag", test="rate", result=rate_result(rate)) for rate in (10e6, 20e6, 30e6)]
        text = report.markdown_report(launches, "A machine")
        self.assertIn("A machine. Median", text)
        lines = text.splitlines()
        heading = next(line for line in lines if "8 B one way" in line)
        self.assertTrue(heading.startswith(
            "| | 8 B one way, us | 8 B rate, M/s | 8 B rate, 1024 under way, M/s | 4 KiB bandwidth, GB/s |"))
        self.assertIn(
            "| LCI active message | 0.090 (0.090–0.090) | 60.0 (60.0–60.0) | 80.0 (80.0–80.0) |  |  |  |", lines)
        self.assertIn("| UCX tag | 0.180 (0.180–0.180) | 20.0 (10.0–30.0) |  |  |  |  |", lines)
        # Of the peers: a limit is none.
        self.assertIn("| **LCI against the best peer, times better** | 1.50 | 3.00 |  |  |  |  |", lines)
        self.assertFalse(any("THREAD_MULTIPLE" in line for line in lines))


class CollectiveTest(unittest.TestCase):
    def launches(self):
        made = []
        for test, size, times in (("barrier", 0, (0.5, 1.0)), ("allreduce", 8, (0.5, 0.4)), ("allreduce", 4096, (2.0, 3.0))):
            point = points.make_collective(test, size, 2)
            for key, time in zip(("lci_collective", "openmpi_collective"), times):
                result = {"latency_us_mean": time, "messages_per_s": 2e6 / time}
                made += [one._replace(point=point) for one in three(key, result)]
        return made

    def test_operations_by_sizes(self):
        lines = report.markdown_report(self.launches(), "A machine").splitlines()
        self.assertTrue(lines[0].startswith("A machine. Microseconds a call"))
        at = lines.index("2 ranks:")
        self.assertEqual(lines[at + 2:at + 6], [
            "| LCI / Open MPI | 8 B | 4 KiB |",
            "|---|---|---|",
            "| barrier | 0.500 / 1.00 (2.00) |  |",
            "| allreduce | 0.500 / 0.400 (0.80) | 2.00 / 3.00 (1.50) |",
        ])

    def test_overlap_has_a_table_without_ratios(self):
        launches = self.launches()
        for test, size, percents in (("barrier", 0, (25.0, 50.0)), ("allreduce", 4096, (80.0, 0.0))):
            point = points.make_collective(test, size, 2, overlap=True)
            for key, percent in zip(("lci_collective", "openmpi_collective"), percents):
                result = {"latency_us_mean": 3.0, "messages_per_s": 1e6, "overlap_percent": percent}
                launches += [one._replace(point=point) for one in three(key, result)]
        lines = report.markdown_report(launches, "A machine").splitlines()
        self.assertIn("| allreduce | 0.500 / 0.400 (0.80) | 2.00 / 3.00 (1.50) |", lines)
        at = next(number for number, line in enumerate(lines) if line.startswith("2 ranks, percent of the latency"))
        self.assertEqual(lines[at + 2:at + 6], [
            "| LCI / Open MPI | 4 KiB |",
            "|---|---|",
            "| barrier | 25.0 / 50.0 |",
            "| allreduce | 80.0 / 0.000 |",
        ])
        rows = report.text_report(launches).split("overlap of barrier, 2 ranks (of the latency hidden), %\n")[1].splitlines()
        self.assertEqual([row.split()[0] for row in rows[1:3]], ["Open", "LCI"])  # more is better

    def test_a_rank_count_has_a_table(self):
        launches = self.launches()
        launches += [one._replace(point=one.point._replace(ranks=4)) for one in launches]
        text = report.markdown_report(launches, "A machine")
        self.assertIn("\n2 ranks:\n", text)
        self.assertIn("\n4 ranks:\n", text)

    def test_in_a_terminal(self):
        self.assertIn("allreduce of 4 KiB, 2 ranks (mean), us", report.text_report(self.launches()))


if __name__ == "__main__":
    unittest.main()
