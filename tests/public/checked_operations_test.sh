#!/bin/bash
# checked_operations_test.sh LCRUN PROGRAM: with LCI_CHECK=1, each mistake of the program is named; without it, nothing is
# said.
set -u
lcrun=$PWD/$1
program=$PWD/$2
failures=0

fail() {
  echo "FAILED: $1"
  echo "$output"
  failures=$((failures + 1))
}

# run MISTAKE: in $output what the job says.
run() { output=$("$lcrun" --oversubscribe -n 2 --timeout 100 "$program" "$1" 2>&1); }

# says MISTAKE TEXT...: the job ends with 0 (after "unmap", with the 3 of rank 0) and says each text.
says() {
  local mistake=$1 code
  shift
  LCI_CHECK=1 run "$mistake"
  code=$?
  [ $code -eq "$([ "$mistake" = unmap ] && echo 3 || echo 0)" ] || fail "$backend, $mistake: code $code"
  for text in "$@"; do grep -qE -- "$text" <<<"$output" || fail "$backend, $mistake: nothing says: $text"; done
}

for backend in shm ofi; do
  export LCI_ATTR_BACKEND=$backend
  message='a send of 262144 bytes to rank 1 with tag 7'
  says change \
    "LCI_CHECK: $message, posted at checked_operations\(.*: bytes 4096 to 8191 of its buffer have changed while it was pending"
  says overlap \
    'rank 0\] error: LCI_CHECK: a receive of 8 bytes from rank 1 with tag 2 is posted with a buffer that overlaps that of a receive of 8 bytes from rank 1 with tag 1, which was posted at checked_operations\(' \
    'rank 1\] error: LCI_CHECK: a receive of 8 bytes from rank 0 with tag 2'
  says free \
    "free_comp: $message is pending, and will signal completion object \"large\"" \
    'free_comp: the collective operation barrier is pending, and will signal completion object "collective"'
  says retry \
    'rank 0\] error: LCI_CHECK: 1 post answered retry and was not posted again.*an active message of 8 bytes to rank 0 with tag 0 .* at checked_operations\(' \
    'rank 1\] error: LCI_CHECK: 1 post answered retry'
  LCI_HANG_REPORT=0.1 says progress \
    "thread [0-9]* has posted 1 operation to device 0, and no thread has made progress on it since: $message, posted at checked_operations\("
  says device \
    'thread [0-9]* has posted 1 operation to device 1, and no thread has made progress on it since: a send of 262144 bytes'
  says registered 'free_comp: completion object "registered" is registered as [0-9]+, and a message for it would be dropped'
  says packet 'put_upacket: this packet has been returned before, at checked_operations\('
  says finalize 'g_runtime_fina: thread [0-9]* is inside progress on device 0; stop the threads'
  difference='LCI_CHECK: the ranks call different collective operations: as number'
  call='calls allreduce of 4 bytes in items of 4 bytes'
  says operator "$difference 2, rank 1 $call, and rank 0 $call with another operator" \
    "$difference 2, rank 0 $call, and rank 1 $call with another operator"
  says start "$difference 2, rank 1 $call, and rank 0 $call with another operator" \
    "$difference 2, rank 0 $call, and rank 1 $call with another operator"
  # One sentence for each mistake.
  for mistake in change overlap retry device operator start; do
    LCI_CHECK=1 run $mistake
    [ "$(grep -c LCI_CHECK <<<"$output")" -eq "$([ $mistake = change ] && echo 1 || echo 2)" ] || fail "$backend, $mistake: more is said"
    run $mistake && [ -z "$output" ] || fail "$backend, $mistake, without LCI_CHECK"
  done
done
# In shared memory it is an error without LCI_CHECK.
LCI_ATTR_BACKEND=ofi backend=ofi says root \
  "$difference 1, rank 1 calls broadcast of 4 bytes from rank 1, and rank 0 calls broadcast of 4 bytes from rank 0"
LCI_ATTR_BACKEND=shm backend=shm says unmap \
  'LCI_CHECK: a send of 262144 bytes .*: bytes 0 to 4095 of its buffer are no longer mapped while it was pending'
# Of the buffer, 2 KiB at each end are looked at, and byte 5000 is changed.
output=$(LCI_CHECK=1 LCI_CHECK_BYTES=4096 "$lcrun" --oversubscribe -n 2 --timeout 100 "$program" change 2>&1) && [ -z "$output" ] ||
  fail "LCI_CHECK_BYTES=4096"
output=$(LCI_CHECK=1 LCI_CHECK_BYTES=much "$lcrun" --oversubscribe -n 2 --timeout 100 "$program" change 2>&1) &&
  fail "LCI_CHECK_BYTES=much is taken"
grep -q 'LCI_CHECK_BYTES' <<<"$output" || fail "nothing names LCI_CHECK_BYTES"
exit $failures
