#!/usr/bin/env python3
"""Tests of `lci_plot`, which plots the results of lci_perf."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

# `lci_plot` has no suffix, as programs have none.
sys.dont_write_bytecode = True
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lci_plot")
LOADER = importlib.machinery.SourceFileLoader("lci_plot", SCRIPT)
plot = importlib.util.module_from_spec(importlib.util.spec_from_loader("lci_plot", LOADER))
LOADER.exec_module(plot)

NAMESPACE = "{http://www.w3.org/2000/svg}"


def result(**fields):
    made = {"op": "am", "test": "latency", "size": 8, "threads": 1, "devices": "shared", "backend": "shm", "ranks": 2,
            "latency_us_p50": 0.5, "messages_per_s": 2e6, "bytes_per_s": 16e6, "cpu_user_us": 1, "processor": "A, B"}
    made.update(fields)
    return made


def rows(*results, file="file"):
    text = "".join(json.dumps(one) + "\n" for one in results)
    return [dict(row, file=file) for row in plot.read_rows(text.splitlines(), file)]


def chart(*results, **arguments):
    return plot.make_chart(rows(*results), **arguments)


class ReadTest(unittest.TestCase):
    def test_csv_and_json_mean_the_same(self):
        csv = ["op,test,size,threads,processor", 'am,latency,8,2,"A ""fast"" CPU, new"', "am,latency,16,2,B"]
        found = plot.read_rows(csv, "a.csv")
        self.assertEqual(found[0], {"op": "am", "test": "latency", "size": "8", "threads": "2",
                                    "processor": 'A "fast" CPU, new'})
        self.assertEqual(plot.read_rows([json.dumps({"op": "am", "test": "latency", "size": 16, "threads": 2,
                                                     "processor": "B"})], "a.json"), found[1:])

    def test_outputs_may_follow_each_other(self):
        output = ["op,test,size", "am,latency,8"]
        self.assertEqual(len(plot.read_rows(output + [""] + output, "a.csv")), 2)

    def test_says_where_it_finds_no_result(self):
        for lines, words in (
            (["8  0.5"], "a:1: is no result"),
            (["op,test,size,threads", "am,latency,8"], "a:2: is incomplete"),
            (['{"op": "am"}'], "a:1: is incomplete"),
            (['{"op": '], "a:1: "),
            ([], "a has no results"),
        ):
            with self.assertRaisesRegex(plot.PlotError, words):
                plot.read_rows(lines, "a")


class ChartTest(unittest.TestCase):
    def test_a_line_a_setting(self):
        made = chart(result(size=8), result(size=16, latency_us_p50=0.75), result(op="send", size=8, latency_us_p50=2))
        self.assertEqual([(one.name, one.points) for one in made.series],
                         [("am", [(8, 0.5, 0.5, 0.5), (16, 0.75, 0.75, 0.75)]), ("send", [(8, 2, 2, 2)])])
        self.assertEqual(made.title, "lci_perf: latency, shm, 2 ranks, 1 thread")
        self.assertEqual((made.x_label, made.y_label), ("size of a message", "median latency, us"))
        self.assertEqual(made.x_names, {8: "8 B", 16: "16 B"})

    def test_repeated_points_become_their_median_and_range(self):
        made = chart(*[result(latency_us_p50=value) for value in (9, 1, 2)])
        self.assertEqual(made.series[0].points, [(8, 2, 1, 9)])

    def test_a_test_has_its_axis_and_unit(self):
        for test, value in (("rate", 2), ("bandwidth", 0.016), ("bibandwidth", 0.016), ("connect", 0.5)):
            self.assertEqual(chart(result(test=test)).series[0].points[0][1], value)
        self.assertEqual(chart(result(cpu_user_us=7), y="cpu_user_us").series[0].points[0][1], 7)
        with self.assertRaisesRegex(plot.PlotError, "say with --y"):
            chart(result(), result(test="rate"))
        with self.assertRaisesRegex(plot.PlotError, "no number latency_us_p99"):
            chart(result(), y="latency_us_p99")

    def test_threads_are_the_axis_where_they_differ(self):
        made = chart(result(threads=1), result(threads=2), result(threads=2, devices="dedicated"))
        self.assertEqual(made.x_label, "threads of each rank")
        self.assertEqual([one.name for one in made.series], ["dedicated", "shared"])
        self.assertEqual([one.name for one in chart(result(threads=1), result(threads=2), x="size").series],
                         ["threads 1", "threads 2"])

    def test_persistent_collectives_and_calls(self):
        overlap = {"op": "allreduce", "overlap_percent": 62.5, "progress_calls": 4}
        made = chart(result(persistent=True, **overlap), result(persistent=False, **overlap), y="overlap_percent")
        self.assertEqual([(one.name, one.points) for one in made.series],
                         [("called", [(8, 62.5, 62.5, 62.5)]), ("persistent", [(8, 62.5, 62.5, 62.5)])])
        self.assertEqual(made.y_label, "latency hidden by computation, %")
        self.assertEqual([one.name for one in chart(result(**overlap), result(**dict(overlap, progress_calls=0))).series],
                         ["progress_calls 0", "progress_calls 4"])

    def test_files_are_told_apart_where_nothing_else_does(self):
        made = plot.make_chart(rows(result(), file="before") + rows(result(), file="after"))
        self.assertEqual([one.name for one in made.series], ["after", "before"])

    def test_a_size_of_0_has_no_place(self):
        self.assertEqual(chart(result(size=0), result(size=8)).series[0].points[0][0], 8)

    def test_names_below_the_axis_do_not_overlap(self):
        for count in (1, 2, 9, 10, 23):
            names = chart(*[result(size=1 << power) for power in range(count)]).x_names
            self.assertLessEqual(len(names), plot.MOST_NAMES)
            self.assertIn(1, names)


class MainTest(unittest.TestCase):
    def run_main(self, words):
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            code = plot.main(words)
        return code, out.getvalue(), error.getvalue()

    def test_draws_files(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("am.json", "send.json")]
            for path, op in zip(paths, ("am", "send")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(json.dumps(result(op=op)) + "\n")
            code, text, error = self.run_main(paths + ["--title", "Two & two"])
            self.assertEqual((code, error), (0, ""))
            words = [element.text for element in ElementTree.fromstring(text).iter(NAMESPACE + "text")]
            for word in ("Two & two", "am", "send", "8 B"):
                self.assertIn(word, words)
            output = os.path.join(folder, "plot.svg")
            self.assertEqual(self.run_main(paths + ["--title", "Two & two", "--output", output])[0], 0)
            with open(output, encoding="utf-8") as file:
                self.assertEqual(file.read(), text)

    def test_an_error_is_a_line(self):
        code, text, error = self.run_main(["/nowhere/a.csv"])
        self.assertEqual((code, text), (1, ""))
        self.assertEqual(error, "lci_plot: /nowhere/a.csv: No such file or directory\n")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "binary")
            with open(path, "wb") as file:
                file.write(b"\x7fELF\x90")
            code, text, error = self.run_main([path])
            self.assertEqual((code, text), (1, ""))
            self.assertRegex(error, "^lci_plot: %s is not a text; .*\n$" % path)
            path = os.path.join(folder, "results.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(json.dumps(result()) + "\n")
            code, text, error = self.run_main([path, "--output", "/dev/full"])
            self.assertEqual(code, 1)
            self.assertEqual(error, "lci_plot: can't write /dev/full: No space left on device\n")


if __name__ == "__main__":
    unittest.main()
