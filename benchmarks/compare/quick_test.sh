#!/usr/bin/env bash
# The comparison with itself: the library's own tool and the limits of the machine, without peers; all that it writes.
# usage: quick_test.sh RUN LCRUN LCI_PERF PHYSICAL CACHELINE_PROBE
set -euo pipefail

if (($(nproc) < 2)); then
  echo "one processor: no distance between two, so nothing to compare"
  exit 0
fi
out=$TEST_TMPDIR/out
"$1" --quick --only '^(LCI|limit)' --out "$out" --lcrun "$2" --lci-perf "$3" --physical "$4" --cacheline-probe "$5"
for name in launches.jsonl report.txt table.md latency.svg bandwidth.svg rate.svg; do
  [[ -s $out/$name ]] || { echo "$name was not written"; exit 1; }
done
for contestant in 'LCI active message' 'LCI send/receive' 'LCI am, one shared device' \
  'limit: a cache line' 'limit: a ring in shared memory' 'limit: pipelined copy'; do
  grep -qF "  $contestant  " "$out/report.txt" || { echo "no figure of: $contestant"; exit 1; }
done
