"""The C++ rules of this repository: cc_* with our language level and warnings.

A consumer never reads our .bazelrc, so everything a target needs to compile is said here.
Third-party headers come in with -isystem (`includes` in their BUILD files) and stay silent.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

LCI_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Wconversion",
    # Position independent code is otherwise compiled as if every function could be replaced at load
    # time, so that none of another's own file is inlined: a third of the instructions of a message.
    "-fno-semantic-interposition",
    # Every access to a thread-local variable is otherwise a call, too, for which all registers have to be saved. (A
    # shared object that has the library in it can still be loaded at run time: the few bytes fit into what the loader
    # keeps free.)
    "-ftls-model=initial-exec",
    # Bazel keeps it, which costs a register and three instructions a call: 4 % of a message's time.
    "-fomit-frame-pointer",
]

# std::thread needs it on systems whose libc keeps pthread apart.
LCI_LINKOPTS = ["-pthread"]

# Names that the public headers do not declare are seen by the library alone: they cannot meet those
# of others in a process, and the compiler knows where they are. (The doubles and instruments of tests
# replace functions of other libraries, which must see them.)
_HIDDEN = ["-fvisibility=hidden"]

def lci_cc_library(name, copts = [], linkopts = [], **kwargs):
    """A library. Always an archive: no part of the library is loaded as a shared object.

    Args:
      name: the target.
      copts: after ours, so that they win.
      linkopts: after ours.
      **kwargs: as for cc_library.
    """
    cc_library(
        name = name,
        copts = LCI_COPTS + ([] if kwargs.get("testonly") else _HIDDEN) + copts,
        linkopts = LCI_LINKOPTS + linkopts,
        linkstatic = kwargs.pop("linkstatic", True),
        **kwargs
    )

def lci_cc_binary(name, copts = [], linkopts = [], **kwargs):
    """A program.

    Args:
      name: the target.
      copts: after ours, so that they win.
      linkopts: after ours.
      **kwargs: as for cc_binary.
    """
    cc_binary(
        name = name,
        copts = LCI_COPTS + copts,
        linkopts = LCI_LINKOPTS + linkopts,
        linkstatic = kwargs.pop("linkstatic", True),
        **kwargs
    )

def lci_cc_test(name, copts = [], linkopts = [], size = "small", **kwargs):
    """A test, small (60 s) unless it says otherwise.

    Args:
      name: the target.
      copts: after ours, so that they win.
      linkopts: after ours.
      size: as for cc_test.
      **kwargs: as for cc_test.
    """
    cc_test(
        name = name,
        copts = LCI_COPTS + copts,
        linkopts = LCI_LINKOPTS + linkopts,
        linkstatic = kwargs.pop("linkstatic", True),
        size = size,
        **kwargs
    )
