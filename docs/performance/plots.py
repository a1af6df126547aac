#!/usr/bin/env python3
"""Draws the plots of these pages from the tables of these pages.

usage: docs/performance/plots.py            rewrites all files of plots/
       docs/performance/plots.py --check    exit code 1 if a file of plots/ differs from its table
"""

import argparse
import os
import sys

sys.dont_write_bytecode = True

from charts import COLORS, Bar, Group, Limit, Line, Part, Row, bar_chart, family_of, line_chart  # noqa: E402
from svg import number  # noqa: E402
from tables import HERE, PageError, read_table  # noqa: E402

NEAR = "shared memory, AMD EPYC, two near processors"
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


# Of the page on many cores: what is drawn, and how.
MANY_CORES = [
    ("LCI am, processes", "LCI", "circle", "7,4"),
    ("LCI am, own devices", "LCI", "circle", ""),
    ("LCI am, one device", "LCI", "circle", "2,3"),
    ("LCI send, processes", "libfabric", "square", "7,4"),
    ("LCI send, own devices", "libfabric", "square", ""),
    ("LCI send, one device", "libfabric", "square", "2,3"),
    ("MPICH, one VCI a thread", "MPICH", "triangle", ""),
    ("Open MPI, threads", "Open MPI", "diamond", ""),
    ("UCX tag, a worker a thread", "UCX", "square", "7,4"),
    ("UCX am, a worker a thread", "UCX", "circle", ""),
]


def many_cores_chart(heading, title, y_label):
    table = read_table("many-cores.md", heading)
    counts = [int(column) for column in table.columns[1:]]
    lines = []
    for name, family, shape, dash in MANY_CORES:
        if all(row[0] != name for row in table.rows):
            continue
        values = [(count, table.value(name, str(count))) for count in counts]
        lines.append(Line(name, [(x, value) for x, value in values if value is not None], COLORS[family], shape, dash))
    return line_chart(title, "Two ranks of so many threads, or as many pairs of processes; 16 processors (Intel Xeon); %s."
                      % LAUNCHES, "threads of each rank", y_label, {count: str(count) for count in counts}, lines)


def structures_chart():
    table = read_table("many-cores.md", "Data structures")
    counts = [int(column) for column in table.columns[1:6]]
    looks = zip(("LCI", "Open MPI", "Open MPI", "UCX", "UCX", "other"),
                ("circle", "square", "square", "triangle", "triangle", "diamond"), ("", "", "7,4", "", "7,4", "2,3"))
    lines = [Line(row[0], [(count, table.value(row, str(count))) for count in counts], COLORS[color], shape, dash)
             for row, (color, shape, dash) in zip(table.rows, looks)]
    return line_chart("Throughput of the data structures", "All threads share one object; 16 processors (Intel Xeon).",
                      "threads", "million operations per second", {count: str(count) for count in counts}, lines)


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
    return bar_chart("Instructions per 8 B message", "Counted by callgrind. Less is better.", "instructions",
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
    over_tcp = "TCP on the loopback, two far processors"
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
        "many-cores-rate.svg": many_cores_chart(
            "Message rate", "8 B message rate by the number of threads", "million messages per second"),
        "many-cores-latency.svg": many_cores_chart("Latency", "8 B one way by the number of threads", "one way, us"),
        "many-cores-bandwidth.svg": many_cores_chart(
            "Bandwidth", "64 KiB bandwidth by the number of threads", "bandwidth, GB/s"),
        "many-cores-structures.svg": structures_chart(),
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
