#!/usr/bin/env bash
# Fails if the lists of sources for CMake differ from the Bazel targets.
# usage: sources_test.sh GENERATED CHECKED_IN
set -euo pipefail

if ! diff -u "$2" "$1"; then
  echo "FAILED: cmake/sources.cmake differs from the Bazel targets; bazel run //tools/cmake:update" >&2
  exit 1
fi
