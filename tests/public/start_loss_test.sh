#!/bin/bash
# start_loss_test.sh PROGRAM BOOTSTRAP BACKEND STEP: one of four ranks dies at some time of the start, 60 times, STEP
# microseconds apart. Each survivor gets a peer_failure_error that names this rank, not one that ended because of it. There
# is no lcrun, which would end the survivors.
set -u
program=$PWD/$1
export LCI_BOOT=$2 LCI_ATTR_BACKEND=$3
step=$4
export LCI_SIZE=4 LCI_BOOT_TOKEN=secret
unset LCI_JOB_ID LCI_BOOT_ADDR
started=0
later=0
failures=0
for i in $(seq 60); do
  victim=$((i % 4))
  outputs=$TEST_TMPDIR/$i
  mkdir "$outputs"
  if [ $LCI_BOOT = file ]; then
    export LCI_BOOT_DIR=$outputs
  else
    port=$((15000 + RANDOM % 15000))
    while (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; do port=$((port + 1)); done
    export LCI_BOOT_ADDR=127.0.0.1:$port
  fi
  ranks=()
  for rank in 0 1 2 3; do
    LCI_RANK=$rank timeout --kill-after=5 50 "$program" $victim $((i * step)) >"$outputs/out.$rank" 2>"$outputs/err.$rank" &
    ranks+=($!)
  done
  wait "${ranks[@]}" 2>/dev/null
  for rank in 0 1 2 3; do
    [ $rank != $victim ] || continue
    said=$(cat "$outputs/out.$rank")
    case $said in
      "start: rank $rank lost rank $victim: "*) started=$((started + 1)) ;;
      "later: rank $rank lost rank $victim: "*) later=$((later + 1)) ;;
      *)
        echo "rank $victim dies after $((i * step)) microseconds, and rank $rank says: $said"
        cat "$outputs/err.$rank"
        failures=$((failures + 1))
        ;;
    esac
  done
done
echo "$started survivors were starting, and $later had started"
[ $started -gt 0 ] || failures=$((failures + 1))
[ $failures -eq 0 ]
