import os
import tempfile
import unittest

import points
import results
from testing import FAR, MIDDLE, NEAR, LCI_LINE, latency_result, launch, rate_result


class StateTest(unittest.TestCase):
    def test_near_middle_far(self):
        self.assertEqual([results.state_of(ns) for ns in (23, 70, 89.9, 90, 150, 150.1, 280)],
                         ["near", "near", "near", "middle", "middle", "far", "far"])

    def test_a_launch_has_a_state_only_if_it_did_not_change(self):
        self.assertEqual(launch(before=NEAR, after=NEAR).state, "near")
        self.assertEqual(launch(before=FAR, after=FAR).state, "far")
        self.assertEqual(launch(before=NEAR, after=FAR).state, "mixed")
        self.assertEqual(launch(before=MIDDLE, after=NEAR).state, "mixed")

    def test_a_launch_that_others_disturbed_has_none(self):
        self.assertEqual(launch()._replace(others=0.2).state, "disturbed")
        self.assertEqual(launch()._replace(others=0.2, most_others=0.3).state, "near")

    def test_main_state_is_the_commonest(self):
        good = rate_result(1.0)
        launches = [launch(result=good, before=FAR, after=FAR)] * 3 + [launch(result=good)] * 2
        self.assertEqual(results.main_state(launches), "far")

    def test_main_state_is_the_nearer_of_equals(self):
        good = rate_result(1.0)
        self.assertEqual(results.main_state(
            [launch(result=good, before=FAR, after=FAR), launch(result=good)]), "near")
        self.assertEqual(results.main_state([]), "near")

    def test_failed_and_mixed_launches_make_no_state(self):
        launches = [launch(result=None, before=NEAR, after=NEAR)] * 3
        launches += [launch(result=rate_result(1.0), before=NEAR, after=FAR)] * 3
        launches += [launch(result=rate_result(1.0), before=FAR, after=FAR)]
        self.assertEqual(results.main_state(launches), "far")


class ParseResultTest(unittest.TestCase):
    def test_takes_the_last_line_of_json(self):
        line = LCI_LINE % {"test": "latency", "size": 8, "threads": 1}
        result = results.parse_result("# lci_perf\n{}\n" + line + "\nbye\n")
        self.assertEqual(result["latency_us_p50"], 0.1)
        self.assertEqual(result["messages_per_s"], 60000000)

    def test_refuses_what_is_no_result(self):
        for text, why in (
                ("", "no line of JSON"),
                ("latency 0.1\n", "no line of JSON"),
                ("{broken\n", "not JSON"),
                ('{"messages_per_s": 0, "bytes_per_s": 1}', "messages_per_s"),
                ('{"messages_per_s": 5, "bytes_per_s": "many"}', "bytes_per_s"),
                ('{"messages_per_s": NaN, "bytes_per_s": 1}', "messages_per_s"),
                ('{"test": "latency", "messages_per_s": 5, "bytes_per_s": 1}', "latency_us_p50")):
            with self.subTest(text), self.assertRaisesRegex(ValueError, why):
                results.parse_result(text)


class KeepTest(unittest.TestCase):
    def test_what_is_saved_is_loaded(self):
        launches = [launch(result=latency_result(0.1)), launch(result=None, error="it hung", after=FAR)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "launches.jsonl")
            results.save(launches, path)
            self.assertEqual(results.load(path), launches)

    def test_a_damaged_line_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "launches.jsonl")
            for damage in ("not JSON", "[]", '{"point": {}}', '{"contestant": "lci_am"}'):
                results.save([launch(result=latency_result(0.1))], path)
                with open(path, "a", encoding="utf-8") as file:
                    file.write(damage + "\n")
                with self.subTest(damage), self.assertRaisesRegex(ValueError, "launches.jsonl:2"):
                    results.load(path)


class TableTest(unittest.TestCase):
    def setUp(self):
        self.latency = points.make_point("latency", 8, 1)
        self.rate = points.make_point("rate", 8, 1)

    def test_summary_has_median_and_range_of_one_state(self):
        launches = [launch(result=latency_result(p50)) for p50 in (0.3, 0.1, 0.2, 9.0)]
        launches += [launch(result=latency_result(5.0), before=FAR, after=FAR)]
        launches += [launch(result=latency_result(7.0), after=FAR), launch(result=None, error="failed")]
        launches += [launch(result=latency_result(8.0))._replace(others=0.9)]
        summary = results.Table(launches, "near").summary("lci_am", self.latency)
        self.assertEqual(summary, results.Summary(4, 0.25, 0.1, 9.0))
        self.assertEqual(results.Table(launches, "far").summary("lci_am", self.latency).median, 5.0)
        self.assertIsNone(results.Table(launches, "middle").summary("lci_am", self.latency))
        self.assertIsNone(results.Table(launches, "near").summary("lci_am", self.rate))

    def test_rates_are_in_millions(self):
        launches = [launch(test="rate", result=rate_result(22.4e6))]
        self.assertEqual(results.Table(launches, "near").summary("lci_am", self.rate).median, 22.4)

    def test_ratio_says_how_many_times_better_the_reference_is(self):
        launches = [launch(result=latency_result(0.1))] * 3
        launches += [launch("ucx_tag", result=latency_result(0.2))] * 3
        launches += [launch(test="rate", result=rate_result(60e6))] * 3
        launches += [launch("ucx_tag", test="rate", result=rate_result(20e6))] * 3
        table = results.Table(launches, "near")
        self.assertAlmostEqual(table.ratio("ucx_tag", "lci_am", self.latency), 2.0)
        self.assertAlmostEqual(table.ratio("ucx_tag", "lci_am", self.rate), 3.0)
        self.assertAlmostEqual(table.ratio("lci_am", "lci_am", self.rate), 1.0)

    def test_ratio_needs_enough_launches_of_both_in_the_state(self):
        launches = [launch(result=latency_result(0.1))] * 3
        launches += [launch("ucx_tag", result=latency_result(0.2))] * 2
        launches += [launch("ucx_tag", result=latency_result(0.2), before=FAR, after=FAR)] * 5
        for state in ("near", "far"):
            self.assertIsNone(results.Table(launches, state).ratio("ucx_tag", "lci_am", self.latency))


if __name__ == "__main__":
    unittest.main()
