"""The plots of the comparison."""

import points
import svg
from contestants import CONTESTANTS
from units import size_name

# One colour a family; shape and dashes are for its members.
COLORS = dict(zip(("LCI", "Open MPI", "MPICH", "UCX", "libfabric"), svg.COLORS), limit="#777777")


def series_of(contestant, table, wanted):
    """wanted: of (x, point)."""
    members = [one for one in CONTESTANTS if (one.family, one.over) == (contestant.family, contestant.over)]
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


def draw_all(table, quick=False):
    """The files' contents by name; without charts that have no measurement."""

    def wanted(test, sizes, threads):
        # x is the size, unless there is only one.
        made = [points.make_point(test, size, count, quick=quick) for size in sizes for count in threads]
        return [(point.size if len(sizes) > 1 else point.threads, point) for point in made]

    what = "median and range; processors: %s" % table.state
    charts = {
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
    return {name: svg.draw(one) for name, one in charts.items() if one is not None}
