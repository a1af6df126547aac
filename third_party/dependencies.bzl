"""The libraries we use, each declared only where the consumer has not declared it."""

load(":system_library.bzl", "forwarding_rules_cc", "system_absl", "system_library")

_HEADER_ONLY = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "{name}",
    hdrs = glob(["include/**"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

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

def lci_dependencies():
    """Binds every library that the workspace has not declared to the distribution's package.

    Call it after the consumer's own declarations. Repositories: rules_cc, com_google_absl,
    com_google_googletest, com_github_google_benchmark, libfabric, rdma_core, zlib, libcuckoo,
    fftw.
    """
    if not native.existing_rule("rules_cc"):
        forwarding_rules_cc(name = "rules_cc")
    if not native.existing_rule("com_google_absl"):
        system_absl(name = "com_google_absl")
    if not native.existing_rule("com_google_googletest"):
        system_library(
            name = "com_google_googletest",
            archives = ["libgtest.a", "libgmock.a", "libgmock_main.a"],
            build = _GTEST,
            headers = ["gtest", "gmock"],
            package = "libgmock-dev",
        )
    if not native.existing_rule("com_github_google_benchmark"):
        system_library(
            name = "com_github_google_benchmark",
            archives = ["libbenchmark_main.a"],
            build = _BENCHMARK,
            headers = ["benchmark"],
            package = "libbenchmark-dev",
            shared = ["benchmark"],
        )
    if not native.existing_rule("libfabric"):
        system_library(
            name = "libfabric",
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
        )
    if not native.existing_rule("rdma_core"):
        system_library(
            name = "rdma_core",
            build = _SHARED.format(name = "ibverbs", library = "ibverbs"),
            headers = ["infiniband"],
            package = "libibverbs-dev",
            shared = ["ibverbs"],
        )
    if not native.existing_rule("zlib"):
        system_library(
            name = "zlib",
            archives = ["libz.a"],
            build = _ZLIB,
            headers = ["zlib.h", "zconf.h"],
            package = "zlib1g-dev",
        )
    if not native.existing_rule("libcuckoo"):
        system_library(
            name = "libcuckoo",
            build = _HEADER_ONLY.format(name = "libcuckoo"),
            headers = ["libcuckoo"],
            package = "libcuckoo-dev",
        )
    if not native.existing_rule("fftw"):
        system_library(
            name = "fftw",
            archives = ["libfftw3.a"],
            build = _FFTW,
            headers = ["fftw3.h"],
            package = "libfftw3-dev",
        )
