#!/usr/bin/env python3
"""system_calls.py LCRUN TOUR_PROGRAM [--bootstrap=tcp|file] [--hidden] [--only=CALL]...: each system call of a rank fails, once
or always.

strace lets the calls of rank 1 fail, of a job of two ranks that share memory. Whatever fails, the job ends, by itself: all
is complete, or a line says why not. No rank crashes, and no result is wrong. With --hidden, rank 1 has a user namespace of
its own, so that the ranks pass each other their memory.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

TIMEOUT = 150  # seconds; longer than a rank waits for the start of its job
MARK = "the tour begins"

# The error of one failing call, where EPERM is none that the call has.
ERRORS = collections.defaultdict(lambda: "EPERM", {
    "accept4": "EMFILE", "bind": "EADDRINUSE", "clone": "EAGAIN", "clone3": "EAGAIN",
    "connect": "ECONNREFUSED", "epoll_create1": "EMFILE", "epoll_ctl": "ENOMEM", "eventfd2": "EMFILE", "fcntl": "EMFILE",
    "ftruncate": "ENOSPC", "madvise": "ENOMEM", "memfd_create": "ENOMEM", "mmap": "ENOMEM", "mprotect": "ENOMEM",
    "munmap": "ENOMEM", "openat": "EMFILE", "pidfd_open": "EMFILE", "poll": "ENOMEM", "process_vm_readv": "EFAULT",
    "process_vm_writev": "EFAULT", "read": "EIO", "recvfrom": "ECONNRESET", "recvmsg": "ECONNRESET",
    "sendmsg": "ECONNRESET", "sendto": "ECONNRESET", "socket": "EMFILE", "write": "ENOSPC",
})
# Calls that some systems do not have, or refuse.
MAY_BE_MISSING = ["fchmod", "getrandom", "madvise", "membarrier", "memfd_create", "pidfd_open", "prctl", "process_vm_readv",
                  "process_vm_writev", "sched_getaffinity"]
# Not the library's, or they can't fail. (brk(2) answers with an address.)
NOT_TRIED = {"brk", "exit", "exit_group", "futex", "getpid", "gettid", "getuid", "geteuid", "rseq", "rt_sigaction", "rt_sigprocmask",
             "rt_sigreturn", "sched_yield", "set_robust_list", "tgkill", "clock_nanosleep", "restart_syscall"}
MOST_TIMES = 6  # of one call, that it fails once


class Job:
    """A job of two ranks, rank 1 of which runs below `tracer`."""

    def __init__(self, lcrun, program, tracer, environment):
        words = " ".join("'%s'" % word for word in tracer)  # of the shell
        command = 'if [ "$LCI_RANK" = 1 ]; then exec %s "$0"; else exec "$0"; fi' % words
        self.process = subprocess.Popen([lcrun, "-n", "2", "bash", "-c", command, program], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                        env=dict(os.environ, **environment))
        try:
            self.output, self.error = self.process.communicate(timeout=TIMEOUT)
            self.ended = True
        except subprocess.TimeoutExpired:
            self.ended = False
            self.process.terminate()  # lcrun ends its ranks
            self.output, self.error = self.process.communicate()
        self.code = self.process.returncode

    def complaint(self):
        """What is wrong with it; empty: nothing."""
        if not self.ended:
            return "it did not end"
        if re.search(r"signal (4|7|8|11) ", self.error):
            return "a rank has crashed"
        if "does not hold" in self.error:
            return "a result is wrong"
        if self.code == 0:
            return "" if self.output.count("complete ") == 2 else "it ended with 0, but is not complete"
        return "" if re.search(r"\blci\b|^exception: ", self.error, re.MULTILINE) else "nothing says why it failed"


def calls_of(job_of, folder):
    """{system call: (the number of the first one, the last one's)}, of a thread: strace counts the calls of each."""
    whole = job_of(["strace", "-ff", "-o", os.path.join(folder, "trace")])
    if whole.complaint() or whole.code != 0:
        sys.exit("system_calls.py: the job fails without a fault: %s" % whole.error)
    before, last = collections.Counter(), collections.Counter()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), errors="replace") as file:
            begun, marked, behind = file.read().rpartition(MARK)
        calls = [collections.Counter(re.findall(r"^(\w+)\(", part, re.MULTILINE)) for part in (begun, behind)]
        if marked:  # the first thread; the others begin behind the mark
            before = calls[0]
        for call in calls[1]:
            last[call] = max(last[call], calls[0][call] + calls[1][call])
    return {call: (before[call] + 1, last[call]) for call in last if call not in NOT_TRIED and last[call] > before[call]}


def faults_of(call, first, last):
    for number in range(first, min(last, first + MOST_TIMES - 1) + 1):
        yield "%s:error=%s:when=%d" % (call, ERRORS[call], number)
    if call in MAY_BE_MISSING:
        for error in ("ENOSYS", "EPERM"):
            yield "%s:error=%s:when=%d+" % (call, error, first)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lcrun")
    parser.add_argument("program")
    parser.add_argument("--bootstrap", choices=["tcp", "file"], default="tcp")
    parser.add_argument("--hidden", action="store_true")
    parser.add_argument("--only", action="append", metavar="CALL")
    arguments = parser.parse_args()
    if not shutil.which("strace"):
        print("SKIPPED, NOTHING WAS CHECKED: there is no strace (tools/setup test)")
        return
    namespace = ["unshare", "--user"] if arguments.hidden else []
    if namespace and subprocess.run(namespace + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("SKIPPED, NOTHING WAS CHECKED: user namespaces are not permitted here")
        return
    environment = {"LCI_ATTR_BACKEND": "shm", "LCI_BOOT": arguments.bootstrap}
    lcrun, program = os.path.abspath(arguments.lcrun), os.path.abspath(arguments.program)

    def job_of(tracer):
        return Job(lcrun, program, tracer + namespace, environment)

    with tempfile.TemporaryDirectory() as folder:
        calls = calls_of(job_of, folder)
    tried = failed = 0
    for call, (first, last) in sorted(calls.items()):
        if arguments.only and call not in arguments.only:
            continue
        for fault in faults_of(call, first, last):
            job = job_of(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", "inject=" + fault])
            tried += 1
            complaint = job.complaint()
            if complaint:
                failed += 1
                print("FAILED: %s: %s (lcrun ended with %d)\n%s" % (fault, complaint, job.code, job.error), flush=True)
    print("%d faults of %d system calls tried, %d failed" % (tried, len(calls), failed))
    if failed or tried == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
