#!/bin/bash
# dying_test.sh LCRUN PROGRAM: a rank that dies of a signal ends with that signal, also where the network's libraries
# install handlers, and SIGTERM ends the other ranks.
set -u
lcrun=$PWD/$1
program=$PWD/$2
ranks=4
failures=0
for backend in shm ofi; do
  for signal in 11:SIGSEGV 6:SIGABRT 8:SIGFPE 15:SIGTERM; do
    number=${signal%:*}
    output=$(LCI_ATTR_BACKEND=$backend timeout --kill-after=5 100 "$lcrun" -v --grace 60 -n $ranks "$program" $number 2>&1)
    status=$?
    others=$(grep -c "rank [1-9].* ended: signal 15 (SIGTERM)" <<<"$output")
    if [ $status -ne $((128 + number)) ] || [ "$others" -ne $((ranks - 1)) ] ||
      ! grep -q "rank 0 .*failed first: signal $number (${signal#*:})" <<<"$output"; then
      echo "$backend, signal $number: lcrun ends with $status, and $others ranks with SIGTERM:"
      echo "$output"
      failures=$((failures + 1))
    fi
  done
done

# Nothing is left in /dev/shm if lcrun is killed, and its guard kills the ranks. (Other jobs may run on the host.)
before=$(ls /dev/shm)
log=$TEST_TMPDIR/killed
: >"$log"  # the job, which opens the file, may begin later than the loop
LCI_ATTR_BACKEND=ofi LCI_ATTR_OFI_PROVIDER_NAME=shm "$lcrun" -n $ranks "$program" 0 >"$log" 2>&1 &
job=$!
for _ in $(seq 300); do
  [ "$(grep -c started "$log")" -lt $ranks ] || break
  sleep 0.1
done
own=$(for pid in $(pgrep -P $job); do
  tr '\0' '\n' </proc/"$pid"/environ 2>/dev/null | grep ^LCI_JOB_NODE=
done | sort -u | head -1)
kill -KILL $job
wait $job 2>/dev/null
for _ in $(seq 300); do
  grep -qsz "^$own\$" /proc/[0-9]*/environ || break
  sleep 0.1
done
for _ in $(seq 100); do  # what other jobs make there goes by itself
  left=$(comm -13 <(sort <<<"$before") <(ls /dev/shm | sort) | grep ^lci-)
  [ -n "$left" ] || break
  sleep 0.1
done
if [ "$(grep -c started "$log")" -ne $ranks ] || [ -n "$left" ]; then
  echo "a killed job leaves $left in /dev/shm; it said:"
  cat "$log"
  failures=$((failures + 1))
fi
exit $failures
