"""The plots of the comparison."""

import points
import report
import svg
from contestants import CONTESTANTS
from units import size_name

# One colour a family; shape and dashes are for its members.
COLORS = dict(zip(("LCI", "Open MPI", "MPICH", "UCX", "libfabric"), svg.COLORS), limit="#777777")


def series_of(contestant, table, wanted):
    """wanted: of (x, point)."""
    members = [one for one in CONTESTANTS if (one.family, one.contest) == (contestant.family, contestant.contest)]
    place = members.index(contestant)
    values = []
    for x, point in wanted:
        summary = table.summary(contestant.key, point)
        if summary is not None:
            values.append((x, summary.median, summary.low, summary.high))
    return svg.Series(
        contestant.name,
        values,
        COLORS[contestant.family],
        svg.DASHES[place % len(svg.DASHES)],
        3.0 if contestant.family == "LCI" else 1.8,
        svg.SHAPES[place % len(svg.SHAPES)],
    )


def chart(title, x_label, y_label, x_name, table, wanted):
    """None if no contestant has measured any of it."""
    series = [series_of(contestant, table, wanted) for contestant in CONTESTANTS]
    series = [one for one in series if one.points]
    if not series:
        return None
    return svg.Chart(title, x_label, y_label, series, {x: x_name(x) for x, _ in wanted})


def ratios_chart(table, ranks, wanted):
    """How the library stands to the fastest of the others, by operation and size. None without enough launches."""
    series = []
    for place, test in enumerate(dict.fromkeys(point.test for point in wanted)):
        ratios = [(point.size, report.ratio_to_best(table, point, points.MEAN_LATENCY))
                  for point in wanted if point.test == test]
        series.append(svg.Series(
            test, [(size, ratio, ratio, ratio) for size, ratio in ratios if ratio is not None],
            svg.COLORS[place % len(svg.COLORS)],
            svg.DASHES[place // len(svg.COLORS) % len(svg.DASHES)],
            marker=svg.SHAPES[place % len(svg.SHAPES)]))
    series = [one for one in series if one.points]
    if not series:
        return None
    sizes = {point.size for point in wanted}
    return svg.Chart("Collective operations of %d ranks: times faster than the fastest MPI (processors: %s)" % (
        ranks, table.state), "size", "time of the fastest MPI / time of LCI", series,
        {size: size_name(size) for size in sizes})


def collective_charts(table, wanted):
    charts = {}
    # A barrier has no size, so that there is nothing to draw.
    sized = [point for point in wanted if point.size > 0 and not point.overlap]
    for ranks in dict.fromkeys(point.ranks for point in sized):
        of_ranks = [point for point in sized if point.ranks == ranks]
        charts["ratios-%d-ranks.svg" % ranks] = ratios_chart(table, ranks, of_ranks)
        for test in dict.fromkeys(point.test for point in of_ranks):
            charts["%s-%d-ranks.svg" % (test, ranks)] = chart(
                "%s of %d ranks (median and range; processors: %s)" % (test, ranks, table.state), "size",
                "time of a call, us", size_name, table,
                [(point.size, point) for point in of_ranks if point.test == test])
    return charts


def message_charts(table, quick):
    def wanted(test, sizes, threads):
        # x is the size, unless there is only one.
        made = [points.make_point(test, size, count, quick=quick) for size in sizes for count in threads]
        return [(point.size if len(sizes) > 1 else point.threads, point) for point in made]

    what = "median and range; processors: %s" % table.state
    return {
        "latency.svg": chart(
            "One way, two ranks of one thread (%s)" % what, "size of a message", "latency, us",
            size_name, table, wanted("latency", points.LATENCY_SIZES, [1])),
        "bandwidth.svg": chart(
            "Bandwidth, two ranks of one thread (%s)" % what, "size of a message", "bandwidth, GB/s",
            size_name, table, wanted("bandwidth", points.BANDWIDTH_SIZES, [1])),
        "rate.svg": chart(
            "Messages of 8 B between two ranks (%s)" % what, "threads of each rank",
            "million messages a second", str, table, wanted("rate", [8], points.RATE_THREADS)),
    }


def threads_charts(table, wanted):
    names = {"latency": "one way, us", "rate": "million messages a second", "bandwidth": "bandwidth, GB/s"}
    charts = {}
    for test in dict.fromkeys(point.test for point in wanted):
        of_test = [(point.threads, point) for point in wanted if point.test == test]
        charts["threads-%s.svg" % test] = chart(
            "Threads and processes: %s of %s (median and range)" % (test, size_name(of_test[0][1].size)),
            "threads of each of two ranks, or pairs of processes", names[test], str, table, of_test)
    return charts


def draw_all(table, wanted, quick=False, of_threads=False):
    """The contents of the files by name; without charts that have no measurement. `wanted`: the points. of_threads: they
    compare threads with processes."""
    if of_threads:
        charts = threads_charts(table, wanted)
    elif wanted and wanted[0].is_collective:
        charts = collective_charts(table, wanted)
    else:
        charts = message_charts(table, quick)
    return {name: svg.draw(one) for name, one in charts.items() if one is not None}
