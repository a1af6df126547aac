#!/usr/bin/env bash
# The recordings of whole jobs, and what lci_trace makes of them.
# usage: trace_test.sh LCRUN LCI_TRACE PROGRAM CHECK_TRACE RANKS [BACKEND]
set -u
lcrun=$PWD/$1 lci_trace=$PWD/$2 program=$PWD/$3 check_trace=$PWD/$4
ranks=$5
export LCI_ATTR_BACKEND=${6:-}
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# Starts a job with a new, empty directory of recordings in $LCI_RECORD_DIR.
job() {
  export LCI_RECORD_DIR
  LCI_RECORD_DIR=$(mktemp -d "$TEST_TMPDIR/job.XXXXXX")
  "$lcrun" --oversubscribe -n "$ranks" --timeout 100 --grace 1 "$program" "$@"
}

# A job that ends as it should leaves nothing, unless an option asks for it.
LCI_RECORD=1 job messages || fail "the job of messages failed"
[[ -z $(ls "$LCI_RECORD_DIR") ]] || fail "a job that ended leaves $(ls "$LCI_RECORD_DIR")"
"$lci_trace" show 2> "$TEST_TMPDIR/err" && fail "lci_trace shows recordings where there are none"
grep -q 'has no recording' "$TEST_TMPDIR/err" || fail "no reason: $(cat "$TEST_TMPDIR/err")"

# Every message has an arrow..
LCI_RECORD=keep LCI_RECORD_EVENTS=1M job messages || fail "the job with keep failed"
[[ $(ls "$LCI_RECORD_DIR" | wc -l) == "$ranks" ]] || fail "of $ranks ranks: $(ls "$LCI_RECORD_DIR")"
"$lci_trace" merge "$LCI_RECORD_DIR" -o "$TEST_TMPDIR/trace.json" || fail "lci_trace merge"
python3 -B "$check_trace" "$TEST_TMPDIR/trace.json" "$ranks" --complete || fail "the trace is wrong"
"$lci_trace" merge "$LCI_RECORD_DIR"/*.lcirec | cmp - "$TEST_TMPDIR/trace.json" || fail "another trace on standard output"
for refusal in "/nonexistent/trace: No such file or directory" "all of /dev/full: No space left on device"; do
  path=${refusal#all of }
  "$lci_trace" merge "$LCI_RECORD_DIR" -o "${path%%:*}" 2> "$TEST_TMPDIR/err" && fail "a trace that is not written is no error"
  grep -qx "lci_trace: can't write $refusal" "$TEST_TMPDIR/err" || fail "no reason: $(cat "$TEST_TMPDIR/err")"
done
# The operations of the program are in it.
"$lci_trace" show --last 1000000 > "$TEST_TMPDIR/all" || fail "lci_trace show"
for text in 'post            send to rank' 'arrival         send from rank' 'post            ready to send to rank' \
  'arrival         ready to receive from' 'active message to rank' 'matched arrival' 'it has finalized' \
  'collective      allgather ' 'receive         a receive with tag' 'signal          an operation'; do
  grep -q -- "$text" "$TEST_TMPDIR/all" || fail "nothing of \"$text\" is recorded"
done
# Rings that have overflowed: only messages with both ends left have an arrow.
LCI_RECORD=keep LCI_RECORD_EVENTS=64 job messages || fail "the job with few events failed"
"$lci_trace" merge -o "$TEST_TMPDIR/few.json" || fail "lci_trace merge of few events"
python3 -B "$check_trace" "$TEST_TMPDIR/few.json" "$ranks" || fail "the trace of few events is wrong"

# A rank that is killed leaves its last events..
victim=$((ranks - 1))
LCI_RECORD=1 job kill "$victim" 2> "$TEST_TMPDIR/err" && fail "a job whose rank was killed succeeded"
file=$(ls "$LCI_RECORD_DIR"/*."$victim".lcirec)
"$lci_trace" show "$file" > "$TEST_TMPDIR/dead" || fail "the recording of the killed rank can't be read"
grep -q "^rank $victim of $ranks, .*: it is gone, and has not finalized" "$TEST_TMPDIR/dead" ||
  fail "the killed rank is not named: $(head -5 "$TEST_TMPDIR/dead")"
# Its last post, and none behind it.
last=$(grep '  post  ' "$TEST_TMPDIR/dead" | tail -1)
[[ $last == *"send to rank 0, tag 41, 4 bytes, "* ]] || fail "the last post of the killed rank is: $last"
"$lci_trace" merge -o "$TEST_TMPDIR/dead.json" || fail "lci_trace merge of a killed job"
python3 -B "$check_trace" "$TEST_TMPDIR/dead.json" "$ranks" || fail "the trace of a killed job is wrong"

# A damaged file is named, the others are shown..
truncate --size=-1 "$file"
"$lci_trace" show > "$TEST_TMPDIR/rest" 2> "$TEST_TMPDIR/err" && fail "a damaged file is no error"
grep -q "^lci_trace: $file: the recording is damaged: it ends here" "$TEST_TMPDIR/err" ||
  fail "the damaged file is not named: $(cat "$TEST_TMPDIR/err")"
grep -q '^rank 0 of ' "$TEST_TMPDIR/rest" || fail "the other ranks are not shown"

# SIGUSR1 keeps the recordings of a job that ends as it should, and they can be read before..
mkfifo "$TEST_TMPDIR/input"
LCI_RECORD=1 job wait < "$TEST_TMPDIR/input" > "$TEST_TMPDIR/out" 2> "$TEST_TMPDIR/err" &
started=$!
exec 9> "$TEST_TMPDIR/input"
until grep -q waiting "$TEST_TMPDIR/out" 2> /dev/null; do kill -0 $started 2> /dev/null || break; done
LCI_RECORD_DIR=$(ls -td "$TEST_TMPDIR"/job.* | head -1)
"$lci_trace" show "$LCI_RECORD_DIR" | grep ': it runs' > /dev/null || fail "a running job is not shown"
kill -USR1 $(sed -n 's/^rank 0 of .* process \([0-9]*\) .*/\1/p' <("$lci_trace" show "$LCI_RECORD_DIR"))
until (($("$lci_trace" show "$LCI_RECORD_DIR" | grep -c 'the job was asked') >= ranks)); do
  kill -0 $started 2> /dev/null || break
done
exec 9>&-
wait $started || fail "the job that was asked failed: $(cat "$TEST_TMPDIR/err")"
"$lci_trace" show "$LCI_RECORD_DIR" > "$TEST_TMPDIR/asked" || fail "SIGUSR1 does not keep the recordings"
[[ $(grep -c 'it has finalized; it was asked' "$TEST_TMPDIR/asked") == "$ranks" ]] ||
  fail "SIGUSR1 does not keep all recordings: $(grep ^rank "$TEST_TMPDIR/asked")"

# Values that are wrong..
for wrong in LCI_RECORD=2 LCI_RECORD_EVENTS=100 LCI_RECORD_EVENTS=2M; do
  env "$wrong" "$program" 2> "$TEST_TMPDIR/err" && fail "$wrong is accepted"
  grep -q "${wrong%=*}" "$TEST_TMPDIR/err" || fail "$wrong is not named: $(cat "$TEST_TMPDIR/err")"
done
LCI_RECORD=1 LCI_RECORD_DIR=/nonexistent "$program" 2> "$TEST_TMPDIR/err" || fail "a job that can't record fails"
grep -q 'does not record its events: .*/nonexistent' "$TEST_TMPDIR/err" || fail "no warning: $(cat "$TEST_TMPDIR/err")"

[[ $failures == 0 ]]
