"""Starting the programs, with what happens on the machine meanwhile."""

import os
import resource
import signal
import subprocess
import tempfile
import time


class LaunchError(Exception):
    """A program failed, or took too long; the message says which and how."""


def run_programs(commands, timeout, environment=None, ready=None):
    """Starts the commands (lists of words), one after the other, and returns what the last one prints.

    ready: called before the last one is started; waits until the others can be talked to.
    All are ended when this returns. LaunchError if one fails, or if they take more than `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    started = []
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            for number, command in enumerate(commands):
                last = number == len(commands) - 1
                if last and ready is not None:
                    ready()
                try:
                    started.append(
                        subprocess.Popen(
                            command,
                            stdin=subprocess.DEVNULL,
                            stdout=output if last else subprocess.DEVNULL,
                            stderr=errors,
                            env=dict(os.environ, **(environment or {})),
                            start_new_session=True,
                        )
                    )
                except OSError as error:
                    raise LaunchError("%s: %s" % (command[0], error.strerror)) from None
            for process, command in reversed(list(zip(started, commands))):
                try:
                    code = process.wait(max(0.1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    raise LaunchError("%s: not done after %g s" % (command[0], timeout)) from None
                if code != 0:
                    raise LaunchError("%s: exit code %d: %s" % (command[0], code, tail(errors)))
            output.seek(0)
            return output.read().decode(errors="replace")
        finally:
            for process in started:
                end_group(process)


def end_group(process):
    """Ends a process that leads a group of its own, and the whole group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def tail(file):
    file.seek(0)
    lines = file.read().decode(errors="replace").strip().splitlines()
    return " | ".join(lines[-3:]) or "it says nothing"


def probe_distance(probe):
    """One way of a cache line between two processors, in ns: what the program `probe` finds in 3 ms."""
    text = run_programs([[probe]], timeout=20)
    try:
        return float(text)
    except ValueError:
        raise LaunchError("%s: printed %r, which is no distance" % (probe, text)) from None


class OtherWork:
    """How much of the processors' time goes to anything but our own children, from its making on."""

    def __init__(self):
        self._busy, self._total = processor_times()
        self._own = own_seconds()

    def share(self):
        """0 to 1. Time that the host took away counts. Known to 10 ms only."""
        busy, total = processor_times()
        if total <= self._total:
            return 0.0
        others = (busy - self._busy) - (own_seconds() - self._own)
        return min(1.0, max(0.0, others / (total - self._total)))


def own_seconds():
    """Of processor time: this process and the children that have ended."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def processor_times():
    """(busy, total) seconds of all processors since the machine started."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    per_second = os.sysconf("SC_CLK_TCK")
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / per_second, sum(ticks) / per_second
