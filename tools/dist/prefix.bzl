"""A tree of files to unpack anywhere, and the texts in it that are made from templates."""

load("//lci:version.bzl", "LCI_VERSION")

def _versioned_file_impl(ctx):
    values = dict(
        ctx.attr.values,
        LCI_VERSION = LCI_VERSION,
        LCI_VERSION_MAJOR = LCI_VERSION.split(".")[0],
    )
    ctx.actions.expand_template(
        output = ctx.outputs.out,
        substitutions = {"@%s@" % name: value for name, value in values.items()},
        template = ctx.file.template,
    )

versioned_file = rule(
    attrs = {
        "out": attr.output(mandatory = True),
        "template": attr.label(allow_single_file = True, mandatory = True),
        "values": attr.string_dict(doc = "Stand for @NAME@, as @LCI_VERSION@ and its major number do."),
    },
    doc = "Fills in a template, as CMake's configure_file does.",
    implementation = _versioned_file_impl,
)

def _prefix_archive_impl(ctx):
    inputs = []
    lines = []
    for files, mode in [(ctx.attr.files, "644"), (ctx.attr.programs, "755")]:
        for target, path in files.items():
            for file in target[DefaultInfo].files.to_list():
                inputs.append(file)
                destination = path + file.basename if path.endswith("/") else path
                lines.append("%s %s %s" % (mode, file.path, destination))
    for path, target in ctx.attr.links.items():
        lines.append("link %s %s" % (target, path))
    manifest = ctx.actions.declare_file(ctx.label.name + ".manifest")
    ctx.actions.write(manifest, "\n".join(lines) + "\n")
    ctx.actions.run(
        arguments = [manifest.path, ctx.outputs.out.path],
        executable = ctx.executable._pack,
        inputs = inputs + [manifest],
        mnemonic = "PackPrefix",
        outputs = [ctx.outputs.out],
        use_default_shell_env = True,
    )
    return [DefaultInfo(
        files = depset([ctx.outputs.out]),
        runfiles = ctx.runfiles([ctx.outputs.out]),
    )]

prefix_archive = rule(
    attrs = {
        "files": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Where each file goes; a path that ends with a slash is the folder for all of them.",
        ),
        "links": attr.string_dict(doc = "Symbolic links: what each points to."),
        "out": attr.output(mandatory = True),
        "programs": attr.label_keyed_string_dict(allow_files = True, doc = "As files, executable."),
        "_pack": attr.label(cfg = "exec", default = "//tools/dist:pack", executable = True),
    },
    doc = "Packs files with tar. The same input gives the same bytes.",
    implementation = _prefix_archive_impl,
)
