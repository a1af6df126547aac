#!/usr/bin/env bash
# Writes docs/configuration.md. usage: bazel run //docs:update_configuration
set -euo pipefail
"$1" --format markdown > "$BUILD_WORKSPACE_DIRECTORY/docs/configuration.md"
