#!/usr/bin/env bash
# Writes cmake/sources.cmake anew from the Bazel targets.
# usage: bazel run //tools/cmake:update
set -euo pipefail

cp --no-preserve=mode "$1" "$BUILD_WORKSPACE_DIRECTORY/cmake/sources.cmake"
echo "update: wrote cmake/sources.cmake"
