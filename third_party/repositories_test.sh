#!/usr/bin/env bash
# Runs repositories_test.py in the source tree, which has the example that Bazel ignores.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
exec python3 -B third_party/repositories_test.py
