"""Results of launches: reads them, keeps them, and computes their statistics."""

import collections
import json
import statistics
from typing import NamedTuple, Optional

from points import Point, metrics

# How far apart the two processors may be, one way, in ns. Virtual machines' processors are moved by their host:
# neighbours are 23 to 70 ns apart, distant ones 180 to 280, and between lies what is neither.
NEAR_BELOW = 90.0
FAR_ABOVE = 150.0
STATES = ("near", "middle", "far")

# The share of the processors' time that others may take from a launch. It is known to 10 ms of each processor only.
MOST_OTHERS = 0.15

# With fewer launches than this, a median says nothing.
ENOUGH = 3


class Launch(NamedTuple):
    """One run of one program at one point."""

    contestant: str  # its key
    point: Point
    round: int
    before_ns: float  # the probe's distances
    after_ns: float
    others: float  # share of the processors' time that went to anything else, 0 to 1
    result: Optional[dict]  # what the program printed; None: it failed
    error: str = ""  # then: how
    most_others: float = MOST_OTHERS  # with more, it is disturbed

    @property
    def state(self):
        """near, middle or far on both sides; else mixed. disturbed: others took the processors."""
        if self.others > self.most_others:
            return "disturbed"
        before, after = state_of(self.before_ns), state_of(self.after_ns)
        return before if before == after else "mixed"


def state_of(distance_ns):
    if distance_ns < NEAR_BELOW:
        return "near"
    return "far" if distance_ns > FAR_ABOVE else "middle"


def parse_result(text, fields=("messages_per_s", "bytes_per_s")):
    """The last line of JSON that a program printed; ValueError if it has none or a wrong one.

    fields: that it has to have, above 0; a latency has a median besides.
    """
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        raise ValueError("printed no line of JSON, but %r" % text[-200:])
    try:
        result = json.loads(lines[-1])
    except json.JSONDecodeError as error:
        raise ValueError("printed %r, which is not JSON (%s)" % (lines[-1][:200], error)) from None
    for key in fields + ("latency_us_p50",) * (result.get("test") == "latency"):
        if not isinstance(result.get(key), (int, float)) or not result[key] > 0:
            raise ValueError("printed %r as %s" % (result.get(key), key))
    return result


def save(launches, path):
    """One line of JSON a launch."""
    with open(path, "w", encoding="utf-8") as file:
        for launch in launches:
            file.write(json.dumps(dict(launch._asdict(), point=launch.point._asdict())) + "\n")


def load(path):
    """Reads what save() has written; a ValueError names a malformed line."""
    launches = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                fields = json.loads(line)
                launches.append(Launch(**dict(fields, point=Point(**fields["point"]))))
            except (ValueError, TypeError, KeyError) as error:
                raise ValueError("%s:%d: not a launch (%s)" % (path, number, error)) from None
    return launches


class Summary(NamedTuple):
    """The values of a metric over the launches of one state."""

    count: int
    median: float
    low: float
    high: float


def summarise(values):
    """None if there are no values."""
    if not values:
        return None
    return Summary(len(values), statistics.median(values), min(values), max(values))


class Table:
    """The launches of one state, by contestant and point."""

    def __init__(self, launches, state):
        self.state = state
        self._results = collections.defaultdict(list)
        for launch in launches:
            if launch.result is not None and launch.state == state:
                self._results[launch.contestant, launch.point].append(launch.result)

    def summary(self, contestant, point, metric=None):
        """Of the point's first metric, unless it says which. None: nothing was measured."""
        metric = metric or metrics(point)[0]
        results = self._results.get((contestant, point), [])
        values = [result[metric.field] * metric.scale for result in results if metric.field in result]
        return summarise(values)

    def ratio(self, contestant, reference, point, metric=None):
        """How many times better the reference's median is (1: the same). None if either has too few launches, or for a
        metric without ratios."""
        metric = metric or metrics(point)[0]
        theirs = self.summary(contestant, point, metric)
        own = self.summary(reference, point, metric)
        if not metric.has_ratio or theirs is None or own is None or min(theirs.count, own.count) < ENOUGH:
            return None
        return theirs.median / own.median if metric.less_is_better else own.median / theirs.median

    def launches(self):
        return sum(len(results) for results in self._results.values())


def main_state(launches):
    """The state with the most launches; the nearer of two with as many."""
    counts = collections.Counter(launch.state for launch in launches if launch.result is not None)
    return max(STATES, key=lambda state: (counts[state], -STATES.index(state)))
