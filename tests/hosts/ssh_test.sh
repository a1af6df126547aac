#!/usr/bin/env bash
# lcrun over three hosts with a real sshd on each, and a name and /dev/shm of their own.
# usage: ssh_test.sh LCRUN MEET TESTEE
set -uo pipefail
lcrun=$(realpath "$1") meet=$(realpath "$2") test_child=$(realpath "$3")
. "$(dirname "$0")/simulated_hosts.sh"
sshd=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd) || skip "there is no sshd (package openssh-server)"
command -v ssh > /dev/null || skip "there is no ssh (package openssh-client)"
make_hosts
make_ssh_hosts

# The agent is the default one, but for where its configuration is.
run() {
  local expected=$1 code=0
  shift
  as_machine "${hosts[0]}" "$lcrun" "$@" > "$work/out" 2> "$work/err" < /dev/null || code=$?
  ((code == expected)) || fail "exit code $code, not $expected: lcrun $*"
}
export LCRUN_LAUNCH_AGENT="ssh -F $work/ssh_config -o BatchMode=yes"

run 0 -H "${hosts[0]}:2,${hosts[1]},${hosts[2]}:2" -l "$meet"
check_places
nothing_is_left

# This host needs no agent, the others have theirs from it: a tree over ssh.
(
  unset LCRUN_LAUNCH_AGENT
  export PATH="$work/bin:$PATH"
  mkdir "$work/bin"
  printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$work/ssh_config" > "$work/bin/ssh"
  chmod +x "$work/bin/ssh"
  run 0 -H "${hosts[0]},${hosts[1]},${hosts[2]}" -l "$meet"
  says out "^\[2 ${hosts[2]}\] rank 2 of 3"
) || exit 1
run 0 -H "${hosts[0]},${hosts[1]},${hosts[2]}" --fan-out 1 -l "$meet"
says out "^\[2 ${hosts[2]}\] rank 2 of 3"
nothing_is_left

# The secret is nowhere where others see it.
mkdir "$work/ready"
as_machine "${hosts[0]}" "$lcrun" -H "${hosts[0]},${hosts[1]},${hosts[2]}" "$meet" stay "$work/ready" \
  > "$work/out" 2> "$work/err" < /dev/null &
job=$!
wait_for_ranks "$work/ready" 3
token=$(tr '\0' '\n' < "/proc/$(< "$work/ready/2")/environ" | sed -n 's/^LCI_BOOT_TOKEN=//p')
((${#token} == 32)) || fail "the token is '$token'"
for file in /proc/[0-9]*/cmdline; do
  if [[ $(tr '\0' ' ' < "$file") == *$token* ]]; then fail "the token is on a command line: $(tr '\0' ' ' < "$file")"; fi
done 2> /dev/null
# A host goes: its sshd and all else.
# shellcheck disable=SC2046  # words are wanted
kill -KILL $(ip netns pids "${hosts[1]}")
code=0
wait "$job" || code=$?
((code == 1)) || fail "exit code $code after the death of a host"
says err "host ${hosts[1]} \(rank 1\) is lost"
nothing_is_left

# It has no sshd now: ssh says so, lcrun says where.
run 1 -H "${hosts[0]},${hosts[1]}" "$meet"
says err "^lcrun: ${hosts[1]}: no lcrun was started there: the launch agent \(ssh\) ended with exit code 255: .*Connection refused"
run 7 -H "${hosts[0]},${hosts[2]}" "$test_child" exit-of-rank-1 7
says err "rank 1 on ${hosts[2]} failed first: exit code 7"
run 1 --remote-lcrun "/no/such dir/lcrun" -H "${hosts[0]},${hosts[2]}" "$meet"
says err "no lcrun was started there: .* exit code 127: .*/no/such dir/lcrun"
nothing_is_left
echo PASSED
