"""Copies of the structures with an error planted, which the explorer has to find."""

load("//lci:build_defs.bzl", "lci_cc_library")

def mutant(name, header, find, replace, deps, package = "//lci/ds", namespace = "lci::ds"):
    """A library whose header <name>.h is <package>:<header> with one change.

    Its declarations are in the namespace <namespace>::<name>. The build fails unless the text to be
    changed occurs exactly once: otherwise the structure has changed, and the mutant must follow.

    Args:
      name: name of the library and of its namespace.
      header: the name of the header in lci/ds.
      find: the text to change, of one line.
      replace: the replacement.
      deps: dependencies of the structure.
      package: package of the header.
      namespace: namespace of the header's declarations.
    """
    native.genrule(
        name = name + "_h",
        srcs = [package + ":" + header],
        outs = [name + ".h"],
        cmd = """
          count=$$(grep -cF '{find}' $<)
          if [ "$$count" != 1 ]; then
            echo "{name}: \\"{find}\\" is in {header} $$count times, not once" >&2
            exit 1
          fi
          awk -v find='{find}' -v replace='{replace}' '
            {{ at = index($$0, find)
               if (at) $$0 = substr($$0, 1, at - 1) replace substr($$0, at + length(find))
               sub(/^namespace {namespace} {{/, "namespace {namespace}::{name} {{")
               gsub(/LCI_[A-Z]+_[A-Z_]*H_/, "&{name}_")
               print }}' $< > $@""".format(
            name = name,
            header = header,
            find = find,
            namespace = namespace,
            replace = replace,
        ),
    )
    lci_cc_library(
        name = name,
        hdrs = [name + ".h"],
        deps = deps,
        testonly = True,
    )
