"""The points of the comparison, and the figures that are read off each."""

from typing import NamedTuple

from units import plural, size_name

# Collective operations, as --op of lci_perf has them.
COLLECTIVES = ("barrier", "broadcast", "reduce", "allreduce", "reduce_scatter", "allgather", "alltoall")


class Point(NamedTuple):
    """One measurement; each launch of a program makes one."""

    test: str  # as in --test: latency, rate or bandwidth; or one of COLLECTIVES
    size: int  # bytes of a message; of a collective operation, as lci_perf counts them
    threads: int  # of each rank
    window: int  # messages under way at most
    seconds: float  # that a program measures for, about
    ranks: int = 2
    overlap: bool = False  # of a collective operation: measured with computation as well
    hosts: int = 1  # that the ranks of a collective operation are spread over, as many on each
    read: bool = False  # latency: with the reading of every byte of a message by its receiver

    @property
    def is_collective(self):
        return self.test in COLLECTIVES

    @property
    def messages_per_iteration(self):
        """How many messages programs count for what they call an iteration."""
        if self.is_collective:
            return self.ranks
        return 2 if self.test == "latency" else self.window

    @property
    def row(self):
        """The arguments of make_point."""
        return self[:4]

    @property
    def depth(self):
        """The remark on points that have more messages under way than others."""
        return ", %d under way" % self.window if self.window > window_for(self.test, self.size) else ""

    @property
    def name(self):
        if self.is_collective:
            what = self.test if self.test == "barrier" else "%s of %s" % (self.test, size_name(self.size))
            where = " on %d hosts" % self.hosts if self.hosts > 1 else ""
            return "%s%s, %d ranks%s" % ("overlap of " if self.overlap else "", what, self.ranks, where)
        threads = plural(self.threads, "thread")
        read = ", read by the receiver" if self.read else ""
        return "%s of %s, %s a rank%s%s" % (self.test, size_name(self.size), threads, self.depth, read)


class Metric(NamedTuple):
    """A number read off a result."""

    field: str  # of the result
    unit: str
    scale: float  # the field's value is multiplied with it
    less_is_better: bool
    label: str  # what distinguishes it among the metrics of its point
    has_ratio: bool = True  # whether one value divided by another says how much better it is


MEDIAN_LATENCY = Metric("latency_us_p50", "us", 1.0, True, "p50")
MEAN_LATENCY = Metric("latency_us_mean", "us", 1.0, True, "mean")
TAIL_LATENCY = Metric("latency_us_p99", "us", 1.0, True, "p99")
RATE = Metric("messages_per_s", "M/s", 1e-6, False, "")
OVERLAP = Metric("overlap_percent", "%", 1.0, False, "of the latency hidden", has_ratio=False)
BANDWIDTH = Metric("bytes_per_s", "GB/s", 1e-9, False, "")


def metrics(point):
    """The figures reported of a point, the most significant first.

    With more threads than cores, the median says nothing of those that waited for a time slice; there the mean comes
    first.
    """
    if point.is_collective:
        return [OVERLAP, MEAN_LATENCY] if point.overlap else [MEAN_LATENCY]
    if point.test == "latency":
        return [MEDIAN_LATENCY] if point.threads == 1 else [MEAN_LATENCY, MEDIAN_LATENCY, TAIL_LATENCY]
    return [RATE] if point.test == "rate" else [BANDWIDTH]


def window_for(test, size):
    """As many as the OSU micro-benchmarks have for small messages; for large ones, what a cache holds."""
    if test == "latency":
        return 2
    return 64 if size <= 16384 else 16 if size <= 262144 else 8


# A program that does not wait for an answer after each few messages: what the way itself takes. With 64, a part of the
# time is that of the answers.
DEEP = 1024


def row(test, size, threads, window=None):
    return (test, size, threads, window or window_for(test, size))


def make_point(test, size, threads, window=None, quick=False):
    seconds = 0.1 if threads == 1 else 0.3  # several time slices of the kernel's
    return Point(*row(test, size, threads, window), 0.01 if quick else seconds)


# Rows of the tables.
TABLE = [
    row("latency", 8, 1),
    row("rate", 8, 1),
    row("rate", 8, 1, DEEP),
    row("bandwidth", 4096, 1),
    row("bandwidth", 65536, 1),
    row("bandwidth", 1 << 20, 1),
    row("latency", 8, 2),
    row("rate", 8, 2),
    row("rate", 8, 2, DEEP),
]

# For the plots as well.
LATENCY_SIZES = [8, 64, 1024, 4096, 16384, 65536]
BANDWIDTH_SIZES = [1024, 4096, 16384, 65536, 262144, 1 << 20]
RATE_THREADS = [1, 2, 4, 8]
# Large messages are not in the caches of the receiver's processor just because they have arrived.
READ_SIZES = [16384, 65536, 262144]


# Of the calls of collective operations.
COLLECTIVE_SIZES = [8, 1024, 4096, 16384, 65536, 262144, 1 << 20, 4 << 20]
COLLECTIVE_RANKS = [2, 4]
# Of those between hosts.
HOST_SIZES = [8, 4096, 65536, 1 << 20]
# Of those that are measured with computation as well. (A call of few bytes takes no longer than reading the clock does.)
OVERLAP_SIZES = [4096, 65536, 1 << 20]
# Of a rank that computes, for each operation: without any, nothing but the network itself could make progress.
PROGRESS_CALLS = 10


def make_collective(test, size, ranks, quick=False, overlap=False):
    return Point(test, 0 if test == "barrier" else size, 1, 1, 0.01 if quick else 0.2, ranks, overlap)


def collective_points(ranks, quick=False, only_sizes=None):
    """Those of a comparison of collective operations, in the order in which they are measured. `only_sizes`: calls with
    so many bytes, and nothing else."""
    if only_sizes:
        return [make_collective(test, size, count, quick) for count in ranks for test in COLLECTIVES
                if test != "barrier" for size in only_sizes]
    wanted = []
    for count in ranks:
        for test in COLLECTIVES:
            sizes = [0] if test == "barrier" else [8, 65536] if quick else COLLECTIVE_SIZES
            wanted += [make_collective(test, size, count, quick) for size in sizes]
            sizes = [0] if test == "barrier" else [65536] if quick else OVERLAP_SIZES
            wanted += [make_collective(test, size, count, quick, overlap=True) for size in sizes]
    return wanted


def host_points(ranks, hosts, quick=False):
    """Those of a comparison of collective operations between hosts."""
    wanted = []
    for count in ranks:
        for test in COLLECTIVES:
            sizes = [0] if test == "barrier" else [8, 65536] if quick else HOST_SIZES
            wanted += [make_collective(test, size, count, quick)._replace(hosts=hosts) for size in sizes]
    return wanted


# Of the comparison of threads with processes.
THREADS = [1, 2, 4, 8]


def threads_points(counts, quick=False):
    """Those of a comparison of threads with processes, with so many threads of each of two ranks."""
    return [make_point(test, size, count, quick=quick)
            for test, size in (("latency", 8), ("rate", 8), ("bandwidth", 65536)) for count in counts]


def all_points(quick=False):
    """The points of a whole comparison of messages, in the order in which they are measured."""
    if quick:
        wanted = [("latency", 8, 1), ("latency", 1024, 1), ("rate", 8, 1), ("bandwidth", 65536, 1), ("rate", 8, 2)]
    else:
        wanted = list(TABLE)
        wanted += [row("latency", size, 1) for size in LATENCY_SIZES]
        wanted += [row("bandwidth", size, 1) for size in BANDWIDTH_SIZES]
        wanted += [row("rate", 8, threads) for threads in RATE_THREADS]
        # Of the tables and plots together, each once.
        wanted = list(dict.fromkeys(wanted))
    read = [] if quick else READ_SIZES
    return ([make_point(*one, quick=quick) for one in wanted] +
            [make_point("latency", size, 1)._replace(read=True) for size in read])
