#!/usr/bin/env python3
"""Tests of `compare`: with programs that print given figures, and with the real ones.

usage: compare_test.py LCRUN LCI_PERF LCI2_PAIRS
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest

# `compare` is no module's name.
sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
LOADER = importlib.machinery.SourceFileLoader("compare", os.path.join(HERE, "compare"))
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", LOADER))
LOADER.exec_module(compare)

PROGRAMS = [os.path.abspath(path) for path in sys.argv[1:4]]


class Cells(unittest.TestCase):
    def test_names_are_of_one_cell_each(self):
        for processors in (1, 2, 16):
            names = [cell.name for cell in compare.cells(processors)]
            self.assertEqual(len(names), len(set(names)))

    def test_each_operation_has_every_test(self):
        found = {(cell.op, cell.test) for cell in compare.cells(2)}
        for op in ("am", "send", "put_signal"):
            for test in ("latency", "rate", "bandwidth"):
                self.assertIn((op, test), found)

    def test_more_processors_add_cells_of_more_threads(self):
        self.assertEqual({cell.threads for cell in compare.cells(1)}, {1, 2})
        self.assertEqual({cell.threads for cell in compare.cells(16)}, {1, 2, 8})


class Rows(unittest.TestCase):
    CELL = compare.Cell("am", "queue", "rate", 8)

    def test_the_ratio_is_the_median_of_the_rounds(self):
        # The medians themselves have the ratio 1.
        row = compare.Row(self.CELL, [1.0, 4.0, 12.0], [2.0, 4.0, 9.0])
        self.assertEqual(row.ratio, 1.0)
        self.assertEqual(compare.Row(self.CELL, [2.0, 4.0, 8.0], [1.0, 3.0, 8.0]).ratio, 0.75)

    def test_differences_in_both_directions_are_named(self):
        rows = [
            compare.Row(self.CELL._replace(size=size), [100.0], [figure])
            for size, figure in ((1, 89.0), (2, 91.0), (3, 109.0), (4, 111.0))
        ]
        self.assertEqual(
            compare.verdict(rows, 10).splitlines(),
            [
                "These cells differ by more than 10 %:",
                "  am/queue 1 B rate: 0.89",
                "  am/queue 4 B rate: 1.11",
            ],
        )
        self.assertEqual(compare.verdict(rows[1:3], 10), "No cell differs by more than 10 %.")

    def test_the_table_has_a_row_for_each_cell(self):
        rows = [compare.Row(self.CELL, [2e6, 4e6, 3e6], [6e6, 6e6, 6e6])]
        self.assertEqual(compare.table(rows).splitlines()[2:], ["| am/queue 8 B rate | M/s | 3 | 6 | 2.00 |"])


class Launches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def script(self, name, *lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(("#!/bin/sh",) + lines) + "\n")
        os.chmod(path, 0o755)
        return path

    def run_compare(self, lcrun, lci_perf, lci2_pairs, *words):
        words = list(words) + ["--lcrun", lcrun, "--lci-perf", lci_perf, "--lci2-pairs", lci2_pairs]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            compare.main(words + ["--json", os.path.join(self.folder, "cells")])
        with open(os.path.join(self.folder, "cells"), encoding="utf-8") as file:
            return out.getvalue(), [json.loads(line) for line in file]

    def test_the_programs_take_turns_and_the_first_one_alternates(self):
        log = os.path.join(self.folder, "log")
        lcrun = self.script("lcrun", "while [ $# -gt 0 ]; do case $1 in */*) exec $1 ;; esac; shift; done")
        perf = self.script("perf", "echo perf >>%s" % log, "echo '{\"latency_us_mean\": 2}'")
        pairs = self.script("pairs", "echo pairs >>%s" % log, "echo '{\"latency_us_mean\": 3}'")
        text, found = self.run_compare(lcrun, perf, pairs, "--rounds", "2", "--only", "am/queue 8 B latency")
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.read().split(), ["perf", "pairs", "pairs", "perf"])
        self.assertIn("These cells differ by more than 10 %:\n  am/queue 8 B latency: 1.50\n", text)
        self.assertEqual(found[0]["ratio"], 1.5)

    def test_a_failing_program_ends_the_comparison_with_its_message(self):
        lcrun = self.script("lcrun", "echo it is broken >&2; exit 3")
        with self.assertRaises(SystemExit) as raised:
            self.run_compare(lcrun, lcrun, lcrun)
        self.assertIn("exit code 3: it is broken", str(raised.exception))

    def test_wrong_usage_is_refused(self):
        for words, reason in (
            (["--rounds", "0"], "--rounds 0: must be 1 or more"),
            (["--limit", "-1"], "--limit -1: must be 0 or more"),
            (["--lcrun", "/no/lcrun"], "/no/lcrun is missing: bazel build"),
        ):
            with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit):
                compare.parsed(words)
            self.assertIn(reason, err.getvalue())
        lcrun = self.script("lcrun")
        with self.assertRaises(SystemExit) as raised:
            self.run_compare(lcrun, lcrun, lcrun, "--only", "carrier pigeons")
        self.assertIn("no cell has this in its name", str(raised.exception))

    def test_the_real_programs_measure_every_cell(self):
        text, found = self.run_compare(*PROGRAMS, "--quick", "--rounds", "1")
        self.assertEqual([cell["cell"] for cell in found], [cell.name for cell in compare.cells(os.cpu_count())])
        for cell in found:
            self.assertGreater(cell["ratio"], 0, cell)
        self.assertTrue(text.startswith("| cell | unit | lci_perf | lci2_pairs | ratio |"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
