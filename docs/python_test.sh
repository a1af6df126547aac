#!/usr/bin/env bash
# Runs Python in this folder. usage: python_test.sh ARGUMENTS...
set -euo pipefail
cd "$(dirname "$0")"
exec python3 -B "$@"
