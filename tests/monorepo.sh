#!/usr/bin/env bash
# Builds and runs examples/monorepo, a workspace of its own that uses the library.
set -euo pipefail
cd "$(dirname "$0")/../examples/monorepo"

# Idle servers of workspaces that nobody works in only hold memory.
trap 'bazel shutdown' EXIT

# Not optimized, since that takes the time.
output=$(bazel run --compilation_mode=fastbuild //hello:run | sort)
echo "$output"
expected=$(printf 'hello from rank %d of 3\n' 0 1 2)
if [[ $output != "$expected" ]]; then
  echo "monorepo: expected one line from each of three ranks" >&2
  exit 1
fi
