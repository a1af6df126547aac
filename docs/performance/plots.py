#!/usr/bin/env python3
"""Draws the plots of these pages from the tables of these pages.

usage: docs/performance/plots.py            rewrites all files of plots/
       docs/performance/plots.py --check    exit code 1 if a file of plots/ differs from its table
"""

import argparse
import os
import re
import sys
from typing import NamedTuple
from xml.sax.saxutils import escape

# The source tree, also where this file is a link to it.
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../benchmarks/compare"))
sys.dont_write_bytecode = True

from svg import Scale, line, log_ticks, marker, number, text  # noqa: E402

# ---- tables ------------------------------------------------------------------


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
    """Reads "1.5", "1.5 (1.2–1.9)", and "1.5, 1.7", of which the mean counts."""
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


# ---- drawing -----------------------------------------------------------------

# All colors have a contrast of 3 or more against white and against dark backgrounds (#0d1117); text has 4.2.
COLORS = {"LCI": "#d55e00", "Open MPI": "#2b7fc3", "MPICH": "#009068", "UCX": "#b8669a", "libfabric": "#3f8fa8",
          "other": "#7d8590"}
TEXT = "#727b84"
LIMIT = "#a07d14"
FONT = "font-family='system-ui, Segoe UI, Helvetica, Arial, sans-serif'"
WIDTH = 820
ROW, BAR, GAP = 20, 14, 7
TOP = 58
NEAR = "shared memory, AMD EPYC, two near processors"


def family_of(name):
    for family in COLORS:
        if name.startswith(family):
            return family
    return "other"


class Part(NamedTuple):
    """A part of a bar; open parts have an outline and a pale fill."""

    length: float
    color: str
    is_open: bool = False


class Bar(NamedTuple):
    parts: list
    words: str  # right of the bar
    low: float = None
    high: float = None

    @property
    def end(self):
        total = sum(part.length for part in self.parts)
        return total if self.high is None else max(total, self.high)


class Row(NamedTuple):
    label: str
    bars: list
    bold: bool = False


class Limit(NamedTuple):
    label: str
    at: float
    color: str = LIMIT


class Group(NamedTuple):
    heading: str
    rows: list
    limits: tuple = ()


class LinearScale:
    def __init__(self, high, start, end):
        self._per_unit = (end - start) / high
        self._start = start

    def __call__(self, value):
        return self._start + value * self._per_unit


def linear_ticks(high):
    step = 1.0
    while step * 8 > high:
        step /= 10
    while not any(step * part * 8 >= high for part in (1, 2, 5)):
        step *= 10
    step = next(step * part for part in (1, 2, 5) if step * part * 8 >= high)
    count = int(-(-high // step))
    return [step * i for i in range(count + 1)]


def grid(x1, y1, x2, y2):
    return "<g stroke-opacity='0.35'>%s</g>" % line(x1, y1, x2, y2, TEXT)


def bold(words):
    return "font-weight='bold'" if words else ""


def begin(title, subtitle, height):
    return [
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' role='img' %s fill='%s'>"
        % (WIDTH, height, WIDTH, height, FONT, TEXT),
        "<title>%s</title>" % escape(title),
        text(12, 24, title, 16, extra=bold(True)),
        text(12, 44, subtitle, 12),
    ]


def draw_key(y, key):
    """key: of (name, Part)."""
    parts, x = [], 12
    for name, part in key:
        parts.append(rectangle(x, y - 10, 14, 11, part))
        parts.append(text(x + 20, y, name, 12))
        x += 50 + 7 * len(name)
    return parts


def rectangle(x, y, width, height, part):
    shape = "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'" % (x, y, width, height, part.color)
    if part.is_open:
        shape += " fill-opacity='0.25' stroke='%s' stroke-width='1.4'" % part.color
    return shape + "/>"


def draw_limits(group, x_scale, top, rows_top, bottom, right):
    """A dashed line for each limit, with its label above the rows."""
    parts = []
    for place, limit in enumerate(group.limits):
        x = x_scale(limit.at)
        y = top + 15 * place + 12
        to_left = x + 7 * len(limit.label) > right
        parts.append(line(x, y - 9 if limit.label else rows_top - 2, x, bottom, limit.color, 1.6, "5,3"))
        if limit.label:
            parts.append(text(x - 5 if to_left else x + 5, y, limit.label, 12, "end" if to_left else "start",
                              "fill='%s'" % limit.color))
    return parts


def draw_row(row, y, left, x_scale, base, limits):
    parts = [text(left - 8, y + len(row.bars) * (BAR + 1) / 2 + 4, row.label, 13, "end", bold(row.bold))]
    for bar in row.bars:
        at = base
        for part in bar.parts:
            # A bar on a logarithmic scale has one part, which begins at the base.
            end = part.length if base else at + part.length
            parts.append(rectangle(x_scale(at), y, max(1.0, x_scale(end) - x_scale(at)), BAR, part))
            at = end
        middle = y + BAR / 2
        if bar.high is not None and bar.high > bar.low:
            inside = TEXT if bar.parts[-1].is_open else "#ffffff"
            for edge, color in ((bar.low, inside), (bar.high, TEXT)):
                parts.append(line(x_scale(edge), middle, x_scale(at), middle, color, 1.4))
                parts.append(line(x_scale(edge), middle - 3, x_scale(edge), middle + 3, color, 1.4))
        words_at = x_scale(bar.end) + 6
        for limit in limits:
            if -12 < x_scale(limit.at) - words_at < 24:
                words_at = x_scale(limit.at) + 5
        parts.append(text(words_at, middle + 4, bar.words, 12, extra=bold(row.bold)))
        y += BAR + 1
    return parts


def bar_chart(title, subtitle, x_label, groups, left=240, room=70, key=(), base=None):
    """Horizontal bars. room: pixels right of the longest bar. base: where bars of a logarithmic scale begin."""
    high = max([bar.end for group in groups for row in group.rows for bar in row.bars] +
               [limit.at for group in groups for limit in group.limits])
    right = WIDTH - room
    if base is None:
        ticks = linear_ticks(high)
        x_scale, base = LinearScale(high, left, right), 0.0
        ticks = [tick for tick in ticks if x_scale(tick) < WIDTH - 20]
    else:
        ticks = log_ticks(base, high)
        x_scale = Scale(base, high, left, right)
        ticks = [tick for tick in ticks if tick <= high]
    body, y = [], TOP
    if key:
        body += draw_key(y + 8, key)
        y += 22
    rows_begin = y
    for group in groups:
        top = y
        if group.heading:
            body.append(text(12, y + 13, group.heading, 13, extra=bold(True)))
        y += max(18 if group.heading else 0, 15 * len(group.limits)) + 4
        rows_top = y
        row_parts = []
        for row in group.rows:
            row_parts += draw_row(row, y, left, x_scale, base, group.limits)
            y += len(row.bars) * (BAR + 1) + GAP
        body += row_parts + draw_limits(group, x_scale, top, rows_top, y - 2, WIDTH)
        y += 4
    grids = [grid(x_scale(tick), rows_begin, x_scale(tick), y) for tick in ticks]
    labels = [text(x_scale(tick), y + 15, number(tick), 12, "middle") for tick in ticks]
    height = y + 42
    labels.append(text((left + right) / 2, y + 34, x_label, 12, "middle"))
    return "\n".join(begin(title, subtitle, height) + grids + body + labels + ["</svg>"]) + "\n"


class Line(NamedTuple):
    name: str
    points: list  # of (x, Value)
    color: str
    shape: str = "circle"
    dash: str = ""


def line_chart(title, subtitle, x_label, y_label, x_names, lines, x_lines=()):
    """Logarithmic axes. x_lines: of (x, label), drawn from top to bottom."""
    left, right, top, bottom, height = 76, WIDTH - 30, TOP + 26, 350, 400
    values = [value for one in lines for _, value in one.points]
    ticks = log_ticks(min(value.low for value in values), max(value.high for value in values))
    x_scale = Scale(min(x_names), max(x_names), left + 50, right - 40)
    y_scale = Scale(ticks[0], ticks[-1], bottom, top + 10)
    parts = begin(title, subtitle, height)
    parts += [grid(left, y_scale(tick), right, y_scale(tick)) for tick in ticks]
    parts += [text(left - 8, y_scale(tick) + 4, number(tick), 12, "end") for tick in ticks]
    parts += [text(x_scale(x), bottom + 18, name, 12, "middle") for x, name in sorted(x_names.items())]
    parts.append(line(left, bottom, right, bottom, TEXT))
    parts.append(text((left + right) / 2, height - 12, x_label, 12, "middle"))
    middle = (top + bottom) / 2
    parts.append(text(20, middle, y_label, 12, "middle", "transform='rotate(-90 20 %.1f)'" % middle))
    for x, label in x_lines:
        parts.append(line(x_scale(x), top + 10, x_scale(x), bottom, LIMIT, 1.6, "5,3"))
        parts.append(text(x_scale(x) + 6, top + 24, label, 12, extra="fill='%s'" % LIMIT))
    key_x = 12
    for one in lines:
        path = " ".join("%.1f,%.1f" % (x_scale(x), y_scale(value.median)) for x, value in one.points)
        parts.append("<polyline points='%s' fill='none' stroke='%s' stroke-width='2'%s/>" % (
            path, one.color, " stroke-dasharray='%s'" % one.dash if one.dash else ""))
        for x, value in one.points:
            if value.high > value.low:
                parts.append(line(x_scale(x), y_scale(value.low), x_scale(x), y_scale(value.high), one.color, 1.4))
            parts.append(marker(one.shape, x_scale(x), y_scale(value.median), one.color))
            if len(lines) == 1:
                parts.append(text(x_scale(x) - 5, y_scale(value.median) - 7, value.words, 12, "end"))
        if len(lines) > 1:
            parts.append(line(key_x, TOP + 6, key_x + 30, TOP + 6, one.color, 2, one.dash))
            parts.append(marker(one.shape, key_x + 15, TOP + 6, one.color))
            parts.append(text(key_x + 38, TOP + 10, one.name, 12))
            key_x += 70 + 7 * len(one.name)
    return "\n".join(parts + ["</svg>"]) + "\n"


# ---- the plots ---------------------------------------------------------------

ONE, TWO = "One thread per rank", "Two threads per rank"
LAUNCHES = "median, lowest to highest"
RATIO = "LCI against the best peer, times better"
LATENCY = "8 B one way, us"
LATENCY_2 = "8 B one way (mean), us"
RATE = "8 B rate, M/s"
BANDWIDTHS = ["%s bandwidth, GB/s" % size for size in ("4 KiB", "64 KiB", "1 MiB")]
SOLID, OPEN = Part(1, COLORS["other"]), Part(1, COLORS["other"], True)


def is_library(name):
    return not name.startswith("limit") and name != RATIO


def measured_bar(value, name, is_open=False):
    return Bar([Part(value.median, COLORS[family_of(name)], is_open)], value.words, value.low, value.high)


def library_rows(table, column, wanted=is_library):
    """One row for each library, the best first."""
    found = [(row[0], table.value(row, column)) for row in table.rows if wanted(row[0])]
    found = [(name, value) for name, value in found if value is not None]
    found.sort(key=lambda one: one[1].median, reverse=not column.endswith("us"))
    return [Row(name, [measured_bar(value, name)], name.startswith("LCI")) for name, value in found]


def limits_of(table, column, note=""):
    found = []
    for row in table.rows:
        value = table.value(row, column) if row[0].startswith("limit") else None
        if value is not None:
            found.append(Limit("%s%s: %s" % (row[0], note, value.words), value.median))
    return tuple(found)


def latency_chart(page, title, subtitle):
    table = read_table(page, ONE)
    return bar_chart(title, "Two ranks of one thread; %s; %s. Less is better." % (subtitle, LAUNCHES),
                     "one way, us", [Group("", library_rows(table, LATENCY), limits_of(table, LATENCY))])


def rate_chart(page, title, subtitle, base=None):
    """One bar for one thread per rank, and one for two."""
    tables = [read_table(page, heading) for heading in (ONE, TWO)]
    names = dict.fromkeys(row[0] for table in tables for row in table.rows if is_library(row[0]))
    rows = []
    for name in names:
        bars = []
        for table, is_open in zip(tables, (False, True)):
            value = table.value(name, RATE) if any(row[0] == name for row in table.rows) else None
            if value is not None:
                bars.append(measured_bar(value, name, is_open))
        rows.append(Row(name, bars, name.startswith("LCI")))
    limits = sum((limits_of(table, RATE, note) for table, note in zip(tables, (", one thread", ", two threads"))), ())
    return bar_chart(title, "64 messages under way; %s; %s. More is better." % (subtitle, LAUNCHES),
                     "million messages per second" + (", logarithmic" if base else ""), [Group("", rows, limits)],
                     key=[("one thread per rank", SOLID), ("two threads per rank, on one processor", OPEN)], base=base)


def bandwidth_chart(page, title, subtitle, wanted):
    table = read_table(page, ONE)
    groups = [Group(column.split(" bandwidth")[0], library_rows(table, column, wanted), limits_of(table, column))
              for column in BANDWIDTHS]
    return bar_chart(title, "Two ranks of one thread; %s; %s. More is better." % (subtitle, LAUNCHES),
                     "bandwidth, GB/s", groups)


def ratio_bar(ratio, words, color):
    return Bar([Part(ratio, color)], words)


def overview():
    tables = {heading: read_table("shared-memory.md", heading) for heading in (ONE, TWO)}
    tests = [
        ("8 B latency, 1 thread", ONE, LATENCY, "LCI active message"),
        ("8 B latency, 2 threads", TWO, LATENCY_2, "LCI active message"),
        ("8 B rate, 1 thread", ONE, RATE, "LCI active message"),
        ("8 B rate, 2 threads", TWO, RATE, "LCI active message"),
        ("4 KiB bandwidth", ONE, BANDWIDTHS[0], "LCI send/receive"),
        ("64 KiB bandwidth", ONE, BANDWIDTHS[1], "LCI send/receive"),
        ("1 MiB bandwidth", ONE, BANDWIDTHS[2], "LCI send/receive"),
    ]
    rows = []
    for label, heading, column, ours in tests:
        table = tables[heading]
        peers = library_rows(table, column, lambda name: is_library(name) and not name.startswith("LCI"))
        unit = column.split(", ")[-1]
        words = "%s (LCI %s, %s %s %s)" % (
            table.cell(RATIO, column), table.value(ours, column).words,
            family_of(peers[0].label), peers[0].bars[0].words, unit)
        rows.append(Row(label, [ratio_bar(table.value(RATIO, column).median, words, COLORS["LCI"])]))
    return bar_chart(
        "LCI against the best peer over shared memory",
        "Two ranks on two near processors (AMD EPYC); 8 B: active messages; larger: send/receive. "
        "Peers: Open MPI, MPICH, UCX.",
        "times better than the best peer", [Group("", rows, (Limit("best peer = 1", 1),))], left=180, room=230)


def devices_chart():
    table = read_table("threads.md", "Active messages by the number of devices")
    groups = []
    for row in table.rows:
        rows = []
        for column in table.columns[1:]:
            cell = table.cell(row, column)
            if cell:
                ratio = cell.split(" ")[0]
                rows.append(Row(column, [ratio_bar(float(ratio), ratio, COLORS["LCI"])]))
        first = (Limit("processes = 1", 1),) if not groups else (Limit("", 1),)
        groups.append(Group("%s per rank" % row[0], rows, first))
    return bar_chart("Rate of threads against processes, 8 B active messages",
                     "Two ranks against as many processes as threads; shared memory, two processors; median of ratios.",
                     "rate, times that of processes", groups, left=170)


def default_device_chart():
    table = read_table("threads.md", "Cost of the default device")
    masks = [int(column) for column in table.columns[1:]]
    lines = []
    looks = [(COLORS["LCI"], "circle", ""), (COLORS["Open MPI"], "square", "7,4")]
    for row, (color, shape, dash) in zip(table.rows, looks):
        points = [(mask + 1, table.value(row, str(mask))) for mask in masks]
        lines.append(Line(row[0], points, color, shape, dash))
    return line_chart("Latency by the poll mask of the default device",
                      "8 B one way; two threads, each with a device; mean and range of two launches. Less is better.",
                      "am_poll_mask", "one way, us", {mask + 1: str(mask) for mask in masks}, lines,
                      [(16, "default: 15")])


def wait_chart():
    table = read_table("threads.md", "How programs wait", 1)
    groups = {}
    for row in table.rows:
        threads, devices, test, unit, now, before, ratio = row
        heading = "%s %s per rank" % (threads, "thread" if threads == "1" else "threads")
        if threads != "1":
            heading += ", one device per thread" if devices == "one per thread" else ", one shared device"
        words = "%s (%s %s, before %s)" % (ratio, now, unit, before)
        groups.setdefault(heading, []).append(Row(test, [ratio_bar(float(ratio), words, COLORS["LCI"])]))
    drawn = [Group(heading, rows, (Limit("before = 1" if not place else "", 1),))
             for place, (heading, rows) in enumerate(groups.items())]
    return bar_chart("Effect of the waiting method",
                     "Two ranks on two near processors (AMD EPYC), shared memory; median of ten rounds.",
                     "times better than before", drawn, left=230, room=210)


def poisson_chart():
    table = read_table("poisson.md", "Time of an iteration", 1)
    groups = []
    for row in table.rows:
        rows = []
        for name in table.columns[1:5]:
            value = table.value(row, name)
            color = COLORS["LCI" if name in ("notified", "messages") else "Open MPI"]
            label = "LCI, %s" % name if name in ("notified", "messages") else name
            bar = Bar([Part(value.median, color, name == "messages")], value.words)
            rows.append(Row(label, [bar], name == "notified"))
        groups.append(Group("%s" % row[0].replace(", ", " ranks, ") + ("" if "," in row[0] else " ranks"), rows))
    return bar_chart("Poisson solver, 64 x 64 x 64 points",
                     "Shared memory, AMD EPYC, two near processors; MPI is Open MPI; median. Less is better.",
                     "us per iteration", groups, left=240)


def parse_counts(cell):
    """ "277 + libfabric 430, libc 96, kernel 1": LCI's count, the sum of the libraries', the system calls."""
    own, _, others = cell.partition(" + ")
    libraries, calls = 0.0, ""
    for other in filter(None, others.split(", ")):
        name, count = other.split(" ")
        if name == "kernel":
            calls = count
        else:
            libraries += float(count)
    return float(own), libraries, calls


def instructions_chart():
    table = read_table("instructions.md", "Counts")
    groups = []
    for phase in table.columns[2:]:
        rows = []
        for row in table.rows:
            own, libraries, calls = parse_counts(table.cell(row, phase))
            is_poll = phase.startswith("a poll")
            if is_poll and row[1] != "1":
                continue  # the same count for all numbers of messages
            words = number(own) + (" + %s" % number(libraries) if libraries else "")
            if calls:
                words += ", %s system call%s" % (calls, "" if calls == "1" else "s")
            parts = [Part(own, COLORS["LCI"])] + ([Part(libraries, COLORS["other"], True)] if libraries else [])
            rows.append(Row(row[0] if is_poll else "%s, %s at a time" % (row[0], row[1]), [Bar(parts, words)]))
        groups.append(Group(phase, rows))
    return bar_chart("Instructions per 8 B active message", "Counted by callgrind. Less is better.", "instructions",
                     groups, left=240, room=190,
                     key=[("LCI", Part(1, COLORS["LCI"])), ("libraries below LCI", OPEN)])


def startup_chart():
    table = read_table("startup.md", "The bootstrap")
    ranks = [int(column) for column in table.columns[1:]]
    points = [(count, table.value("seconds", str(count))) for count in ranks]
    return line_chart("Time of the bootstrap", "One machine, from the first fork to the last exit; median of 3.",
                      "ranks", "seconds", {count: str(count) for count in ranks},
                      [Line("bootstrap", points, COLORS["LCI"])])


def draw_all():
    """The contents of the files, by name."""
    over_tcp = "TCP on the loopback, two near processors"
    return {
        "overview.svg": overview(),
        "shared-memory-latency.svg": latency_chart("shared-memory.md", "8 B one way over shared memory", NEAR),
        "shared-memory-rate.svg": rate_chart("shared-memory.md", "8 B message rate over shared memory", NEAR),
        "shared-memory-bandwidth.svg": bandwidth_chart(
            "shared-memory.md", "Bandwidth over shared memory", NEAR, is_library),
        "tcp-latency.svg": latency_chart("tcp.md", "8 B one way over TCP", over_tcp),
        "tcp-rate.svg": rate_chart("tcp.md", "8 B message rate over TCP", over_tcp, base=0.01),
        "tcp-bandwidth.svg": bandwidth_chart("tcp.md", "Bandwidth over TCP", over_tcp, is_library),
        "threads-devices.svg": devices_chart(),
        "threads-default-device.svg": default_device_chart(),
        "threads-wait.svg": wait_chart(),
        "poisson.svg": poisson_chart(),
        "instructions.svg": instructions_chart(),
        "startup.svg": startup_chart(),
    }


def read_file(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a plot differs")
    arguments = parser.parse_args(words)
    folder = os.path.join(HERE, "plots")
    try:
        drawn = draw_all()
    except PageError as error:
        print("plots.py: %s" % error, file=sys.stderr)
        return 1
    present = {name for name in os.listdir(folder) if name.endswith(".svg")} if os.path.isdir(folder) else set()
    problems = ["%s: drawn from no table" % name for name in sorted(present - drawn.keys())]
    for name, contents in drawn.items():
        path = os.path.join(folder, name)
        if read_file(path) == contents:
            continue
        if arguments.check:
            problems.append("%s: differs from its table; run docs/performance/plots.py" % name)
        else:
            os.makedirs(folder, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(contents)
            print("plots.py: wrote %s" % os.path.relpath(path))
    for problem in problems:
        print("plots.py: plots/%s" % problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
