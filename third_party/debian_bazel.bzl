"""What Debian's Bazel (bazel-bootstrap) needs to work without a network.

Its embedded tools lack the repositories that Bazel's own builds carry; Debian installs them beside it.
Any other Bazel brings its own, and this macro leaves it alone.
"""

def _coverage_stub_impl(repository_ctx):
    repository_ctx.file("WORKSPACE", "workspace(name = \"remote_coverage_tools\")\n")
    repository_ctx.file("BUILD.bazel", "\n".join([
        "package(default_visibility = [\"//visibility:public\"])",
        "filegroup(name = \"coverage_report_generator\")",
        "filegroup(name = \"lcov_merger\")",
        "",
    ]))

# Every test rule names these two tools, and only `bazel coverage` runs them.
_coverage_stub = repository_rule(
    implementation = _coverage_stub_impl,
    doc = "Two empty targets in place of a download.",
)

def _folder_impl(repository_ctx):
    for entry in repository_ctx.path(repository_ctx.attr.path).readdir():
        repository_ctx.symlink(entry, entry.basename)

# Newer versions of Bazel have no built-in local_repository.
_folder = repository_rule(
    implementation = _folder_impl,
    attrs = {"path": attr.string(mandatory = True)},
    doc = "An installed folder as a repository.",
    local = True,
)

def debian_bazel_repositories():
    """Declares the repositories that Debian's Bazel takes from the distribution's packages."""
    if native.bazel_version and native.bazel_version != "no_version":
        return
    existing = native.existing_rules()
    if "platforms" not in existing:
        _folder(
            name = "platforms",
            path = "/usr/share/bazel/tools/platforms",
        )
    if "rules_java" not in existing:
        _folder(
            name = "rules_java",
            path = "/usr/share/bazel/rules/java",
        )
    if "remote_coverage_tools" not in existing:
        _coverage_stub(name = "remote_coverage_tools")
