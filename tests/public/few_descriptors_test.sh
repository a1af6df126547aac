#!/bin/bash
# few_descriptors_test.sh LCRUN PROGRAM: with any small limit of open files, of lcrun or of the ranks, a job either works or
# ends at once, saying that the limit is to be raised: it never waits until the timeout of the start (here: for ever).
set -u
lcrun=$PWD/$1
program=$PWD/$2
export LCI_BOOT_TIMEOUT=1000
failures=0

check() {  # NAME COMMAND...
  local name=$1 output status
  shift
  output=$(timeout --kill-after=5 40 "$@" 2>&1)
  status=$?
  if [ $status -eq 0 ]; then
    works=1
    return
  fi
  refused=1
  if [ $status -lt 124 ] && grep -q "Too many open files.*ulimit -n" <<<"$output"; then return; fi
  echo "$name: exit code $status, and this output:"
  echo "$output"
  failures=$((failures + 1))
}

for boot in tcp file; do
  works=0 refused=0
  for limit in $(seq 5 26); do
    check "lcrun --boot $boot with $limit" bash -c "ulimit -n $limit; exec $lcrun --boot $boot -n 3 $program"
    check "ranks of lcrun --boot $boot with $limit" \
      "$lcrun" --boot $boot -n 3 bash -c "ulimit -n $limit; exec $program"
    check "rank 1 of lcrun --boot $boot with $limit" \
      "$lcrun" --boot $boot -n 3 bash -c "[ \$LCI_RANK != 1 ] || ulimit -n $limit; exec $program"
  done
  if [ $works$refused != 11 ]; then
    echo "--boot $boot: no limit that is enough, or none that is not"
    failures=$((failures + 1))
  fi
done
exit $failures
