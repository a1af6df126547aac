#!/usr/bin/env bash
# lcrun over three hosts that `ip netns exec` starts programs on. usage: agent_test.sh LCRUN MEET TESTEE
set -uo pipefail
lcrun=$(realpath "$1") meet=$(realpath "$2") test_child=$(realpath "$3")
. "$(dirname "$0")/simulated_hosts.sh"
make_hosts

agent='ip netns exec %h'
list=${hosts[0]}:2,${hosts[1]},${hosts[2]}:2
over=(--launch-agent "$agent" -H "$list")

# Where the ranks run.
run 0 "${over[@]}" -l "$meet"
check_places
nothing_is_left

printf '# ours\n%s slots=1\n%s:2\n' "${hosts[1]}" "${hosts[2]}" > "$work/hostfile"
run 0 --launch-agent "$agent" -f "$work/hostfile" -l "$test_child" variable LCI_LOCAL_SIZE
[[ $(sort "$work/out") == "[0 ${hosts[1]}] 1
[1 ${hosts[2]}] 2
[2 ${hosts[2]}] 2" ]] || fail "host file"
run 0 "${over[@]}" --ppn 1 "$test_child" variable LCI_SIZE
[[ $(< "$work/out") == $'3\n3\n3' ]] || fail "--ppn 1"
run 0 "${over[@]}" --nnodes 2 -n 2 --ppn 1 --machinefile "$work/hostfile" -l "$meet"
says out "\[1 ${hosts[2]}\] rank 1 of 2"
SLURM_JOB_NODELIST=${hosts[0]},${hosts[2]} SLURM_TASKS_PER_NODE=1,2 run 0 --launch-agent "$agent" -l "$meet"
says out "\[2 ${hosts[2]}\] rank 2 of 3"

# Hosts of other batch systems. Stand-ins for their programs take the arguments of these.
mkdir "$work/bin"
printf '#!/bin/sh\n[ "$1" = -no-shell ] && shift && exec ip netns exec "$@"\n' > "$work/bin/blaunch"
printf '#!/bin/sh\n[ "$1" = -inherit ] && shift && exec ip netns exec "$@"\n' > "$work/bin/qrsh"
printf '#!/bin/sh\nhost=$1 && shift && exec ip netns exec "$host" sh -c "$*"\n' > "$work/bin/oarsh"
chmod +x "$work/bin"/*
printf '%s\n%s\n%s\n' "${hosts[0]}" "${hosts[2]}" "${hosts[2]}" > "$work/lines"
printf '%s 1 all.q@a UNDEFINED\n%s 2 all.q@b <NULL>\n' "${hosts[0]}" "${hosts[2]}" > "$work/columns"
for allocation in LSB_DJOB_HOSTFILE=lines PE_HOSTFILE=columns OAR_NODEFILE=lines; do
  (export "${allocation%=*}=$work/${allocation#*=}" PATH="$work/bin:$PATH" && run 0 -l "$meet") || exit 1
  says out "\[0 ${hosts[0]}\] rank 0 of 3"
  says out "\[2 ${hosts[2]}\] rank 2 of 3"
done
PBS_NODEFILE=$work/lines run 0 --launch-agent "$agent" -l "$meet"
says out "\[2 ${hosts[2]}\] rank 2 of 3"

# One host whose loopback interface is down.
ip -n "${hosts[1]}" link set lo down
without_lo() { on "${hosts[1]}" "$lcrun" -n 2 "$@" > "$work/out" 2> "$work/err" < /dev/null; }
without_lo "$meet" && fail "lo is down"
says err "^lcrun: the ranks would meet at 127.0.0.1, but the interface lo is not up here; give --boot file"
without_lo --boot file "$meet" || fail "--boot file without lo"
ip -n "${hosts[1]}" link set lo up

# The start as a tree: each host starts the next.
run 0 "${over[@]}" --fan-out 1 -l "$meet"
says out "\[4 ${hosts[2]}\] rank 4 of 5"
nothing_is_left

# The interface: an address that the others don't reach, then one that they do.
run 1 "${over[@]}" --iface lo "$meet"
says err "can't reach lcrun: 127.0.0.1:"
run 0 "${over[@]}" --iface eth0 "$meet"
run 0 "${over[@]}" --iface 10.99.0.1 "$meet"
nothing_is_left

run 0 "${over[@]}" --dry-run "$meet"
says out "${hosts[1]}: ip netns exec ${hosts[1]} $lcrun --lcrun-helper"
says out "rank 4 on ${hosts[2]}: $meet"

# Input and output of ranks.
code=0
head -c 3000000 /dev/zero | on "${hosts[0]}" "$lcrun" "${over[@]}" --stdin 3 -l "$test_child" echo > "$work/out" || code=$?
((code == 0)) || fail "exit code $code with input"
says out "^\[3 ${hosts[2]}\] 3 read 3000000$"
says out "^\[0 ${hosts[0]}\] 0 read 0$"
run 0 "${over[@]}" -l "$test_child" lines 5000
[[ $(wc -l < "$work/out") == 25000 ]] || fail "lines are missing"
run 0 "${over[@]}" "$test_child" bytes 2097152
[[ $(tr -d -c x < "$work/out" | wc -c) == $((5 * 2097152)) ]] || fail "output is missing"
run 0 "${over[@]}" --output-dir "$work/files" "$test_child" lines 3
[[ $(wc -l < "$work/files/rank.4.stdout") == 3 && ! -s $work/files/rank.4.stderr ]] || fail "--output-dir"
run 0 "${over[@]}" -x GREETING='a b' --wdir / "$test_child" variable GREETING
[[ $(sort -u "$work/out") == 'a b' ]] || fail "-x"
run 0 "${over[@]}" --wdir / "$test_child" directory
[[ $(sort -u "$work/out") == / ]] || fail "--wdir"
nothing_is_left

# Nobody reads for a while: the ranks wait, and nothing is lost.
{ on "${hosts[0]}" "$lcrun" "${over[@]}" "$test_child" bytes 4194304 || echo "exit code $?"; } 2> "$work/err" |
  { until [[ -n $(job_processes "${hosts[2]}") ]]; do :; done; wc -c; } > "$work/out"
[[ $(< "$work/out") == $((5 * 4194304)) ]] || fail "a slow reader got $(< "$work/out")"

# Failures.
run 3 "${over[@]}" "$meet" fail 2 "$work"
says err "^lcrun: rank 2 on ${hosts[1]} failed first: exit code 3$"
nothing_is_left
run 137 "${over[@]}" "$test_child" signal-of-rank-1 9
says err "rank 1 on ${hosts[0]} failed first: signal 9 \(SIGKILL\)"
run 127 "${over[@]}" "$work/no-such-program"
says err "no-such-program"
run 127 "${over[@]}" --wdir /no/such "$meet"
says err '/no/such'
# (Long enough to start on three hosts while the machine does much else.)
run 124 "${over[@]}" --timeout 10 "$test_child" stay
says err "still running: ranks 0-1 on ${hosts[0]}; rank 2 on ${hosts[1]}; ranks 3-4 on ${hosts[2]}"
nothing_is_left
run 5 "${over[@]}" --grace 0 "$test_child" ignore-term
run 1 --launch-agent "$agent" -H "${hosts[0]},lci$$x" "$meet"
says err "lci$$x: no lcrun was started there: the launch agent \(ip\) ended with exit code 255: Cannot open network namespace"
run 1 --launch-agent no-such-agent -H "${hosts[0]},${hosts[1]}" "$meet"
says err "the launch agent \(no-such-agent\) ended with exit code 127: no-such-agent: No such file"
run 1 "${over[@]}" --remote-lcrun /no/such/lcrun "$meet"
says err '/no/such/lcrun'
run 1 --launch-agent 'sh -c "exec 0<&-; exec \"$@\"" %h' -H a,b "$meet"
says err 'must pass it on'
run 1 --launch-agent 'sh -c "read x" %h' -H a,b "$meet"
says err 'no lcrun was started there'
run 1 --launch-agent 'sh -c "sleep 1000" %h' --start-timeout 1 -H a,b "$meet"
says err 'not there after --start-timeout \(1 s\): a, b'
run 1 --launch-agent 'sh -c "sleep 1000" %h' --start-timeout 11 -H a,b "$meet"
says err 'not there after 10 s: a, b; it must reach this lcrun at .*; waiting until --start-timeout \(11 s\)'
says err 'not there after --start-timeout \(11 s\): a, b'
for arguments in "-H a:0" "-H -oProxyCommand=x" "-f /no/such/file" "--nnodes 3" "-H a,b --nnodes 3" "-H a --ppn 1 -n 2" \
  "-H a --boot file" "-H a --stdin 1" "--node-rank 0" "--node-rank 0 --nnodes 2 --rdzv-endpoint 127.0.0.1:0 -n 2" \
  "--node-rank 1" "--node-rank 2 --nnodes 2 -n 2 --report-uri x"; do
  # shellcheck disable=SC2086  # words are wanted
  LCI_BOOT_TOKEN='' run 2 $arguments "$meet"
done
nothing_is_left

# Signals.
background() {
  rm -rf "$work/ready" && mkdir "$work/ready"
  (exec ip netns exec "${hosts[0]}" "$lcrun" "$@") > "$work/out" 2> "$work/err" < /dev/null &
  job=$!
}
end_of_job() {
  local code=0
  wait "$job" || code=$?
  ((code == $1)) || fail "exit code $code, not $1"
}
background "${over[@]}" "$meet" stay "$work/ready"
wait_for_ranks "$work/ready" 5
kill -TERM "$job"
end_of_job 143
nothing_is_left
background "${over[@]}" -n 1 --nnodes 1 "$test_child" on-usr1 "$work/ready/0"
wait_for_ranks "$work/ready" 1
kill -USR1 "$job"
end_of_job 0
says out 'got SIGUSR1'
nothing_is_left

# The death of lcrun itself, of a helper, of a host; a cable that is cut; a slow one.
background "${over[@]}" "$meet" stay "$work/ready"
wait_for_ranks "$work/ready" 5
kill -KILL "$job"
for name in "${hosts[@]}"; do wait_until_empty "$name"; done

background "${over[@]}" "$meet" stay "$work/ready"
wait_for_ranks "$work/ready" 5
for pid in $(job_processes "${hosts[1]}"); do
  if grep -qz -- --lcrun-helper "/proc/$pid/cmdline" && grep -q '^lcrun$' "/proc/$pid/comm"; then kill -KILL "$pid"; fi
done
end_of_job 1
says err "host ${hosts[1]} \(rank 2\) is lost: the connection was closed"
for name in "${hosts[@]}"; do wait_until_empty "$name"; done

background "${over[@]}" "$meet" stay "$work/ready"
wait_for_ranks "$work/ready" 5
# shellcheck disable=SC2046  # words are wanted
kill -KILL $(ip netns pids "${hosts[2]}")
end_of_job 1
says err "host ${hosts[2]} \(ranks 3-4\) is lost"
nothing_is_left

background "${over[@]}" --host-timeout 2 "$meet" stay "$work/ready"
wait_for_ranks "$work/ready" 5
ip -n "$switch" link set cable1 down
end_of_job 1
says err "host ${hosts[1]} \(rank 2\) is lost: (Connection timed out|No route to host)"
wait_until_empty "${hosts[1]}" # its own helper finds out, too
nothing_is_left
ip -n "$switch" link set cable1 up

if ip netns exec "${hosts[1]}" tc qdisc add dev eth0 root tbf rate 1mbit burst 4kb latency 500ms 2> "$work/why"; then
  run 0 "${over[@]}" --host-timeout 3 -l "$test_child" lines 1500
  [[ $(grep -c "^\[2 ${hosts[1]}\]" "$work/out") == 1500 ]] || fail "lines are lost on a slow link"
else
  echo "NOT CHECKED: a slow link; tc can't make one: $(< "$work/why")"
fi
nothing_is_left

# By hand.
export LCI_BOOT_TOKEN=s3cret
by_hand() { # NODE ARGUMENTS
  local node=$1
  shift
  on "${hosts[node]}" "$lcrun" --node-rank "$node" --nnodes 3 "$@" < /dev/null
}
by_hand 1 --rdzv-endpoint 10.99.0.1:4567 "$meet" > "$work/out1" 2>&1 & first=$!
by_hand 2 --rdzv-endpoint 10.99.0.1:4567 "$meet" > "$work/out2" 2>&1 & second=$!
by_hand 0 --rdzv-endpoint 10.99.0.1:4567 -n 4 -l "$meet" > "$work/out" 2> "$work/err" || fail "by hand"
wait "$first" && wait "$second" || fail "by hand: $(cat "$work/out1" "$work/out2")"
says out '^\[0 .*\] rank 0 of 4: 0/2 1/2 0/1 0/1, next squared 1'
says out '^\[3 .*\] rank 3 of 4'
unset LCI_BOOT_TOKEN
# Each runs its own command line; all hear how the job ended.
by_hand 1 --rdzv-endpoint "$work/uri" "$test_child" exit-of-rank-1 9 > "$work/out1" 2>&1 & first=$!
by_hand 2 --rdzv-endpoint "$work/uri" "$test_child" stay > "$work/out2" 2>&1 & second=$!
for job in 0 first second; do
  code=0
  if [[ $job == 0 ]]; then
    by_hand 0 --report-uri "$work/uri" -n 3 "$test_child" stay > "$work/out" 2> "$work/err" || code=$?
  else
    wait "${!job}" || code=$?
  fi
  ((code == 9)) || fail "by hand: exit code $code of $job"
done
says err 'rank 1 on .* failed first: exit code 9'
[[ $(stat -c %a "$work/uri") == 600 ]] || fail "the secret can be read"
nothing_is_left
# A wrong secret, and a wrong number of hosts.
LCI_BOOT_TOKEN=right by_hand 0 --rdzv-endpoint 10.99.0.1:4567 --start-timeout 3 -n 3 "$meet" > "$work/out" 2> "$work/err" & zeroth=$!
LCI_BOOT_TOKEN=wrong by_hand 1 --rdzv-endpoint 10.99.0.1:4567 "$meet" > "$work/out1" 2>&1 && fail "a wrong token is taken"
grep -q "token is not this job's" "$work/out1" || fail "wrong token: $(< "$work/out1")"
LCI_BOOT_TOKEN=right on "${hosts[1]}" "$lcrun" --node-rank 1 --nnodes 7 --rdzv-endpoint 10.99.0.1:4567 "$meet" > "$work/out1" 2>&1
grep -q 'it says --nnodes 7, but this job has 3' "$work/out1" || fail "wrong --nnodes: $(< "$work/out1")"
wait "$zeroth" && fail "a job without its hosts"
says err 'not there after --start-timeout \(3 s\): node 1, node 2'
nothing_is_left
echo PASSED
