"""This monorepo's Abseil: targets of the customary names over the system's shared libraries."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def absl_targets(libraries):
    """Declares the targets of one package.

    Args:
      libraries: target name: the shared libraries that hold it, without "absl_".
    """
    for name, parts in libraries.items():
        cc_library(
            name = name,
            # How hello.cc knows whose Abseil it was built with.
            defines = ["MONOREPO_ABSEIL"],
            linkopts = ["-labsl_" + part for part in parts],
            visibility = ["//visibility:public"],
        )
