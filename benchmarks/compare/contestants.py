"""The contestants of the comparison: ways of communicating, and how each measures a point."""

import csv
import io
import os
import socket
import time
from typing import Callable, NamedTuple

import points
from launching import LaunchError, run_programs
from results import parse_result

# Nothing takes as long unless it hangs.
TIMEOUT_SECONDS = 60

# mpirun of Open MPI refuses root, the user of containers, unless two variables allow it.
OPEN_MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPEN_MPI_TCP = ["--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
UCX_TCP = {"UCX_TLS": "tcp"}


# What is compared: messages, with what each library likes best on one machine; messages through the kernel's TCP, over
# the loopback; collective operations; those of ranks on several hosts; or messages of threads and of processes.
MESSAGES, TCP, COLLECTIVE, HOSTS, THREADS = "messages", "tcp", "collectives", "hosts", "threads"


class Contestant(NamedTuple):
    key: str
    name: str
    family: str  # contestants of one family share a colour
    needs: tuple  # names of the programs, as in building
    takes: Callable  # point -> bool: whether it has to do with the point
    measure: Callable  # (programs, point, iterations) -> result
    paced: bool = False  # whether `iterations` is to be chosen for it; else it measures by time
    contest: str = MESSAGES  # in which it takes part
    optional: bool = False  # a comparison without it is complete

    @property
    def is_peer(self):
        """Not the library itself, and no limit of the machine."""
        return self.family not in ("LCI", "limit")


def point_words(op, point):
    """The options that lci_perf and all programs over pair_bench.h have."""
    options = {
        "op": op,
        "test": point.test,
        "size": point.size,
        "threads": point.threads,
        "window": point.window,
        # Each rank has a core for all its threads: else it is chance whether two that wait for each other share one.
        "bind": "core",
    }
    words = [word for name, value in options.items() for word in ("--" + name, str(value))]
    return words + ["--read"] * point.read


def lci_command(programs, op, devices, completion, point, iterations, ranks=2):
    words = point_words(op, point) + ["--devices", devices, "--completion", completion]
    words += ["--iters", str(iterations), "--format", "json"]
    return [programs["lcrun"], "-n", str(ranks), programs["lci_perf"]] + words


def lci(key, name, op, devices, completion, takes, contest=MESSAGES, provider=None):
    """provider: of libfabric, over TCP; without one, that which the library chooses."""
    environment = {"LCI_ATTR_BACKEND": "ofi"} if contest == TCP else {}
    if provider is not None:
        environment["LCI_ATTR_OFI_PROVIDER_NAME"] = provider

    def measure(programs, point, iterations):
        command = lci_command(programs, op, devices, completion, point, iterations)
        return parse_result(run_programs([command], TIMEOUT_SECONDS, environment))

    return Contestant(key, name, "LCI", ("lcrun", "lci_perf"), takes, measure, paced=True, contest=contest)


def lci_mode(key, name, op, completion, devices, takes):
    """In the comparison of threads with processes. devices: of two ranks; None: a pair of processes for each thread."""

    def measure(programs, point, iterations):
        ranks, threads = (2 * point.threads, 1) if devices is None else (2, point.threads)
        command = lci_command(programs, op, devices or "shared", completion, point._replace(threads=threads), iterations,
                              ranks)
        return parse_result(run_programs([command], TIMEOUT_SECONDS))

    return Contestant(key, name, "LCI", ("lcrun", "lci_perf"), takes, measure, paced=True, contest=THREADS)


def collective_words(point):
    """The options that lci_perf and mpi_collectives have."""
    size = [] if point.test == "barrier" else ["--size", str(point.size)]
    overlap = ["--overlap", "--progress-calls", str(points.PROGRESS_CALLS)] if point.overlap else []
    return ["--op", point.test] + size + ["--bind", "core"] + overlap


def collective_result(point, text):
    result = parse_result(text, ("latency_us_mean", "messages_per_s"))
    overlap = result.get(points.OVERLAP.field)
    if point.overlap and not (isinstance(overlap, (int, float)) and 0 <= overlap <= 100):
        raise ValueError("printed %r as %s" % (overlap, points.OVERLAP.field))
    return result


def lci_collective(programs, point, iterations):
    command = [programs["lcrun"], "-n", str(point.ranks), programs["lci_perf"]] + collective_words(point)
    command += ["--iters", str(iterations), "--format", "json"]
    return collective_result(point, run_programs([command], TIMEOUT_SECONDS))


def processors():
    return len(os.sched_getaffinity(0))


def mpi_collective(key, name, launcher, options, crowded, takes):
    """crowded: further options where there are more ranks than processors."""
    program = "mpi_collectives_" + key

    def measure(programs, point, _iterations):
        command = [programs[launcher], "-n", str(point.ranks)] + options
        command += crowded if point.ranks > processors() else []
        command += [programs[program]] + collective_words(point) + ["--seconds", str(point.seconds)]
        return collective_result(point, run_programs([command], TIMEOUT_SECONDS, OPEN_MPI_ENVIRONMENT))

    return Contestant(key + "_collective", name, name, (launcher, program), takes, measure, contest=COLLECTIVE)


def host_result(programs, point, words, environment=None):
    """What the command prints that is started on the first of the hosts. There, ranks are bound to no processor: those of
    several hosts do not know of each other, and would be on the same ones."""
    command = programs["hosts"].command_on_first(words)
    return collective_result(point, run_programs([command], TIMEOUT_SECONDS, environment))


def unbound_words(point):
    return collective_words(point)[:-1] + ["none"]


def ranks_by_host(programs, point):
    each = point.ranks // point.hosts
    return ",".join("%s:%d" % (name, each) for name in programs["hosts"].names)


def lci_between_hosts(programs, point, iterations):
    hosts = programs["hosts"]
    words = [programs["lcrun"], "--launch-agent", hosts.agent + " %h", "-H", ranks_by_host(programs, point)]
    words += [programs["lci_perf"]] + unbound_words(point) + ["--iters", str(iterations), "--format", "json"]
    return host_result(programs, point, words)


def mpi_between_hosts(key, name, launcher, options, environment, takes):
    """options: (hosts, "host:ranks,host:ranks") -> of the launcher."""
    program = "mpi_collectives_" + key

    def measure(programs, point, _iterations):
        words = [programs[launcher], "-n", str(point.ranks)]
        words += options(programs["hosts"], ranks_by_host(programs, point)) + [programs[program]]
        words += unbound_words(point) + ["--seconds", str(point.seconds)]
        return host_result(programs, point, words, environment)

    return Contestant(key + "_hosts", name + ", hosts", name, (launcher, program), takes, measure, contest=HOSTS)


def open_mpi_hosts(hosts, where):
    return ["--mca", "plm_rsh_agent", hosts.agent, "--host", where, "--bind-to", "none", "--oversubscribe", "--mca",
            "mpi_yield_when_idle", "1", "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0"]


def mpich_hosts(hosts, where):
    return ["-launcher", "ssh", "-launcher-exec", hosts.agent, "-hosts", where, "-bind-to", "none", "-iface", "eth0"]


def pair_words(op, point):
    return point_words(op, point) + ["--seconds", str(point.seconds)]


def one_vci_a_thread(point):
    """Of an MPICH that was built for several: another one aborts."""
    return {"MPIR_CVAR_CH4_NUM_VCIS": str(point.threads)}


def mpi(library, name, op, launcher, options, program, takes, contest=MESSAGES, optional=False,
        environment=lambda _point: OPEN_MPI_ENVIRONMENT):
    """environment: point -> of the launcher."""

    # The program binds its threads itself, so that every library has them on the same processors.
    def measure(programs, point, _iterations):
        command = [programs[launcher], "-n", "2"] + options + [programs[program]] + pair_words(op, point)
        return parse_result(run_programs([command], TIMEOUT_SECONDS, environment(point)))

    key = "_".join([program.replace("mpi_bench_", ""), op] + [contest] * (contest != MESSAGES))
    return Contestant(key, name, library, (launcher, program), takes, measure, contest=contest, optional=optional)


def forked(key, name, family, program, op, takes, window=None, environment=None, contest=MESSAGES):
    """A program that is both ranks."""

    def measure(programs, point, _iterations):
        if window is not None:
            point = point._replace(window=window)
        command = [programs[program]] + pair_words(op, point)
        return parse_result(run_programs([command], TIMEOUT_SECONDS, environment))

    return Contestant(key, name, family, (program,), takes, measure, contest=contest)


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def wait_until_listening(port, timeout=10.0):
    """Without connecting: a server that serves one client would take that for it."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            try:
                with open(table, encoding="ascii") as file:
                    for line in file.readlines()[1:]:
                        words = line.split()
                        if words[3] == "0A" and int(words[1].rsplit(":", 1)[1], 16) == port:
                            return
            except FileNotFoundError:
                continue
        time.sleep(0.005)
    raise LaunchError("ucx_perftest: its server does not listen on port %d" % port)


def parse_perftest(text, point):
    """ucx_perftest's CSV. With several threads it has fewer columns than its heading; the last is the rate of all."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    try:
        numbers = [float(word) for word in rows[-1]]
        percentile, rate = numbers[1], numbers[-1]
    except (IndexError, ValueError):
        raise ValueError("ucx_perftest printed %r" % text[-200:]) from None
    if len(numbers) not in (4, 8) or not (percentile > 0 and rate > 0):
        raise ValueError("ucx_perftest printed %r" % text[-200:])
    result = {
        "op": "tag",
        "test": point.test,
        "size": point.size,
        "threads": point.threads,
        "messages_per_s": rate,
        "bytes_per_s": rate * point.size,
    }
    if point.test == "latency":
        result["latency_us_p50"] = percentile
        # It counts one message for each round trip, and half a round trip is one way.
        result["latency_us_mean"] = numbers[2] if len(numbers) == 8 else point.threads / rate * 1e6
    return result


def measure_perftest(programs, point, iterations):
    if point.test != "latency":
        iterations *= point.window  # it counts messages
    port = str(free_port())
    common = [programs["ucx_perftest"], "-p", port, "-T", str(point.threads)]
    client = common + [
        "127.0.0.1",
        "-t",
        "tag_lat" if point.test == "latency" else "tag_bw",
        "-s",
        str(point.size),
        "-n",
        str(iterations),
        "-w",
        str(max(1, iterations // 10)),
        "-f",
        "-v",
    ]
    server = common + ["-c", "0"]
    client += ["-c", "1"]
    text = run_programs([server, client], TIMEOUT_SECONDS, ready=lambda: wait_until_listening(int(port)))
    return parse_perftest(text, point)


def small(point):
    return point.size <= 1024 and point.test != "bandwidth"


def always(_point):
    return True


def no_bandwidth(point):
    return point.test != "bandwidth"


def several_threads(point):
    return point.threads > 1


def several_small(point):
    return several_threads(point) and no_bandwidth(point)


def one_thread(point):
    return point.threads == 1


def a_processor_each(point):
    return point.ranks <= processors()


CONTESTANTS = [
    # As the peers' programs do: a function is called for each active message (UCX), an object is waited for
    # for a window of receives (MPI, UCX tag).
    lci("lci_am", "LCI active message", "am", "dedicated", "handler", lambda point: point.test != "bandwidth"),
    lci("lci_queue", "LCI am, completion queue", "am", "dedicated", "queue", small),
    lci("lci_send", "LCI send/receive", "send", "dedicated", "sync", always),
    lci("lci_shared", "LCI am, one shared device", "am", "shared", "handler", lambda point: point.threads > 1),
    mpi("Open MPI", "Open MPI", "single", "mpirun.openmpi", ["--bind-to", "none"], "mpi_bench_openmpi", one_thread),
    mpi("Open MPI", "Open MPI, THREAD_MULTIPLE", "multiple", "mpirun.openmpi", ["--bind-to", "none"],
        "mpi_bench_openmpi", always),
    mpi("MPICH", "MPICH", "single", "mpirun.mpich", ["-bind-to", "none"], "mpi_bench_mpich", one_thread),
    mpi("MPICH", "MPICH, THREAD_MULTIPLE", "multiple", "mpirun.mpich", ["-bind-to", "none"], "mpi_bench_mpich",
        always),
    forked("ucx_tag", "UCX tag", "UCX", "ucx_bench", "tag", always),
    forked("ucx_am", "UCX active message", "UCX", "ucx_bench", "am", small),
    Contestant("ucx_perftest", "UCX, its own ucx_perftest", "UCX", ("ucx_perftest",),
               lambda point: small(point) and point.size == 8 and point.threads <= 2, measure_perftest, paced=True),
    forked("line", "limit: a cache line", "limit", "physical", "line",
           lambda point: point.test == "latency" and point.size == 8 and point.threads == 1),
    forked("ring", "limit: a ring in shared memory", "limit", "physical", "ring",
           lambda point: point.test != "bandwidth" and point.size <= 56, window=4096),
    forked("copy", "limit: pipelined copy", "limit", "physical", "copy",
           lambda point: point.threads == 1 and point.test != "rate" and point.size > 56 and not point.read),
    forked("vm_readv", "limit: process_vm_readv", "limit", "physical", "vm_readv",
           lambda point: point.threads == 1 and point.test == "bandwidth"),
    # Through the kernel's TCP, as between machines.
    lci("lci_am_tcp", "LCI am", "am", "dedicated", "handler", lambda point: point.test != "bandwidth", TCP),
    lci("lci_send_tcp", "LCI send/receive", "send", "dedicated", "sync", always, TCP),
    lci("lci_am_rxm", "LCI am, tcp;ofi_rxm", "am", "dedicated", "handler", lambda point: point.test != "bandwidth", TCP,
        "tcp;ofi_rxm"),
    lci("lci_send_rxm", "LCI send/receive, tcp;ofi_rxm", "send", "dedicated", "sync", always, TCP, "tcp;ofi_rxm"),
    mpi("Open MPI", "Open MPI, TCP", "single", "mpirun.openmpi", OPEN_MPI_TCP, "mpi_bench_openmpi", one_thread, TCP),
    mpi("Open MPI", "Open MPI, TCP, MULTIPLE", "multiple", "mpirun.openmpi", OPEN_MPI_TCP, "mpi_bench_openmpi", always,
        TCP),
    forked("ofi_tcp", "libfabric, tcp;ofi_rxm", "libfabric", "ofi_bench", "tcp;ofi_rxm", one_thread, contest=TCP),
    forked("ofi_net", "libfabric, net", "libfabric", "ofi_bench", "net", one_thread, contest=TCP),
    forked("ucx_tag_tcp", "UCX tag, TCP", "UCX", "ucx_bench", "tag", always, environment=UCX_TCP, contest=TCP),
    forked("ucx_am_tcp", "UCX active message, TCP", "UCX", "ucx_bench", "am", small, environment=UCX_TCP, contest=TCP),
    # Threads against processes: messages that call a function, and receives that one object is waited for.
    lci_mode("lci_am_processes", "LCI am, processes", "am", "handler", None, no_bandwidth),
    lci_mode("lci_am_own", "LCI am, own devices", "am", "handler", "dedicated", several_small),
    lci_mode("lci_am_one", "LCI am, one device", "am", "handler", "shared", several_small),
    lci_mode("lci_send_processes", "LCI send, processes", "send", "sync", None, always),
    lci_mode("lci_send_own", "LCI send, own devices", "send", "sync", "dedicated", several_threads),
    lci_mode("lci_send_one", "LCI send, one device", "send", "sync", "shared", several_threads),
    mpi("MPICH", "MPICH, one VCI a thread", "multiple", "mpirun_vci", ["-bind-to", "none"], "mpi_bench_mpich_vci",
        always, THREADS, optional=True, environment=one_vci_a_thread),
    mpi("Open MPI", "Open MPI, threads", "multiple", "mpirun.openmpi", ["--bind-to", "none"], "mpi_bench_openmpi",
        always, THREADS),
    forked("ucx_tag_threads", "UCX tag, a worker a thread", "UCX", "ucx_bench", "tag", always, contest=THREADS),
    forked("ucx_am_threads", "UCX am, a worker a thread", "UCX", "ucx_bench", "am", small, contest=THREADS),
    # Blocking calls, one after the other, each rank on a processor; non-blocking ones where computation is to hide them.
    Contestant("lci_collective", "LCI", "LCI", ("lcrun", "lci_perf"), always, lci_collective, paced=True,
               contest=COLLECTIVE),
    mpi_collective("openmpi", "Open MPI", "mpirun.openmpi", ["--bind-to", "none", "--oversubscribe"],
                   ["--mca", "mpi_yield_when_idle", "1"], always),
    # A rank of MPICH that waits does not yield: four on two processors take up to 20 ms a call.
    mpi_collective("mpich", "MPICH", "mpirun.mpich", ["-bind-to", "none"], [], a_processor_each),
    Contestant("lci_hosts", "LCI, hosts", "LCI", ("lcrun", "lci_perf"), always, lci_between_hosts, paced=True,
               contest=HOSTS),
    mpi_between_hosts("openmpi", "Open MPI", "mpirun.openmpi", open_mpi_hosts, OPEN_MPI_ENVIRONMENT, always),
    # Left to itself, UCX takes the hosts for one, as they have one kernel: 11 ms for 8 bytes.
    mpi_between_hosts("mpich", "MPICH", "mpirun.mpich", mpich_hosts, {"UCX_TLS": "tcp,self"}, a_processor_each),
]


def by_key(key):
    return next(contestant for contestant in CONTESTANTS if contestant.key == key)


def reference_for(point, contest=MESSAGES) -> str:
    """The key of the contestant that the others are compared with."""
    if contest == COLLECTIVE:
        return "lci_collective"
    if contest == HOSTS:
        return "lci_hosts"
    if contest == THREADS:
        return "lci_send_processes" if point.test == "bandwidth" else "lci_am_processes"
    return "_".join(["lci", "send" if point.test == "bandwidth" else "am"] + [contest] * (contest != MESSAGES))


class Paces:
    """How many iterations make a point's time, for programs that do not measure by time.

    With more threads than cores some libraries have two paces, a thousandfold apart, and a guess by the faster one would
    never end. So the slowest launch so far counts; but at the fastest pace there is at least a fraction of the time.
    """

    FIRST = 50
    MOST = 5_000_000
    FRACTION = 1 / 30

    def __init__(self):
        self._seen = {}  # (slowest, fastest), in iterations a second

    def iterations(self, key, point) -> int:
        slowest, fastest = self._seen.get((key, point), (0, 0))
        wanted = point.seconds * max(slowest, fastest * self.FRACTION)
        return max(self.FIRST, min(self.MOST, int(wanted)))

    def learn(self, key, point, result):
        pace = result["messages_per_s"] / point.threads / point.messages_per_iteration
        slowest, fastest = self._seen.get((key, point), (pace, pace))
        self._seen[key, point] = min(pace, slowest), max(pace, fastest)
