#!/bin/bash
# emulated_test.sh LCRUN PINGPONG: a job works whose processes run in an emulator of the processor (qemu), as those of a
# container for another processor do. Its /proc shows a process other values of itself than its peers read.
set -u
lcrun=$PWD/$1
program=$PWD/$2
emulator=qemu-$(uname -m)
export LCI_BOOT_TIMEOUT=30
failures=0
if ! command -v "$emulator" > /dev/null; then
  echo "$emulator is not installed: tools/setup test"
  exit 1
fi

check() {  # NAME COMMAND...
  local name=$1 output
  shift
  output=$(timeout --kill-after=5 100 "$@" 2>&1) && grep -q ' one way in ' <<< "$output" && return
  echo "$name: $output"
  failures=$((failures + 1))
}

by_hand() {
  export LCI_SIZE=2 LCI_BOOT=file LCI_JOB_ID=emulated
  local rank pids=() failed=0
  for rank in 0 1; do
    LCI_RANK=$rank "$emulator" "$program" &
    pids+=($!)
  done
  for rank in 0 1; do wait "${pids[rank]}" || failed=1; done
  return $failed
}

for boot in file tcp; do
  check "lcrun --boot $boot" "$emulator" "$lcrun" --boot $boot -n 2 "$emulator" "$program"
done
export -f by_hand
export emulator program
check "without lcrun" bash -c by_hand
exit $failures
