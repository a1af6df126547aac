#!/usr/bin/env bash
# The solver on one number of ranks, in one mode: the sequential solution, and the known one.
# usage: launched_test.sh LCRUN POISSON RANKS MODE
set -euo pipefail
lcrun=$1 poisson=$2 ranks=$3 mode=$4

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

run() { "$lcrun" -n "$ranks" --timeout 60 "$poisson" --mode "$mode" --fftw estimate "$@"; }

# value NAME JSON
value() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" <<< "$2"; }

# --check compares with the sequential solution. Grids that nothing divides evenly, one slab and as many as can be.
for more in '--grid 24x21x18 --slabs 1' '--grid 24x21x18 --slabs 4' '--grid 10x7x9 --slabs 3 --iterations 30' \
  '--grid 16x9x30 --slabs 15 --contrast 0.9 --iterations 5' "--grid 16x12x12 --processes ${ranks}x1" \
  "--grid 16x12x12 --slabs 2 --processes 1x$ranks" '--grid 16 --iterations 1' \
  '--grid 16x12x15 --contrast 0 --iterations 2'; do
  # shellcheck disable=SC2086  # words are wanted
  run $more --check --report || fail "$more"
done

# Twice the points, a quarter of the error.
coarse=$(run --grid 16x16x15 --json) || fail "no result"
fine=$(run --grid 32x32x31 --json --report) || fail "no result"
echo "$coarse$fine"
awk -v coarse="$(value error "$coarse")" -v fine="$(value error "$fine")" \
  'BEGIN { exit !(fine > 0 && coarse / fine > 3.5 && coarse / fine < 4.5) }' || fail "not of second order"
[[ $(value mode "$fine") == "\"$mode\"" && $(value ranks "$fine") == "$ranks" ]] || fail "JSON: $fine"

# refused PATTERN ARGUMENTS
refused() {
  local pattern=$1 code=0 output
  shift
  output=$(run "$@" 2>&1) || code=$?
  ((code == 2)) || fail "exit code $code, not 2: $*: $output"
  grep -q -- "$pattern" <<< "$output" || fail "does not say '$pattern': $*: $output"
}
refused '--grid 5: must be' --grid 5
refused "there are $ranks ranks" --processes 5x5
refused 'too few for .* slabs' --grid 8 --slabs 20
help=$(run --help) || fail "no help"
grep -q 'usage: lcrun' <<< "$help" || fail "help: $help"
echo "PASSED"
