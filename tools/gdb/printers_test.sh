#!/usr/bin/env bash
# The values of a program in gdb, as lci.py prints them.
# usage: printers_test.sh PROGRAM PRINTERS
set -euo pipefail

skip() {
  echo "SKIPPED, NOTHING WAS CHECKED: $*"
  exit 0
}

command -v gdb > /dev/null || skip "gdb is not installed; tools/setup test installs it"

expected='error = retry_nopacket
progressed = done
status = posted = {rank = 3, buffer = 0x1000, size = 64, tag = 7, user_context = 0x0}
any = retry_init = {rank = -1, buffer = 0x0, size = 0, tag = ANY_TAG, user_context = 0x0}
no_comp = empty
retry = COMP_NULL_RETRY
dangling = 0x40
on_device = MR_DEVICE
unknown = MR_UNKNOWN
device = 0x2000
no_devices = empty
memory = base 0x3000, rkey 0xab
no_memory = empty
comp = ADDRESS custom "inbox"'

commands=()
for name in $(sed 's/ = .*//' <<< "$expected"); do
  commands+=(-ex "printf \"$name = \"" -ex "output $name" -ex 'printf "\n"')
done
shown=$(gdb -nx -batch -x "$2" -ex "break values_are_set" -ex run -ex up "${commands[@]}" "$1" 2>&1)
if grep -qE 'ptrace: |Could not trace|Operation not permitted' <<< "$shown"; then
  skip "gdb may trace no process here: $(grep -E 'ptrace: |Could not trace|Operation not permitted' <<< "$shown" | sed 1q)"
fi
if ! diff <(echo "$expected") <(grep -E '^[a-z_]+ = ' <<< "$shown" | sed 's/^\(comp = \)0x[0-9a-f]*/\1ADDRESS/'); then
  echo "FAILED: expected (<) and shown (>) differ; all of gdb's output:" >&2
  echo "$shown" >&2
  exit 1
fi
echo passed
