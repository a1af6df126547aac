"""The lists of sources for CMake, collected from the Bazel targets."""

load("//tools/dist:labels.bzl", "repository_of")

_SourcesInfo = provider(
    doc = "The files of this repository behind a target, and what it uses of Abseil.",
    fields = {
        "abseil": "depset of names of Abseil's libraries",
        "compiled": "depset of source files that are compiled",
        "files": "depset of all source files, headers included",
    },
)

_ABSEIL = "com_google_absl"

def _sources_aspect_impl(target, ctx):
    deps = [
        dep[_SourcesInfo]
        for dep in getattr(ctx.rule.attr, "deps", [])
        if _SourcesInfo in dep
    ]
    abseil = []
    compiled = []
    files = []
    repository = repository_of(target.label)

    # Bazel puts the name of a module before that of a repository of its own.
    if repository.endswith(_ABSEIL):
        # The libraries of the distribution's Abseil have the names of its .pc files.
        abseil = [target.label.name.replace("absl_", "", 1)]
        deps = []
    elif repository == "":
        for attribute in ["srcs", "hdrs", "textual_hdrs"]:
            files += [
                file
                for file in getattr(ctx.rule.files, attribute, [])
                if file.is_source
            ]
        compiled = [file for file in files if file.extension == "cc"]
    return [_SourcesInfo(
        abseil = depset(abseil, transitive = [dep.abseil for dep in deps]),
        compiled = depset(compiled, transitive = [dep.compiled for dep in deps]),
        files = depset(files, transitive = [dep.files for dep in deps]),
    )]

_sources_aspect = aspect(
    attr_aspects = ["deps"],
    doc = "Collects the sources along `deps`.",
    implementation = _sources_aspect_impl,
)

def _paths(files):
    return sorted([file.path for file in files])

def _cmake_list(name, entries):
    if not entries:
        return "set(%s)\n" % name
    return "set(%s\n%s)\n" % (name, "\n".join(["  " + entry for entry in entries]))

def _cmake_sources_impl(ctx):
    library = ctx.attr.library[_SourcesInfo]
    in_library = {path: True for path in _paths(library.compiled.to_list())}
    text = [ctx.attr.comment]

    rest = in_library.keys()
    for folder, name in ctx.attr.parts.items():
        part = [path for path in rest if path.startswith(folder + "/")]
        rest = [path for path in rest if not path.startswith(folder + "/")]
        text.append(_cmake_list(name, part))
    text.insert(1, _cmake_list("LCI_SOURCES", rest))
    for target, name in ctx.attr.headers.items():
        text.append(_cmake_list(name, _paths([
            file
            for file in target[DefaultInfo].files.to_list()
            if file.is_source
        ])))

    for target, name in ctx.attr.programs.items():
        program = target[_SourcesInfo]
        paths = _paths(program.compiled.to_list())

        # A program that uses the library links it; lcrun has what it needs of it compiled in, and
        # CMake adds the library's objects to a program that reads its internals.
        links_library = (target.label in [each.label for each in ctx.attr.on_objects] or
                         not [path for path in rest if path not in paths])
        if links_library:
            paths = [path for path in paths if path not in in_library]
        text.append(_cmake_list(name + "_SOURCES", paths))
        text.append(_cmake_list(name + "_ABSEIL", [
            "absl::" + library
            for library in sorted(program.abseil.to_list())
        ]))
    ctx.actions.write(ctx.outputs.out, "\n".join(text))

    all_files = depset(transitive = [library.files] + [
        target[_SourcesInfo].files
        for target in ctx.attr.programs.keys() + ctx.attr.also
    ])
    return [
        DefaultInfo(
            files = depset([ctx.outputs.out]),
            runfiles = ctx.runfiles(files = [ctx.outputs.out]),
        ),
        OutputGroupInfo(tree = all_files),
    ]

cmake_sources = rule(
    attrs = {
        "also": attr.label_list(
            aspects = [_sources_aspect],
            doc = "Libraries that the CMake files name by themselves.",
        ),
        "comment": attr.string(doc = "First line of the file."),
        "headers": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Public headers: the name of their list. Generated ones are left to CMake.",
        ),
        "library": attr.label(aspects = [_sources_aspect]),
        "on_objects": attr.label_list(
            doc = "Those of `programs` that use names the library does not export.",
        ),
        "out": attr.output(mandatory = True),
        "parts": attr.string_dict(
            doc = "Folders of the library that a build may leave out: name of the list for each.",
        ),
        "programs": attr.label_keyed_string_dict(
            aspects = [_sources_aspect],
            doc = "Programs and libraries in addition to it: NAME for the lists NAME_SOURCES and NAME_ABSEIL.",
        ),
    },
    doc = "Writes lists of sources as CMake reads them. Output group `tree`: the files themselves.",
    implementation = _cmake_sources_impl,
)
