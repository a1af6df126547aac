"""Line charts as SVG, drawn by hand: logarithmic axes, a legend, and the range of every value."""

import math
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 900, 500
LEFT, RIGHT, TOP, BOTTOM = 80, 300, 50, 60
FONT = "font-family='Helvetica, Arial, sans-serif'"

# Colours that colour-blind people tell apart (Okabe and Ito).
COLORS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9")
SHAPES = ("circle", "square", "triangle", "diamond")
DASHES = ("", "7,4", "2,3", "9,3,2,3")  # as stroke-dasharray


class Series(NamedTuple):
    name: str
    points: list  # of (x, value, low, high), values above 0
    color: str
    dash: str = ""  # as stroke-dasharray
    width: float = 1.8
    marker: str = "circle"  # or square, triangle, diamond


class Chart(NamedTuple):
    title: str
    x_label: str
    y_label: str
    series: list
    x_names: dict  # what is written below the x values


def log_ticks(low, high):
    """Powers of ten from below low to above high; with 2 and 5 times them where there are few."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    last = max(last, first + 1)
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    above = [tick for tick in ticks if tick >= high * (1 - 1e-9)]
    below = [tick for tick in ticks if tick <= low * (1 + 1e-9)]
    return [tick for tick in ticks if below[-1] <= tick <= above[0]]


def number(value):
    """0.05, 2, 1000: no more digits than it has."""
    return "%g" % float("%.6g" % value)


class Scale:
    """Values to pixels, by their logarithm."""

    def __init__(self, low, high, start, end):
        # A single value stands in the middle.
        self._low = math.log(low) if high > low else math.log(low) - 1
        self._high = math.log(high) if high > low else math.log(low) + 1
        self._start, self._end = start, end

    def __call__(self, value):
        part = (math.log(value) - self._low) / (self._high - self._low)
        return self._start + part * (self._end - self._start)


def marker(shape, x, y, color):
    size = 4.0
    if shape == "circle":
        return "<circle cx='%.1f' cy='%.1f' r='%.1f' fill='%s'/>" % (x, y, size, color)
    corners = {
        "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        "triangle": [(0, -1.2), (1.1, 1), (-1.1, 1)],
        "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    }[shape]
    points = " ".join("%.1f,%.1f" % (x + dx * size, y + dy * size) for dx, dy in corners)
    return "<polygon points='%s' fill='%s'/>" % (points, color)


def text(x, y, words, size=13, anchor="start", extra=""):
    return "<text x='%.1f' y='%.1f' font-size='%d' text-anchor='%s' %s>%s</text>" % (
        x, y, size, anchor, extra, escape(words))


def line(x1, y1, x2, y2, color, width=1.0, dash=""):
    return "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-width='%g'%s/>" % (
        x1, y1, x2, y2, color, width, " stroke-dasharray='%s'" % dash if dash else "")


def draw_axes(chart, x_scale, y_scale, y_ticks):
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for tick in y_ticks:
        y = y_scale(tick)
        parts.append(line(LEFT, y, right, y, "#dddddd"))
        parts.append(text(LEFT - 8, y + 4.5, number(tick), anchor="end"))
    for x, name in sorted(chart.x_names.items()):
        at = x_scale(x)
        parts.append(line(at, bottom, at, bottom + 5, "#333333"))
        parts.append(text(at, bottom + 20, name, anchor="middle"))
    parts.append(line(LEFT, bottom, right, bottom, "#333333"))
    parts.append(line(LEFT, TOP, LEFT, bottom, "#333333"))
    parts.append(text((LEFT + right) / 2, HEIGHT - 14, chart.x_label, 14, "middle"))
    middle = (TOP + bottom) / 2
    parts.append(text(22, middle, chart.y_label, 14, "middle", "transform='rotate(-90 22 %.1f)'" % middle))
    return parts


def draw_series(series, x_scale, y_scale):
    parts = []
    points = sorted(series.points)
    for x, _, low, high in points:
        parts.append(line(x_scale(x), y_scale(low), x_scale(x), y_scale(high), series.color, 1.0))
    path = " ".join("%.1f,%.1f" % (x_scale(x), y_scale(value)) for x, value, _, _ in points)
    parts.append("<polyline points='%s' fill='none' stroke='%s' stroke-width='%g'%s/>" % (
        path, series.color, series.width, " stroke-dasharray='%s'" % series.dash if series.dash else ""))
    for x, value, _, _ in points:
        parts.append(marker(series.marker, x_scale(x), y_scale(value), series.color))
    return parts


def draw_legend(all_series):
    """In the order in which the lines end, highest first."""
    parts = []
    x = WIDTH - RIGHT + 25
    for place, series in enumerate(sorted(all_series, key=lambda one: -max(one.points)[1])):
        y = TOP + 10 + 24 * place
        parts.append(line(x, y, x + 34, y, series.color, series.width, series.dash))
        parts.append(marker(series.marker, x + 17, y, series.color))
        parts.append(text(x + 42, y + 4.5, series.name))
    return parts


def draw(chart):
    """The chart as a file's contents. ValueError if it has no points."""
    drawn = [series for series in chart.series if series.points]
    points = [point for series in drawn for point in series.points]
    if not points:
        raise ValueError("%s: nothing to draw" % chart.title)
    xs = list(chart.x_names) + [point[0] for point in points]
    y_ticks = log_ticks(min(point[2] for point in points), max(point[3] for point in points))
    margin = 15
    x_scale = Scale(min(xs), max(xs), LEFT + margin, WIDTH - RIGHT - margin)
    y_scale = Scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    parts = [
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' %s fill='#222222'>"
        % (WIDTH, HEIGHT, WIDTH, HEIGHT, FONT),
        "<title>%s</title>" % escape(chart.title),
        "<rect width='%d' height='%d' fill='white'/>" % (WIDTH, HEIGHT),
        text(LEFT, 28, chart.title, 16, extra="font-weight='bold'"),
    ]
    parts += draw_axes(chart, x_scale, y_scale, y_ticks)
    for series in drawn:
        parts += draw_series(series, x_scale, y_scale)
    parts += draw_legend(drawn)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"
