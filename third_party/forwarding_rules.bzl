"""The repositories rules_cc and rules_shell over the rules that an old Bazel has built in.

Newer versions of Bazel have no built-in rules for C++ and shell: every file loads them from these two
repositories, which MODULE.bazel takes from the registry. A WORKSPACE, which only old versions read,
has them made here. (The rules_cc that Debian ships asks more of Bazel than the Bazel that Debian ships
has.)
"""

_CC_RULES = [
    "cc_binary",
    "cc_import",
    "cc_library",
    "cc_proto_library",
    "cc_test",
    "cc_toolchain",
    "cc_toolchain_suite",
    "fdo_prefetch_hints",
    "fdo_profile",
    "objc_library",
]

_CC_BUILD = """
package(default_visibility = ["//visibility:public"])

exports_files(["defs.bzl", "find_cc_toolchain.bzl"])

alias(
    name = "current_cc_toolchain",
    actual = "@bazel_tools//tools/cpp:current_cc_toolchain",
)
"""

_FIND_CC_TOOLCHAIN = """
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", _find = "find_cpp_toolchain")

find_cc_toolchain = _find
find_cpp_toolchain = _find

def use_cc_toolchain(mandatory = False):
    return ["@bazel_tools//tools/cpp:toolchain_type"]
"""

# A file cannot export a name that it reads as a built-in one.
_BUILT_IN = """
built_in_cc_common = cc_common
built_in_cc_info = CcInfo
"""

def _forwarding_rules_cc_impl(repository_ctx):
    files = {
        "WORKSPACE": "workspace(name = \"rules_cc\")\n",
        "BUILD.bazel": "",
        "cc/BUILD.bazel": _CC_BUILD,
        "cc/common/BUILD.bazel": "",
        "cc/common/built_in.bzl": _BUILT_IN,
        "cc/common/cc_common.bzl": "load(\":built_in.bzl\", \"built_in_cc_common\")\n" +
                                   "cc_common = built_in_cc_common\n",
        "cc/common/cc_info.bzl": "load(\":built_in.bzl\", \"built_in_cc_info\")\n" +
                                 "CcInfo = built_in_cc_info\n",
        "cc/defs.bzl": "".join(["%s = native.%s\n" % (rule, rule) for rule in _CC_RULES]),
        "cc/find_cc_toolchain.bzl": _FIND_CC_TOOLCHAIN,
    }
    for path, text in files.items():
        repository_ctx.file(path, text)

forwarding_rules_cc = repository_rule(
    implementation = _forwarding_rules_cc_impl,
    doc = "@rules_cc over the built-in rules.",
)

def _forwarding_rules_shell_impl(repository_ctx):
    repository_ctx.file("WORKSPACE", "workspace(name = \"rules_shell\")\n")
    repository_ctx.file("BUILD.bazel", "")
    repository_ctx.file("shell/BUILD.bazel", "")
    for rule in ["sh_binary", "sh_library", "sh_test"]:
        repository_ctx.file("shell/%s.bzl" % rule, "%s = native.%s\n" % (rule, rule))

forwarding_rules_shell = repository_rule(
    implementation = _forwarding_rules_shell_impl,
    doc = "@rules_shell over the built-in rules.",
)
