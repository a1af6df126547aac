#!/usr/bin/env bash
# The comparisons with themselves: the library's own tool and the limits of the machine, without peers; all that it writes.
# usage: quick_test.sh RUN LCRUN LCI_PERF PHYSICAL CACHELINE_PROBE
set -euo pipefail

if (($(nproc) < 2)); then
  echo "one processor: no distance between two, so nothing to compare"
  exit 0
fi
out=$TEST_TMPDIR/out
compare() {
  "$@" --quick --lcrun "$lcrun" --lci-perf "$lci_perf" --physical "$physical" --cacheline-probe "$probe"
}
run=$1 lcrun=$2 lci_perf=$3 physical=$4 probe=$5
compare "$run" --only '^(LCI|limit)' --out "$out"
compare "$run" --collectives --ranks 2,3 --only '^LCI$' --out "$TEST_TMPDIR/collectives"
for name in launches.jsonl report.txt table.md; do
  [[ -s $TEST_TMPDIR/collectives/$name ]] || { echo "$name of collective operations was not written"; exit 1; }
done
for op in barrier allreduce; do
  grep -F "\"test\": \"$op\"" "$TEST_TMPDIR/collectives/launches.jsonl" | grep -F '"overlap": true' | grep -F '"error": ""' |
    grep -F '"overlap_percent": ' > "$TEST_TMPDIR/found" || { echo "no launch has the overlap of: $op"; exit 1; }
done
grep -q '^2 ranks, percent of the latency' "$TEST_TMPDIR/collectives/table.md" || { echo "table.md has no overlap"; exit 1; }
for name in launches.jsonl report.txt table.md; do
  [[ -s $out/$name ]] || { echo "$name was not written"; exit 1; }
done
# (A plot is of launches in one state; a machine that was moved meanwhile may have none of one plot in it.)
plots=0
for name in latency bandwidth rate; do
  if [[ -s $out/$name.svg ]]; then ((plots += 1)); fi
done
((plots > 0)) || { echo "no plot was written"; exit 1; }
# (Not the report: on a machine that is busy, or moved meanwhile, some launch may not count.)
for contestant in lci_am lci_queue lci_send lci_shared line ring copy vm_readv; do
  # (Not grep -q, which ends before the first grep has written all, and so makes that one fail.)
  grep -F "\"contestant\": \"$contestant\"" "$out/launches.jsonl" | grep -F '"error": ""' > "$out/found" ||
    { echo "no launch of: $contestant"; exit 1; }
done
