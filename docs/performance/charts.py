"""Bar charts and line charts as SVG, in colors for light and dark backgrounds."""

import os
import sys
from typing import NamedTuple
from xml.sax.saxutils import escape

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../benchmarks/compare"))

from svg import Scale, line, log_ticks, marker, number, text  # noqa: E402

# All colors have a contrast of 3 or more against white and against dark backgrounds (#0d1117); text has 4.2.
COLORS = {"LCI": "#d55e00", "Open MPI": "#2b7fc3", "MPICH": "#009068", "UCX": "#b8669a", "libfabric": "#3f8fa8",
          "other": "#7d8590"}
TEXT = "#727b84"
LIMIT = "#a07d14"
FONT = "font-family='system-ui, Segoe UI, Helvetica, Arial, sans-serif'"
WIDTH = 820
ROW, BAR, GAP = 20, 14, 7
TOP = 58
KEY_ROW = 18


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


def place_line_keys(lines):
    """Where the key of each line begins, in rows: [(x, row)]."""
    places, x, row = [], 12, 0
    for one in lines:
        width = 70 + 7 * len(one.name)
        if x > 12 and x + width > WIDTH:
            x, row = 12, row + 1
        places.append((x, row))
        x += width
    return places


def line_chart(title, subtitle, x_label, y_label, x_names, lines, x_lines=()):
    """Logarithmic axes. x_lines: of (x, label), drawn from top to bottom."""
    keys = place_line_keys(lines) if len(lines) > 1 else [(12, 0)]
    more = KEY_ROW * keys[-1][1]  # that the key takes
    left, right, top, bottom, height = 76, WIDTH - 30, TOP + 26 + more, 350 + more, 400 + more
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
    for one, (key_x, row) in zip(lines, keys):
        key_y = TOP + 6 + KEY_ROW * row
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
            parts.append(line(key_x, key_y, key_x + 30, key_y, one.color, 2, one.dash))
            parts.append(marker(one.shape, key_x + 15, key_y, one.color))
            parts.append(text(key_x + 38, key_y + 4, one.name, 12))
    return "\n".join(parts + ["</svg>"]) + "\n"
