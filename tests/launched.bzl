"""Tests that lcrun starts on several ranks."""

load("@rules_shell//shell:sh_test.bzl", "sh_test")
load("//lci:build_defs.bzl", "lci_cc_binary")

# Below Bazel's own limit for the size (60, 300, 900 and 3600 s), so that lcrun ends the job and says who hung.
_TIMEOUT_SECONDS = {
    "enormous": 3500,
    "large": 870,
    "medium": 280,
    "small": 50,
}

def lci_launched_test(
        name,
        srcs = [],
        binary = None,
        ranks = [1, 2, 3, 4],
        args = [],
        env = {},
        lcrun_args = [],
        size = "small",
        data = [],
        deps = [],
        tags = [],
        **kwargs):
    """One test a rank count: `lcrun -n N <program> <args>`, called NAME_nN, and all of them as NAME.

    The test passes when lcrun exits 0, that is, when every rank does.

    Args:
      name: the suite, and the prefix of each test.
      srcs: the program's sources, unless there is a binary.
      binary: the program's label, instead of srcs.
      ranks: the rank counts to start it with.
      args: arguments of the program; $(location) works.
      env: variables set for lcrun and so for every rank.
      lcrun_args: further options of lcrun.
      size: of each test, with its time limit.
      data: files that the program opens.
      deps: libraries of the program, with srcs.
      tags: of each test.
      **kwargs: for the tests, such as flaky or visibility.
    """
    if bool(srcs) == bool(binary):
        fail("lci_launched_test %s: give either srcs or binary" % name)
    if srcs:
        binary = name + "_program"
        lci_cc_binary(
            name = binary,
            testonly = True,
            srcs = srcs,
            deps = deps,
        )
    for n in ranks:
        sh_test(
            name = "%s_n%d" % (name, n),
            srcs = ["//tests:run_lcrun.sh"],
            args = [
                "$(rootpath //tools/launcher:lcrun)",
                "-n",
                str(n),
                "--timeout",
                str(_TIMEOUT_SECONDS[size]),
            ] + lcrun_args + ["$(rootpath %s)" % binary] + args,
            data = [binary, "//tools/launcher:lcrun"] + data,
            env = env,
            size = size,
            tags = tags,
            **kwargs
        )
    native.test_suite(
        name = name,
        tests = [":%s_n%d" % (name, n) for n in ranks],
    )
