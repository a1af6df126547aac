#!/usr/bin/env bash
# A host with two ranks dies, or its cable is cut, while they and four ranks on two other hosts talk through shared memory
# and libfabric. usage: loss_test.sh LCRUN TALK
set -uo pipefail
lcrun=$(realpath "$1") talk=$(realpath "$2")
. "$(dirname "$0")/simulated_hosts.sh"
make_hosts
export LCI_LOG_LEVEL=debug

# Launched: lcrun names the host and its ranks, and ends all others.

# start: six ranks that have all heard from all others.
start() {
  rm -rf "$work/heard"
  mkdir "$work/heard"
  (exec ip netns exec "${hosts[0]}" "$lcrun" --launch-agent "$machine_agent" --host-timeout 2 \
    -H "${hosts[0]}:2,${hosts[1]}:2,${hosts[2]}:2" "$talk" "$work/heard" 2 3) > "$work/out" 2> "$work/err" < /dev/null &
  job=$!
  until [[ -e $work/heard/5 ]]; do
    if ! kill -0 "$job" 2> /dev/null; then
      skip_without_libfabric
      fail "the ranks have not met"
    fi
    read -rt 0.02 < <(:) || :
  done
  wait_for_ranks "$work/heard" 6
  says err "rank 5 reaches 2 of 6 ranks through shared memory, the others through ofi"
}
ends() {
  wait "$job" && fail "$1: the job has ended well"
  says err "host ${hosts[1]} \(ranks 2-3\) is lost|rank [0145] on [a-z0-9]+ failed first"
  wait_until_empty "${hosts[1]}"
  nothing_is_left
}
start
# shellcheck disable=SC2046  # words are wanted
kill -KILL $(ip netns pids "${hosts[1]}")
ends "a killed host"
start
ip -n "$switch" link set cable1 down
ends "a cut cable"
ip -n "$switch" link set cable1 up

# By hand: nobody ends the others, so each of them finds out by itself.

rm -rf "$work/heard"
mkdir "$work/heard"
export LCI_BOOT_ADDR=10.99.0.1:7777 LCI_BOOT_TOKEN=$$-$RANDOM-$RANDOM LCI_SIZE=6
rank_jobs=()
for rank in 0 1 2 3 4 5; do
  # Ranks of a host share its name and /dev/shm.
  if ((rank % 2 == 0)); then
    from=()
    : > "$work/pid"
  else
    until [[ -s $work/pid ]]; do read -rt 0.02 < <(:) || :; done
    from=(nsenter --uts --mount --target "$(< "$work/pid")")
  fi
  if ((${#from[@]} == 0)); then
    LCI_RANK=$rank ip netns exec "${hosts[rank / 2]}" unshare --uts --mount sh -c \
      'hostname "$1" && mount -t tmpfs none /dev/shm && echo $$ > "$2" && shift 2 && exec "$@"' sh "${hosts[rank / 2]}" \
      "$work/pid" "$talk" "$work/heard" 2 3 > "$work/out.$rank" 2> "$work/err.$rank" < /dev/null &
  else
    LCI_RANK=$rank "${from[@]}" ip netns exec "${hosts[rank / 2]}" "$talk" "$work/heard" 2 3 \
      > "$work/out.$rank" 2> "$work/err.$rank" < /dev/null &
  fi
  rank_jobs+=($!)
done
wait_for_ranks "$work/heard" 6
# shellcheck disable=SC2046  # words are wanted
kill -KILL $(job_processes "${hosts[1]}")
for rank in 0 1 4 5; do
  grep -q "reaches 2 of 6 ranks through shared memory" "$work/err.$rank" || fail "rank $rank has one network"
  wait "${rank_jobs[rank]}" || {
    cp "$work/err.$rank" "$work/err"
    fail "rank $rank did not learn of the end of ranks 2 and 3"
  }
  for gone in 2 3; do
    grep -q "^rank $rank: lci: .*rank $gone.* is gone" "$work/out.$rank" || {
      cp "$work/out.$rank" "$work/out"
      fail "rank $rank does not say that rank $gone is gone"
    }
  done
done
for name in "${hosts[@]}"; do wait_until_empty "$name"; done
echo PASSED
