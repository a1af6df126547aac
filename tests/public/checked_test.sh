#!/bin/bash
# checked_test.sh LCRUN PROGRAM: with LCI_CHECK=1, free_comp refuses an object that a receive will signal, and what is left
# at the end is named; without it, nothing is said.
set -u
lcrun=$PWD/$1
program=$PWD/$2
failures=0
for backend in shm ofi; do
  export LCI_ATTR_BACKEND=$backend
  output=$(LCI_CHECK=1 "$lcrun" --oversubscribe -n 2 --timeout 100 "$program" 2>&1) || failures=$((failures + 1))
  for text in \
    'free_comp: a receive of 8 bytes from rank 1 with tag 5 is pending, and will signal completion object "results"' \
    'free_comp: a receive of 8 bytes from rank 0 with tag 5 is pending' \
    'g_runtime_fina: rank 1 leaves 3 messages, the first one of 80 bytes with tag 9 from rank 0, which no receive' \
    'g_runtime_fina: rank 1 leaves a receive of 1 byte with tag 6 from rank 0, which no message' \
    'g_runtime_fina: rank 1 leaves a receive of 100 bytes with tag 7 from any rank' \
    'lci[rank 0] warn: global_finalize: 1 x synchronizer "never" allocated at checked(main' \
    'lci[rank 1] warn: global_finalize: 1 x synchronizer "never" allocated at checked(main'; do
    grep -qF -- "$text" <<<"$output" || { echo "$backend: nothing says: $text"; failures=$((failures + 1)); }
  done
  [ "$(grep -c leaves <<<"$output")" -eq 3 ] && [ "$(grep -c 'not been freed' <<<"$output")" -eq 2 ] || failures=$((failures + 1))
  [ $failures -eq 0 ] || echo "$output"
  output=$("$lcrun" --oversubscribe -n 2 --timeout 100 "$program" 2>&1) && [ -z "$output" ] || {
    echo "$backend, without LCI_CHECK: $output"
    failures=$((failures + 1))
  }
done
exit $failures
