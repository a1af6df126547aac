"""The library as files for other build systems: an archive, and a shared library."""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":labels.bzl", "repository_of")

# The link options of the pkg-config and CMake files; nothing else must be needed. (The last is part of the C library
# since glibc 2.34.)
_LINK_FLAGS_EVERY_PROGRAM_HAS = ["-pthread", "-lpthread", "-ldl"]

def _objects(ctx):
    """All objects behind ctx.attr.dep, which are position independent."""
    objects = []
    for linker_input in ctx.attr.dep[CcInfo].linking_context.linker_inputs.to_list():
        for flag in linker_input.user_link_flags:
            if flag not in _LINK_FLAGS_EVERY_PROGRAM_HAS:
                fail("%s needs the link flag %s, which users of %s would not have" %
                     (linker_input.owner, flag, ctx.label))
        for library in linker_input.libraries:
            if repository_of(linker_input.owner) != repository_of(ctx.label):
                fail(("%s is compiled into no library of this package, and users of %s would not " +
                      "link it: do without it") % (linker_input.owner, ctx.label))
            if library.alwayslink:
                fail(("%s is alwayslink; in a plain archive an object that nobody references is not " +
                      "linked. Reference it from the code that needs it.") % linker_input.owner)
            if not library.pic_objects:
                fail("%s has no position-independent objects; build with --force_pic" %
                     linker_input.owner)
            objects += library.pic_objects
    return objects

def _static_library_impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    members = []
    for object in _objects(ctx):
        # A member's name says the path: two files of one name must not replace each other.
        path = object.short_path.replace("/_objs/", "/").replace("/", ".")
        member = ctx.actions.declare_file("%s_members/%s" % (ctx.label.name, path))
        ctx.actions.symlink(output = member, target_file = object)
        members.append(member)
    out = ctx.actions.declare_file("lib%s.a" % ctx.attr.library)
    ctx.actions.run(
        arguments = ["rcsD", out.path] + [member.path for member in members],
        executable = toolchain.ar_executable,
        inputs = depset(members, transitive = [toolchain.all_files]),
        mnemonic = "ArchiveLibrary",
        outputs = [out],
        progress_message = "Archiving %d objects as %s" % (len(members), out.short_path),
        # ar is found as the compiler is.
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]))]

def _shared_library_impl(ctx):
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    major = ctx.attr.version.split(".")[0]
    linked = cc_common.link(
        actions = ctx.actions,
        additional_inputs = [ctx.file.exports],
        cc_toolchain = toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(
            pic_objects = depset(_objects(ctx)),
        ),
        feature_configuration = features,
        name = ctx.attr.library,
        output_type = "dynamic_library",
        user_link_flags = [
            "-Wl,-soname,lib%s.so.%s" % (ctx.attr.library, major),
            "-Wl,--version-script=" + ctx.file.exports.path,
            # Nothing may be missing, and nothing may have to be changed in the code when it is loaded.
            "-Wl,-z,defs",
            "-Wl,-z,text",
            "-pthread",
            "-ldl",
        ],
    )
    return [DefaultInfo(files = depset([linked.library_to_link.resolved_symlink_dynamic_library or
                                        linked.library_to_link.dynamic_library]))]

_ATTRS = {
    "dep": attr.label(
        mandatory = True,
        doc = "The library. All objects behind it are part of the file.",
        providers = [CcInfo],
    ),
    "library": attr.string(mandatory = True, doc = "Name, without lib and suffix."),
    "_cc_toolchain": attr.label(default = "@rules_cc//cc:current_cc_toolchain"),
}

static_library = rule(
    attrs = _ATTRS,
    doc = "An archive that a program can link with and nothing else. The same input gives the same bytes.",
    fragments = ["cpp"],
    implementation = _static_library_impl,
    toolchains = use_cc_toolchain(),
)

shared_library = rule(
    attrs = dict(
        _ATTRS,
        exports = attr.label(
            allow_single_file = True,
            mandatory = True,
            doc = "The linker's version script.",
        ),
        version = attr.string(mandatory = True, doc = "Its first number is that of the soname."),
    ),
    doc = "The same objects as a shared library.",
    fragments = ["cpp"],
    implementation = _shared_library_impl,
    toolchains = use_cc_toolchain(),
)
