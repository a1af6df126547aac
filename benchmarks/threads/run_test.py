#!/usr/bin/env python3
"""Tests of `run`: its comparisons and its summary."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

# `run` is no module's name.
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("run", os.path.join(os.path.dirname(os.path.abspath(__file__)), "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", LOADER))
LOADER.exec_module(run)


class Points(unittest.TestCase):
    def test_modes_have_as_many_pairs(self):
        for family in run.FAMILIES.values():
            for pairs in (1, 2, 3, 8):
                for point, modes in family(pairs, False):
                    self.assertEqual(point.pairs, pairs)
                    self.assertEqual(modes[0].name, "processes")
                    for mode in modes:
                        self.assertEqual(mode.ranks * mode.threads, 2 * pairs)

    def test_names_are_of_one_point_each(self):
        for family in run.FAMILIES.values():
            names = [point.name for point, _ in family(2, False)]
            self.assertEqual(len(names), len(set(names)))

    def test_lcw_goes_from_16_bytes_to_a_megabyte(self):
        sizes = [point.arguments[-1] for point, _ in run.lcw(2, False) if point.figure == "bytes_per_s"]
        self.assertEqual((sizes[0], sizes[-1]), ("16", str(1 << 20)))

    def test_domains_are_at_most_as_many_as_threads(self):
        self.assertEqual(
            [mode.devices for mode in run.domains(3, False)[0][1]], ["shared", "1", "2"]
        )


class Summary(unittest.TestCase):
    def test_ratios_are_of_the_same_round(self):
        # The medians themselves have the ratio 1.
        result = run.summary([2.0, 4.0, 9.0], [1.0, 4.0, 12.0])
        self.assertEqual(result, {"median": 4.0, "ratio": 1.0, "ratio_min": 0.75, "ratio_max": 2.0})

    def test_the_table_has_a_row_a_point_and_a_column_a_mode(self):
        rows = []
        for pairs in (1, 2):
            point, modes = run.domains(pairs, True)[0]
            values = {mode.name: [1.0 + i, 2.0] for i, mode in enumerate(modes)}
            rows.append((point, list(run.results("domains", point, modes, values))))
        lines = run.table("domains", rows).splitlines()[3:]
        self.assertEqual(lines[0], "| pairs | | processes | 1 device | 2 devices |")
        self.assertEqual(lines[2], "| 1 | get 8 B latency, us | 1.5 | 2 (1.50, 1.00 to 2.00) |  |")
        self.assertEqual(len(lines), 4)


if __name__ == "__main__":
    unittest.main()
