#!/usr/bin/env bash
# The k-mer counter on one number of ranks, with 1, 2 and 4 threads: exact counts, and every kind of bad input.
# usage: launched_test.sh LCRUN KMER MAKE_SAMPLE RANKS
set -euo pipefail
lcrun=$1 kmer=$2 make_sample=$3 ranks=$4
cd_to=$(mktemp -d "${TEST_TMPDIR:-/tmp}/kmer.XXXXXX")
trap 'rm -rf "$cd_to"' EXIT
"$make_sample" "$cd_to"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

run() { "$lcrun" -n "$ranks" --timeout 40 "$kmer" "$@"; }

for threads in 1 2 4; do
  for more in '' '--buffer-size 128' '--buffer-size 100K'; do
    # shellcheck disable=SC2086  # words are wanted
    run count --threads "$threads" $more --histogram "$cd_to/histo" --table "$cd_to/table" \
      --min-count 1 "$cd_to/1.fq" "$cd_to/2.fa" "$cd_to/3.fq.gz" > "$cd_to/out"
    cmp "$cd_to/expected.histo" "$cd_to/histo" || fail "histogram with $threads threads $more"
    # The table says the same in another way.
    cut -d ' ' -f 2 "$cd_to/table" | sort -n | uniq -c | awk '{ print $2, $1 }' |
      cmp "$cd_to/expected.histo" - || fail "table with $threads threads $more"
    grep -q 'different' "$cd_to/out" || fail "no summary with $threads threads"
  done
done

# refused PATTERN EXIT_CODE ARGUMENTS: all ranks refuse, and say why.
refused() {
  local pattern=$1 expected=$2 code=0
  shift 2
  run "$@" > "$cd_to/out" 2>&1 || code=$?
  ((code == expected)) || fail "exit code $code, not $expected: kmer $*: $(< "$cd_to/out")"
  grep -q -- "$pattern" "$cd_to/out" || fail "does not say '$pattern': kmer $*: $(< "$cd_to/out")"
}

for threads in 1 4; do
  refused "letter.fq: record 12000, line 47998, base [0-9]* (read_11999): 'R' is not a base" 1 count -t "$threads" "$cd_to/1.fq" "$cd_to/letter.fq"
  refused 'short.fq: record 12000, line 47997 (read_11999): the record is cut short' 1 count -t "$threads" "$cd_to/short.fq" "$cd_to/3.fq.gz"
  refused 'truncated.fq.gz: the gzip data is truncated' 1 count -t "$threads" "$cd_to/truncated.fq.gz"
  refused "missing.fq: can't open" 1 count -t "$threads" "$cd_to/1.fq" "$cd_to/missing.fq"
  refused 'expected.histo: is neither FASTA nor FASTQ' 1 count -t "$threads" "$cd_to/expected.histo"
  refused 'histo: can.t be opened for writing' 1 count -t "$threads" --histogram /nowhere/histo "$cd_to/1.fq"
done
for ((rank = 0; rank < ranks; ++rank)); do
  refused "rank $rank: .*'R' is not a base" 1 count "$cd_to/letter.fq"
done
refused 'must be a number from 1 to 64' 2 count --k 65 "$cd_to/1.fq"
run --help | grep 'usage: lcrun' > /dev/null || fail "no help"
echo "PASSED"
