#!/usr/bin/env python3
"""The Spack recipe, without Spack: its directives are well formed, and CMake knows each option that it gives.

A stand-in for Spack records the directives; then CMake configures the project with the options of each variant, and
must neither fail nor report an option that it did not use.

usage: python3 packaging/spack/recipe_test.py
exit 0: passed; 1: failed; 3: CMake or a library that the build needs is missing.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import types

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))


class Directives:
    """The functions that a recipe may call, as Spack documents them."""

    def __init__(self):
        self.variants = {}
        self.dependencies = []
        self.versions = []

    def variant(self, name, *, default, description):
        self.variants[name] = default
        assert description

    def depends_on(self, spec, *, type=("build", "link"), when=""):  # pylint: disable=redefined-builtin
        self.dependencies.append((spec, type, when))

    def version(self, name, *, branch):
        self.versions.append((name, branch))

    def license(self, name):
        assert name == "Apache-2.0"


class CMakePackage:
    """Builds nothing: only the functions that make options."""

    def __init__(self, chosen, run_tests):
        self.chosen = chosen
        self.run_tests = run_tests
        self.spec = types.SimpleNamespace(satisfies=lambda text: chosen[text[1:]] == (text[0] == "+"))

    @staticmethod
    def define(name, value):
        return "-D%s:BOOL=%s" % (name, "ON" if value else "OFF")

    def define_from_variant(self, name, variant):
        return self.define(name, self.chosen[variant])


def load_recipe():
    directives = Directives()
    spack = types.ModuleType("spack")
    package = types.ModuleType("spack.package")
    package.CMakePackage = CMakePackage
    for name in ("variant", "depends_on", "version", "license"):
        setattr(package, name, getattr(directives, name))
    sys.modules.update({"spack": spack, "spack.package": package})
    sys.dont_write_bytecode = True
    path = os.path.join(FOLDER, "packages", "lci", "package.py")
    spec = importlib.util.spec_from_file_location("lci_recipe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Lci, directives


def configure(arguments):
    """The problem that CMake reports, or nothing."""
    with tempfile.TemporaryDirectory() as build:
        result = subprocess.run(
            ["cmake", "-S", ROOT, "-B", build] + arguments, capture_output=True, text=True, check=False
        )
    if result.returncode != 0 or "not used by the project" in result.stderr:
        return result.stderr
    return ""


def main():
    for name in ("cmake", "doxygen"):
        if shutil.which(name) is None:
            print("recipe_test: %s is missing; tools/setup cmake test installs it" % name, file=sys.stderr)
            return 3
    recipe, directives = load_recipe()
    if recipe.git != "file://" + ROOT:
        print("recipe_test: git is %s, not the clone %s" % (recipe.git, ROOT), file=sys.stderr)
        return 1
    for spec, _, when in directives.dependencies:
        if when and when.lstrip("+~") not in directives.variants:
            print("recipe_test: %s depends on the variant %s, which does not exist" % (spec, when), file=sys.stderr)
            return 1
    defaults = directives.variants
    cases = [(defaults, False), (defaults, True)]
    cases += [({**defaults, name: not default}, False) for name, default in defaults.items()]
    for chosen, run_tests in cases:
        arguments = recipe(chosen, run_tests).cmake_args()
        problem = configure(arguments)
        if problem:
            print("recipe_test: cmake %s\n%s" % (" ".join(arguments), problem), file=sys.stderr)
            return 1
    print("recipe_test: %d configurations, %d dependencies: correct" % (len(cases), len(directives.dependencies)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
