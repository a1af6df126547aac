"""The header with the version and the defaults, from a template that CMake can read, too."""

load("//lci:version.bzl", "LCI_VERSION")

_BACKENDS = ["ibv", "ofi"]

def _config_header_impl(ctx):
    major, minor, patch = LCI_VERSION.split(".")
    substitutions = {
        "@LCI_NETWORK_BACKENDS_ENABLED@": ";".join(_BACKENDS),
        "@LCI_VERSION@": LCI_VERSION,
        "@LCI_VERSION_MAJOR@": major,
        "@LCI_VERSION_MINOR@": minor,
        "@LCI_VERSION_PATCH@": patch,
    }
    for backend in _BACKENDS:
        name = "LCI_BACKEND_ENABLE_" + backend.upper()
        substitutions["#cmakedefine " + name] = "#define " + name
    ctx.actions.expand_template(
        output = ctx.outputs.out,
        substitutions = substitutions,
        template = ctx.file.template,
    )

config_header = rule(
    attrs = {
        "out": attr.output(mandatory = True),
        "template": attr.label(allow_single_file = True, mandatory = True),
    },
    doc = "Fills in what CMake's configure_file would fill in. Bazel's builds have all backends.",
    implementation = _config_header_impl,
)
