#!/usr/bin/env bash
# Runs Python's unittest over the files. usage: python_test.sh FILE_test.py...
set -euo pipefail
cd "$(dirname "$0")"
modules=()
for file in "$@"; do
  module=${file##*/}
  modules+=("${module%.py}")
done
exec python3 -B -m unittest "${modules[@]}"
