"""The libraries we use, each declared only where the consumer has not declared it."""

load(":forwarding_rules.bzl", "forwarding_rules_cc", "forwarding_rules_shell")
load(":system_library.bzl", "system_absl", "system_library")

# The headers alone are for who loads the library only when it is wanted.
_SHARED = """
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "{name}",
    linkopts = ["-l{library}"],
    deps = [":headers"],
)

cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
)
"""

_GTEST = """
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "gtest",
    srcs = ["lib/libgmock.a"],
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    linkstatic = True,
    deps = [":googletest"],
)

cc_library(
    name = "googletest",
    srcs = ["lib/libgtest.a"],
    linkopts = ["-pthread"],
    linkstatic = True,
    visibility = ["//visibility:private"],
)

cc_library(
    name = "gtest_main",
    srcs = ["lib/libgmock_main.a"],
    linkstatic = True,
    deps = [":gtest"],
)
"""

_BENCHMARK = """
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "benchmark",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    linkopts = ["-lbenchmark", "-pthread"],
)

cc_library(
    name = "benchmark_main",
    srcs = ["lib/libbenchmark_main.a"],
    linkstatic = True,
    deps = [":benchmark"],
)
"""

_FFTW = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "fftw",
    srcs = ["lib/libfftw3.a"],
    hdrs = glob(["include/*.h"]),
    includes = ["include"],
    linkstatic = True,
    visibility = ["//visibility:public"],
)
"""

_ZLIB = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "zlib",
    srcs = ["lib/libz.a"],
    hdrs = glob(["include/*.h"]),
    includes = ["include"],
    linkstatic = True,
    visibility = ["//visibility:public"],
)
"""

# The libraries of the distribution, by repository: what system_library binds.
_LIBRARIES = {
    "com_github_google_benchmark": dict(
        archives = ["libbenchmark_main.a"],
        build = _BENCHMARK,
        headers = ["benchmark"],
        package = "libbenchmark-dev",
        shared = ["benchmark"],
    ),
    "com_google_googletest": dict(
        archives = ["libgtest.a", "libgmock.a", "libgmock_main.a"],
        build = _GTEST,
        headers = ["gtest", "gmock"],
        package = "libgmock-dev",
    ),
    "fftw": dict(
        archives = ["libfftw3.a"],
        build = _FFTW,
        headers = ["fftw3.h"],
        package = "libfftw3-dev",
    ),
    "libfabric": dict(
        build = _SHARED.format(name = "libfabric", library = "fabric"),
        headers = ["rdma/fabric.h"] + ["rdma/fi_%s.h" % part for part in [
            "atomic",
            "cm",
            "collective",
            "domain",
            "endpoint",
            "eq",
            "errno",
            "rma",
            "tagged",
            "trigger",
        ]],
        package = "libfabric-dev",
        shared = ["fabric"],
    ),
    "rdma_core": dict(
        build = _SHARED.format(name = "ibverbs", library = "ibverbs"),
        headers = ["infiniband"],
        package = "libibverbs-dev",
        shared = ["ibverbs"],
    ),
    "zlib": dict(
        archives = ["libz.a"],
        build = _ZLIB,
        headers = ["zlib.h", "zconf.h"],
        package = "zlib1g-dev",
    ),
}

def lci_libraries(existing):
    """Binds the libraries to the distribution's packages, for WORKSPACE and MODULE.bazel alike.

    Args:
      existing: names of repositories that are already there.
    """
    if "com_google_absl" not in existing:
        system_absl(name = "com_google_absl")
    for name, arguments in _LIBRARIES.items():
        if name not in existing:
            system_library(name = name, **arguments)

def lci_dependencies():
    """Declares, for WORKSPACE, every repository that the workspace has not declared.

    Call it after the consumer's own declarations. Repositories: rules_cc and rules_shell, which stand
    for the rules that an old Bazel has built in; com_google_absl, com_google_googletest,
    com_github_google_benchmark, libfabric, rdma_core, zlib and fftw.
    """
    existing = native.existing_rules()
    if "rules_cc" not in existing:
        forwarding_rules_cc(name = "rules_cc")
    if "rules_shell" not in existing:
        forwarding_rules_shell(name = "rules_shell")
    lci_libraries(existing)
