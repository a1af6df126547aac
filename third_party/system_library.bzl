"""Repository rules that bind a library installed by the distribution to its customary labels.

Nothing is downloaded or compiled. The headers are linked into the repository one library at a time, so
that Bazel sees them change and no target sees another library's. A repository is only looked at when a
target in it is used; if the package is not installed, the error says which one to install.
"""

def _machine(repository_ctx):
    result = repository_ctx.execute(["uname", "-m"])
    return result.stdout.strip()

def _library_directories(repository_ctx):
    return [
        "/usr/lib/%s-linux-gnu" % _machine(repository_ctx),
        "/usr/lib64",
        "/usr/lib",
    ]

def _include_directories(repository_ctx):
    return [
        "/usr/include",
        "/usr/include/%s-linux-gnu" % _machine(repository_ctx),
    ]

def _missing(repository_ctx, what, package):
    fail("\n\n@%s: %s is not there. Install the package %s (Debian, Ubuntu: apt-get install %s).\n" %
         (repository_ctx.name, what, package, package))

def _find(repository_ctx, directories, name, package):
    for directory in directories:
        path = repository_ctx.path(directory + "/" + name)
        if path.exists:
            return path
    _missing(repository_ctx, name, package)
    return None

def _link_headers(repository_ctx, headers, package):
    directories = _include_directories(repository_ctx)
    for header in headers:
        path = _find(repository_ctx, directories, header, package)
        repository_ctx.symlink(path, "include/" + header)

def _link_archive(repository_ctx, archive, package):
    path = _find(repository_ctx, _library_directories(repository_ctx), archive, package)
    repository_ctx.symlink(path, "lib/" + archive)

def _system_library_impl(repository_ctx):
    package = repository_ctx.attr.package
    _link_headers(repository_ctx, repository_ctx.attr.headers, package)
    for archive in repository_ctx.attr.archives:
        _link_archive(repository_ctx, archive, package)
    for shared in repository_ctx.attr.shared:
        _find(repository_ctx, _library_directories(repository_ctx), "lib%s.so" % shared, package)
    repository_ctx.file("BUILD.bazel", repository_ctx.attr.build)

system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "archives": attr.string_list(doc = "Static archives, linked as lib/NAME."),
        "build": attr.string(mandatory = True, doc = "The text of the BUILD file."),
        "headers": attr.string_list(doc = "Headers or folders of them, linked as include/NAME."),
        "package": attr.string(mandatory = True, doc = "The package that has all this."),
        "shared": attr.string_list(doc = "Shared libraries that must be installed (without lib and .so)."),
    },
    doc = "One installed library with a BUILD file of its own.",
    local = True,
)

# The targets of Abseil that the tools, benchmarks and examples use, by package. Debian's .pc files have
# the same names with "absl_" in front. The library itself does not use Abseil.
_ABSL_TARGETS = {
    "container": ["flat_hash_map"],
    "strings": ["str_format", "strings"],
    "types": ["optional"],
}

_ABSL_PACKAGE = "libabsl-dev"

def _pc_field(text, field):
    for line in text.split("\n"):
        if line.startswith(field + ":"):
            return line[len(field) + 1:].strip()
    return ""

def _absl_library(repository_ctx, pc):
    """The cc_library of one .pc file: its own archive, if any, and the libraries it requires."""
    name = pc.basename[:-len(".pc")]
    text = repository_ctx.read(pc)
    archives = []
    for flag in _pc_field(text, "Libs").split(" "):
        if flag.startswith("-labsl_"):
            archive = "lib%s.a" % flag[len("-l"):]
            _link_archive(repository_ctx, archive, _ABSL_PACKAGE)
            archives.append("lib/" + archive)
    requires = []
    for requirement in _pc_field(text, "Requires").split(","):
        required = requirement.strip().split(" ")[0]
        if required and required != name:
            requires.append(":" + required)
    return "\n".join([
        "cc_library(",
        "    name = \"%s\"," % name,
        "    srcs = %s," % archives,
        "    linkopts = [\"-pthread\"],",
        "    linkstatic = True,",
        "    deps = %s," % ([":headers"] + sorted({r: None for r in requires}.keys())),
        ")",
        "",
    ])

def _absl_package(targets, have):
    lines = ["package(default_visibility = [\"//visibility:public\"])", ""]
    for target in targets:
        if "absl_" + target in have:
            lines += [
                "alias(name = \"%s\", actual = \"//:absl_%s\")" % (target, target),
                "",
            ]
    return "\n".join(lines)

def _system_absl_impl(repository_ctx):
    _link_headers(repository_ctx, ["absl"], _ABSL_PACKAGE)
    probe = _find(
        repository_ctx,
        _library_directories(repository_ctx),
        "pkgconfig/absl_base.pc",
        _ABSL_PACKAGE,
    )
    text = [
        "load(\"@rules_cc//cc:defs.bzl\", \"cc_library\")",
        "package(default_visibility = [\"//:__subpackages__\"])",
        "cc_library(",
        "    name = \"headers\",",
        "    hdrs = glob([\"include/absl/**/*.h\", \"include/absl/**/*.inc\"]),",
        "    includes = [\"include\"],",
        ")",
        "",
    ]
    have = {}
    for pc in sorted([str(path) for path in probe.dirname.readdir()]):
        path = repository_ctx.path(pc)
        if path.basename.startswith("absl_") and path.basename.endswith(".pc"):
            have[path.basename[:-len(".pc")]] = True
            text.append(_absl_library(repository_ctx, path))
    repository_ctx.file("BUILD.bazel", "\n".join(text))
    for package, targets in _ABSL_TARGETS.items():
        repository_ctx.file(
            "absl/%s/BUILD.bazel" % package,
            _absl_package(targets, have),
        )

system_absl = repository_rule(
    implementation = _system_absl_impl,
    doc = "The installed Abseil: one library a .pc file, under the labels of Abseil's own BUILD files.",
    local = True,
)
