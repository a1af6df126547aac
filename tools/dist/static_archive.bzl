"""One self-contained static archive out of many libraries."""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":labels.bzl", "repository_of")

# The link options of the pkg-config and CMake files; nothing else must be needed. (The last is part of the C library
# since glibc 2.34.)
_LINK_FLAGS_EVERY_PROGRAM_HAS = ["-pthread", "-lpthread", "-ldl"]

def _own_objects(library):
    return library.pic_objects or library.objects or []

def _static_library(library):
    return library.pic_static_library or library.static_library

def _static_archive_impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    own = []
    archives = []
    for linker_input in ctx.attr.dep[CcInfo].linking_context.linker_inputs.to_list():
        is_own = repository_of(linker_input.owner) == repository_of(ctx.label)
        for flag in linker_input.user_link_flags:
            if flag not in _LINK_FLAGS_EVERY_PROGRAM_HAS:
                fail("%s needs the link flag %s, which users of %s would not have" %
                     (linker_input.owner, flag, ctx.label))
        for library in linker_input.libraries:
            if library.alwayslink:
                fail(("%s is alwayslink; in a plain archive an object that nobody references is not " +
                      "linked. Reference it from the code that needs it.") % linker_input.owner)
            if is_own and _own_objects(library):
                own += _own_objects(library)
            elif _static_library(library):
                archives.append(_static_library(library))
            else:
                fail("%s exists only as a shared library" % linker_input.owner)

    out = ctx.actions.declare_file(ctx.attr.archive)
    list_file = ctx.actions.declare_file(ctx.label.name + ".list")
    ctx.actions.write(list_file, "".join(
        ["object %s\n" % file.path for file in own] +
        ["archive %s\n" % file.path for file in archives],
    ))
    ctx.actions.run(
        arguments = [toolchain.ar_executable, toolchain.nm_executable, list_file.path, out.path],
        executable = ctx.executable._merge,
        inputs = depset(own + archives + [list_file], transitive = [toolchain.all_files]),
        mnemonic = "MergeArchives",
        outputs = [out],
        progress_message = "Merging %d objects into %s" % (len(own), out.short_path),
        # ar and nm are found as the compiler is.
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]))]

static_archive = rule(
    attrs = {
        "archive": attr.string(mandatory = True, doc = "Name of the file to make."),
        "dep": attr.label(
            mandatory = True,
            doc = "The library. Every object of this repository behind it goes into the archive; of " +
                  "the other repositories' archives, the members that these objects need.",
            providers = [CcInfo],
        ),
        "_cc_toolchain": attr.label(default = "@rules_cc//cc:current_cc_toolchain"),
        "_merge": attr.label(
            cfg = "exec",
            default = "//tools/dist:merge_archives",
            executable = True,
        ),
    },
    doc = "An archive that a program can link with and nothing else. The same input gives the same bytes.",
    fragments = ["cpp"],
    implementation = _static_archive_impl,
    toolchains = use_cc_toolchain(),
)
