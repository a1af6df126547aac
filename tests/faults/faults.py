#!/usr/bin/env python3
"""faults.py LCRUN RANK_PROGRAM [options]: one rank of a job fails, and the others have to notice.

Every cell of the matrix is a job: FAULT.PHASE.RANKS.NETWORK.LAUNCHER. A cell passes if

- every survivor gets a peer_failure_error (in the phase finalization, a line of its log) that names the failed rank, and no other;
- every survivor then finalizes and ends with exit code 0;
- a rank that is merely stopped is not taken for failed: the report of the job names it, and after SIGCONT all ranks end
  with 0;
- lcrun ends with the exit code of the failed rank;
- with the fault "killed", which is for the launcher lcrun, lcrun is stopped from before the rank is killed until the
  survivors have ended, and they know as soon;
- no process, no file in /dev/shm and no directory of the job is left.

The table at the end has the seconds until the last survivor knew, for each fault and phase the median and the greatest of
all jobs. A time is an error only beyond --limit, which is generous, since a loaded machine makes everything slow.
"""
import argparse
import collections
import fnmatch
import functools
import itertools
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

FAULTS = {  # the exit code of lcrun
    "kill": 128 + signal.SIGKILL, "stop": 0, "exit0": 1, "exit3": 3, "abort": 128 + signal.SIGABRT,
    "throw": 128 + signal.SIGABRT, "exec": 1, "killed": 128 + signal.SIGKILL,
}
PHASES = ["start", "barrier", "messages", "large", "puts", "collectives", "finalization"]
RANKS = [2, 4, 8]
NETWORKS = {
    "shm": {"LCI_ATTR_BACKEND": "shm"}, "ofi": {"LCI_ATTR_BACKEND": "ofi"},
    "mixed": {"LCI_HOSTS": "0,0,1"},  # of two ranks, both are on one host
}
LAUNCHERS = ["lcrun", "none", "srun"]  # none: the file bootstrap
MARK = "LCI_TEST_FAULTS"  # a variable of the processes of a cell


class Cell(collections.namedtuple("Cell", "fault phase ranks network launcher")):
    def __str__(self):
        return ".".join(str(each) for each in self)

    @property
    def victim(self):
        return self.ranks - 1 if self.phase in ("puts", "collectives") else self.ranks // 2 - 1


class Output(threading.Thread):
    """Reads a stream to its end."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream = stream
        self.text = ""
        self.start()

    def run(self):
        for line in iter(self.stream.readline, ""):
            self.text += line


class FileOutput:
    """A stream that srun writes to a file: it loses what a rank writes last to its own if another rank was killed."""

    def __init__(self, path):
        self.path = path

    @property
    def text(self):
        try:
            with open(self.path, errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def join(self, _):
        pass


class Job:
    def __init__(self, cell, options, directory, streams):
        self.cell = cell
        self.directory = directory
        self.program = options.program
        self.deadline = time.monotonic() + options.timeout
        environment = dict(os.environ, **NETWORKS[cell.network])
        environment.update({MARK: directory, "TMPDIR": directory, "LCI_HANG_REPORT": "1" if cell.fault == "stop" else "0"})
        command = [options.program, cell.fault, cell.phase, str(cell.victim)]
        launch = {
            "lcrun": [options.lcrun, "--oversubscribe", "--grace", "1000", "-n", str(cell.ranks)],
            "srun": ["srun", "--overcommit", "--kill-on-bad-exit=0", "--wait=0", "-n", str(cell.ranks),
                     f"--output={streams}/out.%t", f"--error={streams}/error.%t"],
        }
        commands = []
        if cell.launcher == "none":
            environment.update(LCI_BOOT="file", LCI_BOOT_DIR=directory, LCI_JOB_ID="faults", LCI_SIZE=str(cell.ranks))
            for rank in range(cell.ranks):
                commands.append((command, dict(environment, LCI_RANK=str(rank))))
        else:
            commands.append((launch[cell.launcher] + command, environment))
        self.processes = [
            subprocess.Popen(words, env=own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, errors="replace") for words, own in commands
        ]
        self.outputs = [Output(process.stdout) for process in self.processes]
        self.errors = [Output(process.stderr) for process in self.processes]
        if cell.launcher == "srun":
            self.outputs += [FileOutput(f"{streams}/out.{rank}") for rank in range(cell.ranks)]
            self.errors += [FileOutput(f"{streams}/error.{rank}") for rank in range(cell.ranks)]

    def out(self):
        return "".join(each.text for each in self.outputs)

    def error(self):
        return "".join(each.text for each in self.errors)

    def wait_until(self, condition):
        """False if the time of the job is over before, or all processes have ended."""
        while not condition():
            if time.monotonic() > self.deadline or all(each.poll() is not None for each in self.processes):
                return bool(condition())
            time.sleep(0.01)
        return True

    def lines(self, word):
        return [line.split()[1:] for line in self.out().splitlines() if line.startswith(word + " ")]


def processes_of(directory, program=None):
    """Of a job; `program`: only those that run it."""
    marked = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if program is not None and os.readlink(f"/proc/{pid}/exe") != os.path.realpath(program):
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"{MARK}={directory}".encode() in file.read().split(b"\0"):
                    marked.append(int(pid))
        except OSError:
            pass
    return marked


def shared_memory():
    return {name for name in os.listdir("/dev/shm") if name.startswith("lci")}


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def continue_stopped(job, trouble):
    """Seconds until the report named the stopped rank; None: it did not."""
    named = re.compile(r"\* rank {0}( \(process \d+\))? (is stopped|does not answer)|rank {0}: (is stopped|does not answer)"
                       r"|process \d+, which is stopped".format(job.cell.victim))
    if not job.wait_until(lambda: job.lines("victim")):
        trouble.append("the rank that should stop did not reach its stop")
        return None
    _, pid, at = job.lines("victim")[0]
    if job.cell.phase in ("messages", "large", "puts"):  # whose loops are not the library's: nothing of it loses patience
        asked = job.processes[0 if job.cell.launcher != "none" else job.cell.ranks - 1 - job.cell.victim]
        asked.send_signal(signal.SIGUSR1)
    known = job.wait_until(lambda: named.search(job.error()))
    seconds = time.monotonic() - float(at)
    if not known:
        trouble.append("no report names the stopped rank")
    try:
        os.kill(int(pid), signal.SIGCONT)
    except ProcessLookupError:
        trouble.append("the stopped rank has ended")
    return seconds if known else None


def kill_while_launcher_is_stopped(job, trouble):
    if not job.wait_until(lambda: job.lines("victim")):
        trouble.append("the rank that should be killed did not reach that point")
        return
    launcher = job.processes[0]
    launcher.send_signal(signal.SIGSTOP)
    os.kill(int(job.lines("victim")[0][1]), signal.SIGKILL)
    # (lcrun has a second process.)
    if not wait_until(lambda: not processes_of(job.directory, job.program), job.deadline - time.monotonic()):
        trouble.append(f"ranks wait for the stopped launcher: {processes_of(job.directory, job.program)}")
    launcher.send_signal(signal.SIGCONT)


def check_survivors(job, trouble):
    """Seconds until the last survivor knew; None: one of them did not."""
    cell = job.cell
    if not job.lines("victim"):
        trouble.append("the rank that should fail did not reach that point")
        return None
    at = float(job.lines("victim")[0][2])
    survivors = set(range(cell.ranks)) - {cell.victim}
    known = {}
    if cell.phase == "finalization":
        known = {int(rank): float(when) for rank, when in job.lines("ended")}
        for rank in survivors:
            if not re.search(rf"lci\[rank {rank}\] .*rank {cell.victim} (is gone|has failed)", job.error()):
                trouble.append(f"the log of rank {rank} does not name rank {cell.victim}")
    for rank, failed, when in job.lines("knew"):
        known[int(rank)] = float(when)
        if int(failed) != cell.victim:
            trouble.append(f"rank {rank} was told rank {failed}, not {cell.victim}")
    for rank in sorted(survivors - set(known)):
        trouble.append(f"rank {rank} was not told")
    ended = {int(rank) for rank, _ in job.lines("ended")}
    for rank in sorted(survivors - ended):
        trouble.append(f"rank {rank} did not finalize")
    return max(known.values()) - at if survivors <= set(known) else None


def check_end(job, trouble):
    cell = job.cell
    survivors_ended = lambda: len(job.lines("ended")) == cell.ranks - 1
    if cell.fault == "exec" and cell.launcher != "lcrun":  # a process of another program, which nobody else ends
        if not job.wait_until(survivors_ended):
            trouble.append("the survivors hang")
        for _, pid, _ in job.lines("victim"):
            os.kill(int(pid), signal.SIGKILL)
    if not wait_until(lambda: all(each.poll() is not None for each in job.processes), job.deadline - time.monotonic()):
        trouble.append("the job hangs")
    for process in job.processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT if cell.launcher == "lcrun" else signal.SIGKILL)
    for process in job.processes:
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
    for each in job.outputs + job.errors:
        each.join(20)
    codes = [process.wait() for process in job.processes]
    if cell.launcher == "lcrun" and codes[0] != FAULTS[cell.fault]:
        trouble.append(f"lcrun ended with {codes[0]}, not {FAULTS[cell.fault]}")
    if cell.launcher == "none":
        for rank, code in enumerate(codes):
            if code != 0 and (rank != cell.victim or cell.fault == "stop"):
                trouble.append(f"rank {rank} ended with {code}")


def run(cell, options):
    trouble = []
    before = shared_memory()
    with tempfile.TemporaryDirectory(prefix="faults-") as directory, tempfile.TemporaryDirectory() as streams:
        job = Job(cell, options, directory, streams)
        seconds = continue_stopped(job, trouble) if cell.fault == "stop" else None
        if cell.fault == "killed":
            kill_while_launcher_is_stopped(job, trouble)
        check_end(job, trouble)
        if cell.fault == "stop":
            for rank, failed, _ in job.lines("knew"):
                trouble.append(f"rank {rank} was told that rank {failed} is gone")
        else:
            seconds = check_survivors(job, trouble)
        limit = min(options.limit, 10) if cell.fault == "killed" else options.limit
        if seconds is not None and seconds > limit:
            trouble.append(f"the last survivor knew after {seconds:.2f} s")
        if not wait_until(lambda: not processes_of(directory), 10):
            trouble.append(f"processes are left: {processes_of(directory)}")
        if not wait_until(lambda: shared_memory() <= before, 10):  # other jobs of the host make and remove some
            trouble.append(f"/dev/shm has {shared_memory() - before}")
        left = [path for path, _, files in os.walk(directory) for path in [path] if files]
        left += [name for name in os.listdir(directory) if name.startswith("lcrun-")]
        if left:
            trouble.append(f"files are left in {left}: {[os.listdir(path) for path in left]}")
        for pid in processes_of(directory):
            os.kill(pid, signal.SIGKILL)
    return seconds, trouble, job.out() + job.error()


@functools.lru_cache
def has_srun():
    return shutil.which("srun") is not None and subprocess.run(["srun", "true"], capture_output=True).returncode == 0


def cells(options):
    for cell in itertools.starmap(Cell, itertools.product(FAULTS, PHASES, RANKS, NETWORKS, LAUNCHERS)):
        if cell.launcher == "srun" and not has_srun():
            continue
        if cell.network == "mixed" and cell.ranks == 2:
            continue  # nothing is mixed
        if cell.fault == "killed" and (cell.launcher != "lcrun" or cell.phase == "start"):
            continue
        if any(fnmatch.fnmatch(str(cell), pattern) for pattern in options.only or ["*"]):
            yield cell


def table(times):
    """Seconds until the last survivor knew: median / greatest."""
    for network in NETWORKS:
        if not any(cell.network == network for cell in times):
            continue
        print(f"\n{network:8}" + "".join(f"{phase:>16}" for phase in PHASES))
        for fault in FAULTS:
            row = []
            for phase in PHASES:
                of_both = [second for cell, seconds in times.items() for second in seconds
                           if (cell.network, cell.fault, cell.phase) == (network, fault, phase)]
                row.append(f"{statistics.median(of_both):.2f} / {max(of_both):.2f}" if of_both else "-")
            print(f"{fault:8}" + "".join(f"{each:>16}" for each in row))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lcrun")
    parser.add_argument("program")
    parser.add_argument("--only", action="append", metavar="PATTERN",
                        help="cells, such as 'kill.*.4.shm.lcrun'; may be repeated (default: all)")
    parser.add_argument("--runs", type=int, default=1, help="of each cell (default: 1)")
    parser.add_argument("--limit", type=float, default=30, help="seconds until a survivor has to know (default: 30)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds of a job (default: 60)")
    parser.add_argument("--list", action="store_true", help="print the cells, and start none")
    options = parser.parse_args()
    options.lcrun, options.program = os.path.abspath(options.lcrun), os.path.abspath(options.program)
    chosen = list(cells(options))
    if options.list:
        print("\n".join(str(cell) for cell in chosen))
        return 0
    times = collections.defaultdict(list)
    failed = []
    for cell in chosen:
        for _ in range(options.runs):
            seconds, trouble, output = run(cell, options)
            if seconds is not None:
                times[cell].append(seconds)
            print(f"{str(cell):44}{'' if seconds is None else f'{seconds:.2f} s':>8}  {'; '.join(trouble) or 'ok'}", flush=True)
            if trouble:
                failed.append(cell)
                print("".join(f"    {line}\n" for line in output.splitlines()), end="", flush=True)
    table(times)
    print(f"\n{len(chosen)} cells, {options.runs} runs of each: {len(failed)} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
