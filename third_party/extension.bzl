"""The distribution's libraries, for MODULE.bazel."""

load(":dependencies.bzl", "lci_libraries")

def _libraries_impl(_module_ctx):
    # A root module that has a library of its own replaces a repository with override_repo.
    lci_libraries(existing = [])

libraries = module_extension(
    implementation = _libraries_impl,
    doc = "Binds libraries of the distribution, as lci_dependencies() does for WORKSPACE.",
)
