"""The comparison in words and tables."""

import collections
import statistics

import points
from contestants import CONTESTANTS, THREADS, by_key, reference_for
from results import FAR_ABOVE, MOST_OTHERS, NEAR_BELOW, STATES, Table, main_state
from units import plural, size_name


def figures(value):
    """Three digits that count: 0.117, 22.4, 304."""
    if value >= 100:
        return "%.0f" % value
    return "%.1f" % value if value >= 10 else "%.2f" % value if value >= 1 else "%.3f" % value


def count_states(launches):
    """How many launches were in which state, and what else ran; one sentence a line."""
    counts = collections.Counter(launch.state for launch in launches)
    rounds = len({launch.round for launch in launches})
    lines = [
        "%s in %s: %s." % (
            plural(len(launches), "launch", "launches"),
            plural(rounds, "round"),
            ", ".join("%d %s" % (counts[state], state) for state in STATES + ("mixed", "disturbed"))),
        "A cache line takes less than %g ns one way between processors that are near, more than %g between far ones. "
        "Mixed: that changed during the launch; disturbed: others took more than %.0f %% of the processors' time. "
        "Neither is compared." % (NEAR_BELOW, FAR_ABOVE, 100 * (launches[0].most_others if launches else MOST_OTHERS)),
    ]
    if launches:
        lines.append("Other work, and the host, took %.0f %% of the processors' time in the median launch." % (
            100 * statistics.median(launch.others for launch in launches)))
    return lines + list_failures(launches)


def list_failures(launches):
    """Each reason once, one a line."""
    failed = [launch for launch in launches if launch.result is None]
    if not failed:
        return []
    reasons = collections.Counter(
        "%s, %s: %s" % (launch.contestant, launch.point.name, launch.error) for launch in failed)
    return ["%s FAILED:" % plural(len(failed), "launch", "launches")] + [
        "  %dx %s" % (count, reason) for reason, count in reasons.most_common()]


def metric_rows(table, point, metric):
    """The contestants' figures of one metric, the best first: (contestant, summary, ratio)."""
    rows = []
    for contestant in CONTESTANTS:
        summary = table.summary(contestant.key, point, metric)
        if summary is not None:
            reference = reference_for(point, contestant.contest)
            rows.append((contestant, summary, table.ratio(contestant.key, reference, point, metric)))
    return sorted(rows, key=lambda row: row[1].median, reverse=not metric.less_is_better)


def points_of(launches):
    """Each once, in the order in which they were measured."""
    return list(dict.fromkeys(launch.point for launch in launches))


def text_report(launches):
    """Everything, to be read in a terminal."""
    lines = count_states(launches)
    main = main_state(launches)
    for state in sorted(STATES, key=lambda one: one != main):
        table = Table(launches, state)
        if table.launches() == 0:
            continue
        lines += ["", "==== %s (%d launches)" % (state, table.launches())]
        for point in points_of(launches):
            for metric in points.metrics(point):
                rows = metric_rows(table, point, metric)
                if not rows:
                    continue
                lines += ["", "%s%s, %s" % (point.name, " (%s)" % metric.label if metric.label else "", metric.unit)]
                lines.append("  %-40s %9s %9s %9s %3s  %s" % ("", "median", "min", "max", "n", "LCI is better by"))
                for contestant, summary, ratio in rows:
                    lines.append("  %-40s %9s %9s %9s %3d  %s" % (
                        contestant.name, figures(summary.median), figures(summary.low), figures(summary.high),
                        summary.count, "" if ratio is None else "%.2f" % ratio))
    return "\n".join(lines) + "\n"


def ratio_to_best(table, point, metric):
    """How many times better the library is than the best of its peers. None without enough launches."""
    ratios = [
        ratio for contestant, _, ratio in metric_rows(table, point, metric)
        if contestant.is_peer and ratio is not None
    ]
    return min(ratios, default=None)


def column_name(point, metric):
    what = {"latency": "one way", "rate": "rate", "bandwidth": "bandwidth"}[point.test]
    label = " (%s)" % metric.label if metric.label and point.threads > 1 else ""
    return "%s %s%s%s, %s" % (size_name(point.size), what, label, point.depth, metric.unit)


def range_cell(summary):
    """Of a table: the median and the range; empty without launches."""
    if summary is None:
        return ""
    return "%s (%s–%s)" % (figures(summary.median), figures(summary.low), figures(summary.high))


def markdown_table(table, wanted):
    """Contestants by points: median (range). The last line has the best peer's and the library's ratio."""
    columns = [(point, metric) for point in wanted for metric in points.metrics(point)[:1]]
    lines = [
        "| | " + " | ".join(column_name(*column) for column in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for contestant in CONTESTANTS:
        cells = []
        for point, metric in columns:
            summary = table.summary(contestant.key, point, metric)
            cells.append(range_cell(summary))
        if any(cells):
            lines.append("| %s | %s |" % (contestant.name, " | ".join(cells)))
    ratios = [ratio_to_best(table, *column) for column in columns]
    cells = ["" if ratio is None else "%.2f" % ratio for ratio in ratios]
    lines.append("| **LCI against the best peer, times better** | %s |" % " | ".join(cells))
    return "\n".join(lines) + "\n"


def collective_table(table, wanted):
    """Operations by sizes: the median of each library and, of times, the ratio of the best peer's to the library's."""
    sizes = list(dict.fromkeys(point.size for point in wanted if point.size > 0))
    taking = [
        one for one in CONTESTANTS
        if any(table.summary(one.key, point) is not None for point in wanted)
    ]
    lines = [
        "| %s | " % " / ".join(one.name for one in taking) + " | ".join(size_name(size) for size in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    for test in dict.fromkeys(point.test for point in wanted):
        cells = {}
        for point in (one for one in wanted if one.test == test):
            summaries = [table.summary(one.key, point) for one in taking]
            cell = " / ".join("" if one is None else figures(one.median) for one in summaries)
            ratio = ratio_to_best(table, point, points.metrics(point)[0])
            # A barrier has no size.
            cells[point.size or sizes[0]] = cell if ratio is None else "%s (%.2f)" % (cell, ratio)
        lines.append("| %s | " % test + " | ".join(cells.get(size, "") for size in sizes) + " |")
    return "\n".join(lines) + "\n"


def collective_report(launches, machine):
    """A table for each number of ranks, of the main state only."""
    state = main_state(launches)
    table = Table(launches, state)
    parts = [
        "%s. Microseconds a call, medians of the launches in the state \"%s\"; in parentheses, how many times faster LCI "
        "is than the faster of the others." % (machine, state)
    ]
    wanted = points_of(launches)
    for ranks in dict.fromkeys(point.ranks for point in wanted):
        calls = [point for point in wanted if point.ranks == ranks and not point.overlap]
        if calls:
            parts.append("%d ranks:\n\n%s" % (ranks, collective_table(table, calls).rstrip()))
        overlapped = [point for point in wanted if point.ranks == ranks and point.overlap]
        if overlapped:
            parts.append(
                "%d ranks, percent of the latency of a non-blocking call that computation hides, with %d calls for progress "
                "during the computation:\n\n%s" % (
                    ranks, points.PROGRESS_CALLS, collective_table(table, overlapped).rstrip()))
    return "\n\n".join(parts) + "\n\n" + "\n".join(count_states(launches)) + "\n"


def is_of_threads(launches):
    """Whether they compare threads with processes."""
    return bool(launches) and by_key(launches[0].contestant).contest == THREADS


# (what is divided, by what, what the ratio says)
THREAD_RATIOS = [
    ("lci_am_own", "lci_am_processes", "am: own devices against processes"),
    ("lci_am_one", "lci_am_own", "am: one device against own devices"),
    ("lci_send_own", "lci_send_processes", "send: own devices against processes"),
    ("lci_send_one", "lci_send_own", "send: one device against own devices"),
]


def threads_table(table, wanted):
    """Contestants by the number of threads: median (range), and how many times better some are than others."""
    lines = ["| threads of each rank | " + " | ".join(str(point.threads) for point in wanted) + " |",
             "|---|" + "---|" * len(wanted)]
    for contestant in CONTESTANTS:
        cells = [range_cell(table.summary(contestant.key, point)) for point in wanted]
        if any(cells):
            lines.append("| %s | %s |" % (contestant.name, " | ".join(cells)))
    for key, reference, title in THREAD_RATIOS:
        ratios = [table.ratio(reference, key, point) for point in wanted]
        if any(ratio is not None for ratio in ratios):
            cells = ["" if ratio is None else "%.2f" % ratio for ratio in ratios]
            lines.append("| **%s, times better** | %s |" % (title, " | ".join(cells)))
    return "\n".join(lines) + "\n"


def threads_report(launches, machine):
    """A table for each test."""
    table = Table(launches, main_state(launches))
    parts = ["%s. Two ranks of so many threads, or as many pairs of processes. Median (lowest–highest)." % machine]
    wanted = points_of(launches)
    for test in dict.fromkeys(point.test for point in wanted):
        of_test = [point for point in wanted if point.test == test]
        parts.append("%s:\n\n%s" % (column_name(of_test[0], points.metrics(of_test[0])[0]),
                                    threads_table(table, of_test).rstrip()))
    rounds = len({launch.round for launch in launches})
    parts.append("%s in %s." % (plural(len(launches), "launch", "launches"), plural(rounds, "round")))
    return "\n\n".join(parts + list_failures(launches)) + "\n"


def markdown_report(launches, machine, quick=False):
    """What the pages under docs/performance have: the main state only."""
    if is_of_threads(launches):
        return threads_report(launches, machine)
    if launches and launches[0].point.is_collective:
        return collective_report(launches, machine)
    state = main_state(launches)
    table = Table(launches, state)
    parts = ["%s. Median (lowest–highest) of the launches in the state \"%s\"." % (machine, state)]
    for threads, heading in ((1, "Two ranks of one thread each"), (2, "Two ranks of two threads each")):
        wanted = [
            point for point in points.all_points(quick)
            if point.threads == threads and (quick or point.row in points.TABLE)
        ]
        parts.append("%s:\n\n%s" % (heading, markdown_table(table, wanted).rstrip()))
    return "\n\n".join(parts) + "\n\n" + "\n".join(count_states(launches)) + "\n"
