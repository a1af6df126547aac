#!/usr/bin/env bash
# The files of packaging and CI name things that exist.
# usage: tests/packaging.sh
# exit 0: passed; 1: failed; 3: CMake or a library that the build needs is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "packaging: $*" >&2
  exit 1
}

packaging/spack/recipe_test.py

# A program of the package has a manual page, and each package a list of its files.
for package in $(sed -n 's/^Package: //p' packaging/debian/debian/control); do
  [[ -s packaging/debian/debian/$package.install ]] || fail "packaging/debian/debian/control has $package, but there is no $package.install"
done
for group in $(grep -ohE 'tools/setup [a-z]+' packaging/README.md packaging/debian/build packaging/docker/Dockerfile README.md |
  sed 's/^tools.setup //'); do
  grep -qE "^    $group\)" tools/setup || fail "tools/setup has no group $group"
done

# The forge runs what CI runs here.
workflow=.github/workflows/ci.yml
grep -qE '^ +- run: \.ci/run$' "$workflow" || fail "$workflow does not run .ci/run"
[[ -x .ci/run ]] || fail ".ci/run is not executable"
if python3 -c 'import yaml' 2> /dev/null; then
  python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$workflow" || fail "$workflow is not valid YAML"
fi
echo passed
