#!/bin/bash
# stats_test.sh LCRUN PROGRAM: lcrun --stats prints one table of all ranks at the end of the job, also if a rank has failed.
set -u
lcrun=$PWD/$1
program=$PWD/$2
failures=0
for backend in shm ofi; do
  output=$(LCI_ATTR_BACKEND=$backend "$lcrun" --stats --oversubscribe -n 3 --timeout 100 "$program" 2>&1) ||
    failures=$((failures + 1))
  [ "$(grep -c 'counters of 3 ranks$' <<<"$output")" -eq 1 ] || failures=$((failures + 1))
  grep -Eq '^ +least +rank +median +greatest +rank +sum$' <<<"$output" || failures=$((failures + 1))
  # Each of the ranks has sent something.
  grep -Eq '^[a-z ]*sent[a-z ]* +[1-9][0-9]* +[0-2] +[0-9]+ +[0-9]+ +[0-2] +[0-9]+ *$' <<<"$output" ||
    failures=$((failures + 1))
  [ $failures -eq 0 ] || { echo "$backend: $output"; exit 1; }
done
output=$("$lcrun" --oversubscribe -n 3 --timeout 100 "$program" 2>&1)
! grep -q 'counters of' <<<"$output" || { echo "without --stats: $output"; exit 1; }
