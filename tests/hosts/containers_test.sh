#!/usr/bin/env bash
# Ranks of one machine in containers of their own: none may open the memory of another one by its name in /proc, so they
# pass descriptors to each other. usage: containers_test.sh LCRUN TOUR TALK
set -uo pipefail
lcrun=$(realpath "$1") tour=$(realpath "$2") talk=$(realpath "$3")
. "$(dirname "$0")/simulated_hosts.sh"
user=(unshare --user)
container=(unshare --user --map-root-user --pid --mount --fork --kill-child --mount-proc)
"${container[@]}" true 2> "$work/why" || skip "user and PID namespaces are not permitted here: $(< "$work/why")"
export LCI_LOG_LEVEL=info

# completes NAME RANKS COMMAND...: the command runs a job of so many ranks, over shared memory, which passes descriptors.
completes() {
  local name=$1 ranks=$2
  shift 2
  "$@" > "$work/out" 2> "$work/err" < /dev/null || fail "$name: exit code $?"
  [[ $(grep -c "^complete" "$work/out") == "$ranks" ]] || fail "$name: not all ranks are complete"
  grep -q "shm: rank .* passes its descriptors" "$work/err" || fail "$name: nothing was passed"
}

for ranks in 2 3 4; do
  completes "user namespaces, $ranks ranks" "$ranks" "$lcrun" -n "$ranks" "${user[@]}" "$tour"
  completes "containers, $ranks ranks" "$ranks" "$lcrun" -n "$ranks" "${container[@]}" "$tour"
  completes "containers, without TCP, $ranks ranks" "$ranks" \
    "$lcrun" --boot file -n "$ranks" "${container[@]}" "$tour"
  completes "one rank outside, $ranks ranks" "$ranks" \
    "$lcrun" -n 1 "$tour" : -n $((ranks - 1)) "${container[@]}" "$tour"
done

# A process whose program it may not read hides its memory, as one whose program has capabilities.
if ((EUID == 0)); then
  unreadable=$(mktemp -d /tmp/unreadable.XXXXXX)
  trap 'rm -rf "$unreadable"; remove_hosts' EXIT
  cp "$lcrun" "$tour" "$unreadable"
  chmod 0711 "$unreadable"
  chmod 0111 "$unreadable/${tour##*/}"
  chmod 0555 "$unreadable/${lcrun##*/}"
  completes "an unreadable program" 3 setpriv --reuid 54321 --regid 54321 --clear-groups \
    "$unreadable/${lcrun##*/}" -n 3 "$unreadable/${tour##*/}"
  completes "no /proc" 3 unshare --mount sh -c 'umount -l /proc && exec "$@"' sh "$lcrun" -n 3 "$tour"
fi

# Sockets do not lead to another network namespace.
if LCI_ATTR_BACKEND=shm "$lcrun" --boot file -n 2 unshare --user --net "$tour" > "$work/out" 2> "$work/err" < /dev/null; then
  fail "ranks with different network namespaces: the job has ended well"
fi
grep -qF "it has another network namespace (LCI_ATTR_BACKEND=ofi joins any), or has ended" "$work/err" || fail "no word of the network namespace"

# A rank learns of the end of another one whose process has no number in its namespace.
mkdir "$work/heard" "$work/boot"
export LCI_ATTR_BACKEND=shm LCI_BOOT=file LCI_BOOT_DIR=$work/boot LCI_JOB_ID=containers-$$ LCI_SIZE=2
rank_jobs=()
for rank in 0 1; do
  LCI_RANK=$rank "${container[@]}" "$talk" "$work/heard" 1 > "$work/out.$rank" 2> "$work/err.$rank" < /dev/null &
  rank_jobs+=($!)
done
until [[ -e $work/heard/0 && -e $work/heard/1 ]]; do
  kill -0 "${rank_jobs[0]}" 2> /dev/null || fail "the ranks have not met: $(cat "$work"/err.*)"
  read -rt 0.02 < <(:) || :
done
kill -KILL "${rank_jobs[1]}"
wait "${rank_jobs[0]}" || fail "rank 0 did not learn of the end of rank 1: $(< "$work/err.0")"
grep -q "^rank 0: lci: .*rank 1.* is gone" "$work/out.0" || fail "rank 0 says: $(< "$work/out.0")"
grep -q "its process has ended" "$work/err.0" || fail "rank 0 says: $(< "$work/err.0")"
echo PASSED
