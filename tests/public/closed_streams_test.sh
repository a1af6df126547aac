#!/bin/bash
# closed_streams_test.sh LCRUN PROGRAM: a job works if lcrun, or its ranks, are started with closed standard streams, and what
# the program prints disturbs no connection of the library or of lcrun.
set -u
lcrun=$PWD/$1
program=$PWD/$2
export LCI_BOOT_TIMEOUT=1000
failures=0

check() {  # NAME COMMAND...
  local name=$1 status
  shift
  timeout --kill-after=5 60 "$@"
  status=$?
  if [ $status -eq 0 ]; then return; fi
  echo "$name: exit code $status"
  failures=$((failures + 1))
}

# Other programs have all three streams, too.
has_streams='for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] || exit 1; done'
for closed in "<&-" ">&-" "2>&-" "<&- >&- 2>&-"; do
  check "streams of the ranks of lcrun $closed" bash -c "exec $lcrun -n 2 bash -c '$has_streams' $closed"
done

# Rank 0 starts the server in a process of its own, by the file in which it says where.
export LCI_BOOT_DIR=$TEST_TMPDIR
for closed in "<&-" ">&-" "2>&-" "<&- >&- 2>&-"; do
  two="exec env LCI_BOOT=tcp LCI_SIZE=2 LCI_JOB_ID=closed"
  check "ranks by hand $closed" bash -c "
    ($two LCI_RANK=1 $program $closed) & ($two LCI_RANK=0 $program $closed) || exit 1; wait \$!"
done
unset LCI_BOOT_DIR

for backend in shm ofi; do
  export LCI_ATTR_BACKEND=$backend
  for boot in tcp file; do
    for closed in "<&-" ">&-" "2>&-" "<&- >&-" "<&- >&- 2>&-"; do
      check "lcrun --boot $boot $closed, $backend" bash -c "exec $lcrun --boot $boot -n 2 $program $closed"
      check "ranks of lcrun --boot $boot with $closed, $backend" \
        "$lcrun" --boot $boot -n 2 bash -c "exec $program $closed"
    done
  done
done
exit $failures
