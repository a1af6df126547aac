# Three hosts on this machine, for tests to source: network namespaces, each with one end of a cable (a veth pair) whose
# other end is at a bridge in a fourth. Nothing outside of them changes; they go when the test ends.
#   host 1 to 3 are called ${hosts[0]} to ${hosts[2]} and have the addresses 10.99.0.1 to 10.99.0.3
# A test that can't have them passes, and says loudly that it has checked nothing.

PATH=$PATH:/usr/sbin:/sbin
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/hosts.XXXXXX")
hosts=("lci$$a" "lci$$b" "lci$$c")
switch=lci$$s

# With the address sanitizer: the provider net of libfabric leaks the state of its connections.
echo leak:libfabric.so > "$work/leaks"
export LSAN_OPTIONS=suppressions=$work/leaks:print_suppressions=0

# Files that a stopped job would leave in a namespace end with it.
remove_hosts() {
  local name pid
  for name in "${hosts[@]}" "$switch"; do
    for pid in $(ip netns pids "$name" 2> /dev/null); do kill -KILL "$pid" 2> /dev/null; done
    ip netns del "$name" 2> /dev/null
  done
  rm -rf "$work"
}
trap remove_hosts EXIT

skip() {
  echo "SKIPPED, NOTHING WAS CHECKED: $*"
  exit 0
}

fail() {
  echo "FAILED: $*" >&2
  for file in "$work"/out "$work"/err; do
    if [[ -s $file ]]; then sed "s/^/  ${file##*/}: /" "$file" >&2; fi
  done
  exit 1
}

make_hosts() {
  command -v ip > /dev/null || skip "there is no ip (package iproute2)"
  ip netns add "$switch" 2> "$work/why" || skip "network namespaces are not permitted here: $(< "$work/why")"
  ip -n "$switch" link add bridge type bridge 2> "$work/why" || skip "no bridges here: $(< "$work/why")"
  ip -n "$switch" link set bridge up
  local i name
  for i in 0 1 2; do
    name=${hosts[i]}
    ip netns add "$name"
    ip -n "$name" link set lo up
    ip -n "$switch" link add "cable$i" type veth peer name eth0 netns "$name" 2> "$work/why" ||
      skip "no veth pairs here: $(< "$work/why")"
    ip -n "$switch" link set "cable$i" master bridge up
    ip -n "$name" addr add "10.99.0.$((i + 1))/24" dev eth0
    ip -n "$name" link set eth0 up
  done
}

# A launch agent that gives each host also a name and a /dev/shm of its own, as machines have.
machine_agent="ip netns exec %h unshare --uts --mount sh -c 'hostname \$0 && mount -t tmpfs none /dev/shm && exec \"\$@\"' %h"

# on HOST COMMAND...
on() { ip netns exec "$@"; }

# as_machine HOST COMMAND...: on a host, which then has a name and a /dev/shm of its own, as machines have.
as_machine() {
  ip netns exec "$1" unshare --uts --mount sh -c 'hostname "$0" && mount -t tmpfs none /dev/shm && exec "$@"' "$@"
}

# run CODE ARGUMENTS: lcrun, on the first host; its exit code must be CODE. Output in $work/out and err.
run() {
  local expected=$1 code=0
  shift
  on "${hosts[0]}" "$lcrun" "$@" > "$work/out" 2> "$work/err" < /dev/null || code=$?
  ((code == expected)) || fail "exit code $code, not $expected: lcrun $*"
}

# Skips the test if a program of LCI has said in $work/err that libfabric is not installed.
skip_without_libfabric() {
  if grep -q "libfabric can't be loaded" "$work/err"; then skip "there is no libfabric (libfabric1)"; fi
}

# need_libfabric PROGRAM...: skips the test where a program of LCI finds no libfabric.
need_libfabric() {
  LCI_ATTR_BACKEND=ofi on "${hosts[0]}" "$@" > "$work/out" 2> "$work/err" < /dev/null
  skip_without_libfabric
}

says() { grep -qE -- "$2" "$work/$1" || fail "std$1 does not say '$2'"; }

# Until ranks 0 to N-1 have made their files in DIR; the test's time limit is the only deadline.
wait_for_ranks() {
  local rank
  for ((rank = 0; rank < $2; ++rank)); do
    until [[ -e $1/$rank ]]; do read -rt 0.02 < <(:) || :; done
  done
}

# Until no process is left of those in the namespace that have been started by the job.
wait_until_empty() {
  while [[ -n $(job_processes "$1") ]]; do read -rt 0.02 < <(:) || :; done
}

# Processes of a host that belong to a job: ranks, helpers, guards.
job_processes() {
  local pid
  for pid in $(ip netns pids "$1"); do
    if grep -qE '^(lcrun|lci-reaper|meet|test_child|hello|kmer|pingpong|talk)$' "/proc/$pid/comm" 2> /dev/null; then echo "$pid"; fi
  done
}

# That meet has run with two ranks on the first and the last host, and one between.
check_places() {
  local line rank
  sort "$work/out" > "$work/sorted"
  for line in "0 ${hosts[0]}" "1 ${hosts[0]}" "2 ${hosts[1]}" "3 ${hosts[2]}" "4 ${hosts[2]}"; do
    rank=${line%% *}
    echo "[$line] rank $rank of 5: 0/2 1/2 0/1 0/2 1/2, next squared $(((rank + 1) % 5 * ((rank + 1) % 5)))"
  done | cmp - "$work/sorted" || fail "ranks are not where they should be"
}

nothing_is_left() {
  local name
  for name in "${hosts[@]}"; do
    [[ -z $(job_processes "$name") ]] || fail "$name has processes left: $(job_processes "$name")"
  done
}

# With ssh; $sshd is the daemon's path.

make_ssh_hosts() {
  ssh-keygen -q -t ed25519 -N '' -f "$work/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$work/key" ||
    fail "no keys"
  cp "$work/key.pub" "$work/authorized_keys"
  cat > "$work/sshd_config" << EOF
HostKey $work/host_key
AuthorizedKeysFile $work/authorized_keys
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
MaxStartups 100
EOF
  cat > "$work/ssh_config" << EOF
UserKnownHostsFile $work/known_hosts
IdentityFile $work/key
IdentitiesOnly yes
Port 2222
EOF
  local i name daemons=()
  for i in 0 1 2; do
    name=${hosts[i]}
    printf 'Host %s\nHostName 10.99.0.%d\n' "$name" $((i + 1)) >> "$work/ssh_config"
    echo "[10.99.0.$((i + 1))]:2222 $(cut -d ' ' -f 1,2 "$work/host_key.pub")" >> "$work/known_hosts"
    # sshd wants /run/sshd, which only a running system has. What a login does here is not our business.
    ip netns exec "$name" unshare --uts --mount sh -c '
      hostname "$0" && mount -t tmpfs none /dev/shm && mount -t tmpfs none /run && mkdir /run/sshd || exit
      for file in ~root/.bashrc ~root/.ssh/rc; do if [ -e "$file" ]; then mount --bind /dev/null "$file"; fi; done
      exec "$@"' "$name" "$sshd" -D -e -f "$work/sshd_config" -o "ListenAddress=10.99.0.$((i + 1)):2222" \
      2> "$work/sshd.$i" &
    daemons+=($!)
  done
  for i in 0 1 2; do
    until grep -qs 'Server listening' "$work/sshd.$i"; do
      kill -0 "${daemons[i]}" 2> /dev/null || fail "no sshd: $(< "$work/sshd.$i")"
      read -rt 0.02 < <(:) || :
    done
  done
}
