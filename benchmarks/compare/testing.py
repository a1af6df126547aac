"""Launches and programs that the tests make up."""

import os
import stat

import points
from results import Launch

NEAR, MIDDLE, FAR = 50.0, 110.0, 200.0

# As lci_perf prints it.
LCI_LINE = (
    '{"op": "am", "test": "%(test)s", "size": %(size)s, "threads": %(threads)s, "devices": "dedicated", '
    '"device_count": 1, "backend": "shm", "ranks": 2, "iterations": 1000, "validate": false, '
    '"latency_us_mean": 0.11, "latency_us_p50": 0.1, "latency_us_p99": 0.3, "messages_per_s": 60000000, '
    '"bytes_per_s": 480000000, "overlap_percent": 62.5}'
)


def latency_result(p50, **more):
    return dict({"test": "latency", "latency_us_p50": p50, "latency_us_mean": p50 * 1.1, "latency_us_p99": p50 * 3,
                 "messages_per_s": 1e6 / p50, "bytes_per_s": 8e6 / p50}, **more)


def rate_result(rate, **more):
    return dict({"test": "rate", "messages_per_s": rate, "bytes_per_s": 8 * rate}, **more)


def launch(contestant="lci_am", test="latency", threads=1, size=8, result=None, before=NEAR, after=NEAR, number=1,
           error="", quick=False, window=None):
    point = points.make_point(test, size, threads, window, quick)
    return Launch(contestant, point, number, before, after, 0.01, result, error)


def write_script(folder, name, lines):
    """A shell script; returns its path."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + "\n".join(lines) + "\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path
