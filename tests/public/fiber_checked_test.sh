#!/bin/bash
# fiber_checked_test.sh LCRUN PROGRAM: with LCI_CHECK=1, a correct program whose fibers move between threads hears of no
# mistake: a post that one thread repeats for another is repeated.
set -u
lcrun=$PWD/$1
program=$PWD/$2
for backend in shm ofi; do
  output=$(LCI_CHECK=1 LCI_ATTR_BACKEND=$backend "$lcrun" --oversubscribe -n 3 --timeout 100 "$program" 32 2>&1) &&
    ! grep -q LCI_CHECK <<<"$output" || { echo "$backend: $output"; exit 1; }
done
