#!/usr/bin/env python3
"""WORKSPACE and MODULE.bazel declare the same repositories.

Starlark is nearly Python, so both files are executed with functions that record what they are called with: libraries
must be declared with the same attributes, and the modules of MODULE.bazel are those that WORKSPACE forwards to rules
that are built in.

usage: python3 third_party/repositories_test.py    in the root of the repository
"""

import sys
import types
import unittest


class Recorder:
    """The functions of Bazel that the two files use, and what they were called with."""

    def __init__(self):
        self.repositories = {}  # name: (rule, attributes)
        self.modules = {}  # name: version
        self.module = {}
        self.used = []
        self.loaded = {}
        self.overridden = []

    def repository_rule(self, implementation, **_):
        def declare(name, **attributes):
            self.repositories[name] = (implementation.__name__, attributes)

        return declare

    def use_extension(self, label, name):
        return self.load(label)[name]

    def use_repo(self, extension, *names):
        self.used += names
        extension(None)

    def assert_module(self, name, path):
        assert name in self.modules and path

    def names(self):
        attributes = types.SimpleNamespace(string=lambda **_: None, string_list=lambda **_: None)
        native = types.SimpleNamespace(bazel_version="8.0.0", existing_rules=lambda: dict(self.repositories))
        return {
            "attr": attributes,
            "bazel_dep": lambda name, version=None: self.modules.update({name: version}),
            "local_path_override": lambda module_name, path: self.assert_module(module_name, path),
            "module": lambda **all: self.module.update(all),
            "module_extension": lambda implementation, **_: implementation,
            "native": native,
            "override_repo": lambda extension, *names: self.overridden.extend(names),
            "repository_rule": self.repository_rule,
            "use_extension": self.use_extension,
            "use_repo": self.use_repo,
            "use_repo_rule": lambda label, name: lambda **all: None,
            "workspace": lambda **all: self.module.update(all),
        }

    def execute(self, path):
        names = self.names()

        def load(label, *loaded, **renamed):
            source = self.load(label)
            names.update({name: source[name] for name in loaded})
            names.update({name: source[original] for name, original in renamed.items()})

        names["load"] = load
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), names)  # pylint: disable=exec-used
        return names

    def load(self, label):
        path = label.replace("@lci", "").replace("//third_party:", "third_party/")
        if path.startswith(":"):
            path = "third_party/" + path[1:]
        if path not in self.loaded:
            self.loaded[path] = self.execute(path)
        return self.loaded[path]


def libraries(recorder):
    return {name: how for name, how in recorder.repositories.items() if "forwarding" not in how[0]}


class Repositories(unittest.TestCase):
    def setUp(self):
        self.workspace = Recorder()
        self.workspace.execute("WORKSPACE")
        self.module = Recorder()
        self.module.execute("MODULE.bazel")

    def test_same_libraries(self):
        self.assertIn("com_google_absl", libraries(self.workspace))
        self.assertEqual(libraries(self.workspace), libraries(self.module))

    def test_module_uses_each_library(self):
        self.assertEqual(sorted(self.module.used), sorted(libraries(self.workspace)))

    def test_modules_are_the_forwarded_rules(self):
        forwarded = set(self.workspace.repositories) - set(libraries(self.workspace))
        self.assertEqual(forwarded, set(self.module.modules))

    def test_name_and_version(self):
        version = self.module.execute("lci/version.bzl")["LCI_VERSION"]
        self.assertEqual(self.module.module["version"], version)
        self.assertEqual(self.module.module["name"], self.workspace.module["name"])

    def test_a_declared_repository_is_left_alone(self):
        consumer = Recorder()
        consumer.repositories["zlib"] = ("own", {})
        consumer.execute("WORKSPACE")
        self.assertEqual(consumer.repositories["zlib"], ("own", {}))


    def test_example_takes_the_same_rules(self):
        example = Recorder()
        example.execute("examples/monorepo/MODULE.bazel")
        rules = {name: version for name, version in example.modules.items() if name != "lci"}
        self.assertEqual(rules, self.module.modules)
        self.assertEqual(example.overridden, ["com_google_absl"])
        self.assertLessEqual(set(example.overridden), set(self.module.used))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
