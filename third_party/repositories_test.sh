#!/usr/bin/env bash
# Runs repositories_test.py in the root of the runfiles.
set -euo pipefail
exec python3 -B third_party/repositories_test.py
