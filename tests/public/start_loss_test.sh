#!/bin/bash
# start_loss_test.sh PROGRAM BACKEND STEP: one of four ranks dies at some time of the start, 60 times, STEP microseconds
# apart. Each survivor gets a peer_failure_error, and those whose start it breaks are told that rank, not one that ended
# because of it.
set -u
program=$PWD/$1
export LCI_ATTR_BACKEND=$2
step=$3
export LCI_SIZE=4 LCI_BOOT=file
unset LCI_JOB_ID LCI_BOOT_ADDR
started=0
failures=0
for i in $(seq 60); do
  victim=$((i % 4))
  export LCI_BOOT_DIR=$TEST_TMPDIR/$i
  mkdir "$LCI_BOOT_DIR"
  ranks=()
  for rank in 0 1 2 3; do
    LCI_RANK=$rank timeout --kill-after=5 50 "$program" $victim $((i * step)) >"$LCI_BOOT_DIR/out.$rank" 2>"$LCI_BOOT_DIR/err.$rank" &
    ranks+=($!)
  done
  wait "${ranks[@]}"
  for rank in 0 1 2 3; do
    [ $rank != $victim ] || continue
    said=$(cat "$LCI_BOOT_DIR/out.$rank")
    case $said in
      "start: rank $rank lost rank $victim: "*) started=$((started + 1)) ;;
      "later: rank $rank lost rank "*) ;;
      *)
        echo "rank $victim dies after $((i * step)) microseconds, and rank $rank says: $said"
        cat "$LCI_BOOT_DIR/err.$rank"
        failures=$((failures + 1))
        ;;
    esac
  done
done
echo "$started survivors were starting"
[ $started -gt 0 ] || failures=$((failures + 1))
[ $failures -eq 0 ]
