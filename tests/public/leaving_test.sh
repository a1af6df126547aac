#!/bin/bash
# leaving_test.sh LCRUN PROGRAM: a rank that ends with exit code 0, and without the others, ends the job at once; lcrun says
# which one, and how.
set -u
lcrun=$PWD/$1
program=$PWD/$2
export LCI_BOOT_TIMEOUT=1000
failures=0

check() {  # BOOT HOW CODE TEXT
  local output status
  output=$(timeout --kill-after=5 60 "$lcrun" --boot "$1" -n 3 "$program" "$2" 2>&1)
  status=$?
  if [ $status -eq "$3" ] && grep -q "$4" <<<"$output"; then return; fi
  echo "--boot $1, $2: exit code $status, and this output:"
  echo "$output"
  failures=$((failures + 1))
}

for boot in tcp file; do
  check $boot early 1 "rank 1 on .* ended, with exit code 0, before g_runtime_init"
  check $boot late 1 "rank 1 on .* ended, with exit code 0, before g_runtime_init"
  check $boot inside 1 "rank 1 on .* ended, with exit code 0, without g_runtime_fina"
  check $boot all 1 "rank [0-2] on .* ended, with exit code 0, without g_runtime_fina"
  check $boot none 0 ""
done
exit $failures
