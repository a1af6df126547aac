"""Builds the programs: that of LCI with Bazel, those of the peers with their own compilers."""

import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

OURS = {
    "lcrun": "//tools/launcher:lcrun",
    "lci_perf": "//benchmarks/perf:lci_perf",
    "physical": "//benchmarks/compare:physical",
    "cacheline_probe": "//benchmarks/compare:cacheline_probe",
}

# Installed as they are used: the program, and the Debian package that has it.
INSTALLED = {
    "mpirun.openmpi": "openmpi-bin",
    "mpirun.mpich": "mpich",
    "ucx_perftest": "ucx-utils",
}

FLAGS = ["-std=c++17", "-O3", "-pthread", "-I", ROOT]
# MPI's C++ interface is long gone from the standard, and its headers are full of warnings.
MPI_FLAGS = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]

# Sources of all programs, in addition to their own.
COMMON = ["pair_options.cc"] + ["../../tools/cli/%s.cc" % name for name in ("help", "parse", "values")]

# Of the computation that lci_perf and mpi_collectives overlap with communication.
OVERLAP = ["../perf/%s.cc" % name for name in ("clock", "overlap")]

# Programs compiled here: compiler, sources, further flags, and the package of the library.
COMPILED = {
    "mpi_bench_openmpi": ("mpicxx.openmpi", ["mpi_bench.cc"], MPI_FLAGS, "libopenmpi-dev"),
    "mpi_bench_mpich": ("mpicxx.mpich", ["mpi_bench.cc"], MPI_FLAGS, "libmpich-dev"),
    "mpi_collectives_openmpi": ("mpicxx.openmpi", ["mpi_collectives.cc"] + OVERLAP, MPI_FLAGS, "libopenmpi-dev"),
    "mpi_collectives_mpich": ("mpicxx.mpich", ["mpi_collectives.cc"] + OVERLAP, MPI_FLAGS, "libmpich-dev"),
    "ofi_bench": ("g++", ["ofi_bench.cc", "two_processes.cc"], ["-lfabric"], "libfabric-dev"),
    "ucx_bench": ("g++", ["ucx_bench.cc", "two_processes.cc"], ["-lucp", "-lucs"], "libucx-dev"),
}


# Those of an MPICH with several virtual communication interfaces (VCIs), which Debian's is not built with.
VCI = ("mpirun_vci", "mpi_bench_mpich_vci")


class BuildError(Exception):
    """Something that has to be there could not be built; the message holds the compiler's."""


def install():
    """Everything that is missing, with apt."""
    subprocess.run([os.path.join(ROOT, "tools/setup"), "build", "compare"], check=True)


def build_lci():
    """Paths of our own programs, by name."""
    done = subprocess.run(["bazel", "build", "--compilation_mode=opt"] + sorted(OURS.values()), cwd=ROOT, check=False)
    if done.returncode != 0:
        raise BuildError("bazel build failed; its reason stands above")
    return {
        name: os.path.join(ROOT, "bazel-bin", label[2:].replace(":", "/"))
        for name, label in OURS.items()
    }


def compile_peer(folder, name, compiler, sources, flags):
    """(path, None), or (None, why it does not build)."""
    path = os.path.join(folder, name)
    command = [compiler] + FLAGS + [os.path.join(HERE, source) for source in sources + COMMON] + flags + ["-o", path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 0:
        return path, None
    lines = done.stdout.strip().splitlines() or ["the compiler does not say why"]
    errors = [line for line in lines if "error" in line] or lines
    return None, errors[0]


def find_vci(folder, prefix):
    """As find_peers, of the MPICH that is installed at `prefix`; None: there is none."""
    if prefix is None:
        return {}, {name: "no MPICH with several VCIs was named (--mpich)" for name in VCI}
    os.makedirs(folder, exist_ok=True)
    flags = MPI_FLAGS + ["-Wl,-rpath," + os.path.join(prefix, "lib")]
    compiler = os.path.join(prefix, "bin/mpicxx")
    if not os.path.exists(compiler):
        raise BuildError("--mpich %s: there is no %s" % (prefix, compiler))
    path, problem = compile_peer(folder, "mpi_bench_mpich_vci", compiler, ["mpi_bench.cc"], flags)
    if problem is not None:
        raise BuildError("--mpich %s: mpi_bench does not build: %s" % (prefix, problem))
    return {"mpirun_vci": os.path.join(prefix, "bin/mpirun"), "mpi_bench_mpich_vci": path}, {}


def find_peers(folder):
    """(paths by name, reasons by name): the peers' programs, compiled into the folder, and why others are not there."""
    os.makedirs(folder, exist_ok=True)
    paths, reasons = {}, {}
    for name, package in INSTALLED.items():
        path = shutil.which(name)
        if path is None:
            reasons[name] = "not installed (package %s)" % package
        else:
            paths[name] = path
    for name, (compiler, sources, flags, package) in COMPILED.items():
        if shutil.which(compiler) is None:
            reasons[name] = "%s is not installed (package %s)" % (compiler, package)
            continue
        path, problem = compile_peer(folder, name, compiler, sources, flags)
        if problem is None:
            paths[name] = path
        else:
            reasons[name] = "does not build (package %s): %s" % (package, problem)
    return paths, reasons
