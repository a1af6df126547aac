"""Tests of the runtime that run in several ways: over several networks, or with several settings."""

load("//lci:build_defs.bzl", "lci_cc_library", "lci_cc_test")

def variant(env = {}, main = "@com_google_googletest//:gtest_main", tags = [], size = None):
    """A way to run the cases of a file.

    Args:
      env: the environment.
      main: the target with the main function.
      tags: of the test.
      size: of the test; None: that of the other tests of the file.

    Returns:
      the way, for runtime_test().
    """
    return struct(env = env, main = main, tags = tags, size = size)

# All data of the ranks travel as messages through libfabric.
OVER_OFI = variant(
    env = {
        "LCI_TEST_BACKEND": "ofi",
        "LCI_TEST_PROVIDER": "net",
    },
)

# All data travel as messages, through the ibv backend over simulated devices.
OVER_IBV = variant(main = "//lci/testing/ranks:fake_ibv_main")

# Large data travel as messages over shared memory.
WITHOUT_CMA = variant(env = {"LCI_SHM_CMA": "off"})

# As between distant processors: messages bypass the caches, and receivers get larger ones.
DISTANT = variant(env = {"LCI_SHM_DISTANCE": "far"})

# Programs without a mistake: LCI_CHECK=1 reports nothing.
CHECKED = variant(
    env = {
        "LCI_CHECK": "1",
        "LCI_TEST_PROVIDER": "net",
    },
)

def on_hosts(hosts, env = {}):
    """Shared memory between the ranks of each of several hosts, and libfabric between the hosts.

    Args:
      hosts: the number of the host of each rank, such as "0,0,1".
      env: the rest of the environment.

    Returns:
      the way, for runtime_test().
    """
    return variant(env = dict(env, LCI_HOSTS = hosts))

def over_sim(seeds, hosts = None, tags = [], size = None):
    """The simulated network.

    Args:
      seeds: how many orders of events are tried.
      hosts: the number of hosts, if the ranks of each share memory.
      tags: of the test.
      size: of the test.

    Returns:
      the way, for runtime_test().
    """
    env = {"LCI_TEST_SEEDS": str(seeds)}
    if hosts:
        env["LCI_SIM_HOSTS"] = str(hosts)
    return variant(env = env, main = "//lci/testing/ranks:sim_main", tags = tags, size = size)

def long_over_sim(seeds, hosts = None):
    """The simulated network, for more than 10 s, and for minutes with a sanitizer on a busy machine.

    Args:
      seeds: how many orders of events are tried.
      hosts: the number of hosts, if the ranks of each share memory.

    Returns:
      the way, for runtime_test().
    """
    return over_sim(seeds, hosts, tags = ["long"], size = "large")

def runtime_test(name, deps = [], env = {}, tags = [], variants = {}, size = "medium"):
    """The cases of <name>.cc as a test of that name, and as another test for each variant.

    The file is compiled once for all of them. With the name coll_test, the variant ofi is coll_ofi_test.

    Args:
      name: the name of the file, which ends with _test.
      deps: what the file includes besides the runtime, the interface, ranks.h and GoogleTest.
      env: the environment of the test of this name.
      tags: of all tests.
      variants: the other ways to run the cases, by name.
      size: of the tests.
    """
    subject = name[:-len("_test")]
    cases = subject + "_cases"
    lci_cc_library(
        name = cases,
        testonly = True,
        srcs = [name + ".cc"],
        tags = tags,
        # Nothing refers to the cases by name.
        alwayslink = True,
        deps = [
            ":runtime",
            "//lci/api",
            "//lci/testing/ranks",
            "@com_google_googletest//:gtest",
        ] + deps,
    )
    tests = {name: variant(env = env)}
    for suffix, each in variants.items():
        tests["%s_%s_test" % (subject, suffix)] = each
    for test, each in tests.items():
        lci_cc_test(
            name = test,
            size = each.size or size,
            env = each.env,
            tags = tags + each.tags,
            deps = [":" + cases, each.main],
        )
