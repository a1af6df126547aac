"""Reads the tables of these pages."""

import os
import re
import sys
from typing import NamedTuple

# The source tree, also where this file is a link to it.
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../benchmarks/compare"))

from svg import number  # noqa: E402


class PageError(Exception):
    """A table or a cell is missing; the message names the page."""


class Value(NamedTuple):
    """A measured figure, with the lowest and the highest of its launches."""

    median: float
    low: float
    high: float
    words: str  # the median as the cell has it


class Table:
    """The rows of one Markdown table. Cells are text without emphasis."""

    def __init__(self, where, lines):
        self.where = where
        cells = [[cell.strip().strip("*") for cell in row.strip().strip("|").split("|")] for row in lines]
        self.columns = cells[0]
        self.rows = cells[2:]
        for row in self.rows:
            if len(row) != len(self.columns):
                raise PageError("%s: %d cells under %d columns: %s" % (where, len(row), len(self.columns), row))

    def cell(self, row, column):
        """`row` is a row of the table, or the text of a row's first cell."""
        if isinstance(row, str):
            found = [one for one in self.rows if one[0] == row]
            if not found:
                raise PageError("%s: no row '%s'" % (self.where, row))
            row = found[0]
        if column not in self.columns:
            raise PageError("%s: no column '%s'" % (self.where, column))
        return row[self.columns.index(column)]

    def value(self, row, column):
        """None for an empty cell."""
        cell = self.cell(row, column)
        return parse_value(cell, self.where) if cell else None


def parse_value(cell, where):
    """Reads "1.5", "1.5 (1.2–1.9)", and "1.5, 1.7", where the mean counts."""
    ranged = re.fullmatch(r"([\d.]+) \(([\d.]+)–([\d.]+)\)", cell)
    try:
        if ranged:
            return Value(*(float(part) for part in ranged.groups()), ranged.group(1))
        several = [float(part) for part in cell.split(", ")]
    except ValueError:
        raise PageError("%s: '%s' is not a figure" % (where, cell)) from None
    mean = sum(several) / len(several)
    return Value(mean, min(several), max(several), cell if len(several) == 1 else number(mean))


def read_table(page, heading, which=0):
    """The table number `which` under the heading."""
    lines = None
    tables = []
    with open(os.path.join(HERE, page), encoding="utf-8") as file:
        for words in file.read().split("\n"):
            if words.startswith("#"):
                if lines is not None:
                    break
                if words.lstrip("#").strip() == heading:
                    lines = []
            elif lines is not None and words.startswith("|"):
                lines.append(words)
            elif lines:
                tables.append(lines)
                lines = []
    where = "%s, '%s'" % (page, heading)
    if len(tables) <= which:
        raise PageError("%s: no table number %d" % (where, which))
    return Table(where, tables[which])
