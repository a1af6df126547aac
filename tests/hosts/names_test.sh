#!/usr/bin/env bash
# Hosts that resolve their own names to 127.0.1.1, as Debian and Ubuntu install them, and the others' names to
# addresses. An address by name is the same text on all hosts, and leads to the one that has the name.
# usage: names_test.sh LCRUN HELLO
set -uo pipefail
lcrun=$(realpath "$1") hello=$(realpath "$2")
. "$(dirname "$0")/simulated_hosts.sh"
make_hosts

for i in 0 1; do
  {
    echo "127.0.0.1 localhost"
    echo "127.0.1.1 ${hosts[i]}"
    echo "10.99.0.$((2 - i)) ${hosts[1 - i]}"
  } > "$work/hosts.$i"
done
# as INDEX COMMAND...: on that host, with its name, its /etc/hosts and a /dev/shm of its own.
as() {
  local i=$1
  shift
  exec ip netns exec "${hosts[i]}" unshare --uts --mount sh -c '
    hostname "$0" && mount --bind "$1" /etc/hosts && mount -t tmpfs none /dev/shm && shift && exec "$@"' \
    "${hosts[i]}" "$work/hosts.$i" "$@"
}
(as 0 getent hosts "${hosts[0]}") | grep -q '^127.0.1.1 ' || skip "the names of hosts are not looked up in /etc/hosts"

# both DESCRIPTION: runs the commands `first` and `second` on the two hosts, which greet each other and end well.
both() {
  (as 1 "${second[@]}") > "$work/out.1" 2> "$work/err.1" < /dev/null &
  (as 0 "${first[@]}") > "$work/out" 2> "$work/err" < /dev/null || fail "$1: the first host"
  wait $! || fail "$1: the second host: $(< "$work/err.1")"
  cat "$work/out" "$work/out.1" > "$work/all"
  grep -q '^rank 0 of 2: hello from rank 1 on ' "$work/all" && grep -q '^rank 1 of 2: hello from rank 0 on ' "$work/all" ||
    fail "$1: $(< "$work/all")"
}

need_libfabric "$hello"

export LCI_BOOT_TOKEN=secret LCI_BOOT_TIMEOUT=20
first=(env LCI_RANK=0 LCI_SIZE=2 "LCI_BOOT_ADDR=${hosts[0]}:4568" "$hello")
second=(env LCI_RANK=1 LCI_SIZE=2 "LCI_BOOT_ADDR=${hosts[0]}:4568" "$hello")
both "LCI_BOOT_ADDR"

meet=(--nnodes 2 --rdzv-endpoint "${hosts[0]}:4567")
first=("$lcrun" --node-rank 0 "${meet[@]}" -n 2 "$hello")
second=("$lcrun" --node-rank 1 "${meet[@]}" "$hello")
both "--rdzv-endpoint"
nothing_is_left

# Ranks of one host need no token, and are not reachable from others.
unset LCI_BOOT_TOKEN
(as 0 env LCI_RANK=0 LCI_SIZE=2 "LCI_BOOT_ADDR=${hosts[0]}:4569" "$hello") > "$work/out.1" 2> "$work/err.1" < /dev/null &
(as 0 env LCI_RANK=1 LCI_SIZE=2 "LCI_BOOT_ADDR=${hosts[0]}:4569" "$hello") > "$work/out" 2> "$work/err" < /dev/null ||
  fail "one host, without a token"
wait $! || fail "one host, without a token: $(< "$work/err.1")"
nothing_is_left

# A rank of another host learns that it does.
code=0
(as 1 env LCI_RANK=1 LCI_SIZE=2 LCI_BOOT_TIMEOUT=1 "LCI_BOOT_ADDR=${hosts[0]}:4569" "$hello") > "$work/out" 2> "$work/err" < /dev/null ||
  code=$?
((code == 1)) || fail "exit code $code of a rank that nobody serves"
says err "is it running, is LCI_BOOT_ADDR the same, and, if it is on another machine, is LCI_BOOT_TOKEN set in all ranks[?]"
echo PASSED
