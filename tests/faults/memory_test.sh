#!/usr/bin/env bash
# lcrun says so when the kernel has killed a rank because memory ran out, here that of a control group.
# usage: memory_test.sh LCRUN TEST_CHILD
set -uo pipefail
lcrun=$(realpath "$1") test_child=$(realpath "$2")
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/memory.XXXXXX")
group=

clean_up() {
  if [[ -n $group ]]; then rmdir "$group" 2> /dev/null; fi
  rm -rf "$work"
}
trap clean_up EXIT

skip() {
  echo "SKIPPED, NOTHING WAS CHECKED: $*"
  exit 0
}
fail() {
  echo "FAILED: $*" >&2
  sed 's/^/  err: /' "$work/err" >&2
  exit 1
}

# A control group of memory, in version 2 or 1 of the interface.
grep -q '^oom_kill ' /proc/vmstat || skip "this kernel does not count what it kills"
for root in /sys/fs/cgroup /sys/fs/cgroup/memory; do
  if mkdir "$root/lci-test-$$" 2> /dev/null; then
    group=$root/lci-test-$$
    for limit in memory.max memory.limit_in_bytes; do
      if [[ -w $group/$limit ]]; then break 2; fi
    done
    rmdir "$group"
    group=
  fi
done
[[ -n $group ]] || skip "no control groups of memory can be made here"
echo 100000000 > "$group/$limit" || skip "memory can't be limited here"
if [[ -w $group/memory.swap.max ]]; then echo 0 > "$group/memory.swap.max"; fi

# In a control group of little memory: COMMAND...
limited() {
  (echo "$BASHPID" > "$group/cgroup.procs" && exec "$@") > "$work/out" 2> "$work/err" < /dev/null
}

code=0
limited "$lcrun" --oversubscribe -n 2 "$test_child" fill-memory-of-rank-1 || code=$?
((code == 137)) || fail "exit code $code, not 137"
grep -qE '^lcrun: rank 1 was probably killed because memory ran out: since the ranks started, the kernel has killed [0-9]+ ' "$work/err" ||
  fail "nothing about memory"
grep -qE '^lcrun: rank 1 on .* failed first: signal 9 \(SIGKILL\)' "$work/err" || fail "nothing about the signal"

# Another SIGKILL has nothing to do with memory.
limited "$lcrun" --oversubscribe -n 2 "$test_child" signal-of-rank-1 9
if grep -q 'memory' "$work/err"; then fail "memory is blamed"; fi
echo PASSED
