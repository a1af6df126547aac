#!/usr/bin/env bash
# Builds a program with what pkg-config says, and one with the archive, and starts two ranks of each.
. tests/dist/package.sh

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig

# build OUT PACKAGE [OPTION]
build() {
  local out=$1
  shift
  # pkg-config escapes the space; only eval reads that back.
  eval "g++ -o '$out' tests/dist/consumer/consumer.cc $(pkg-config --cflags --libs "$@")"
}

build "$work/shared" lci
needs_exactly "$work/shared" liblci.so.2
runs_on_two_ranks "$work/shared"

build "$work/static" lci-static
needs_exactly "$work/static"
runs_on_two_ranks "$work/static"

for name in lci lci-static lct lct-static; do
  pkg-config --exact-version=2.0.0 "$name" || fail "$name has another version"
done
measured=$(PATH=$prefix/bin:$PATH lcrun -n 2 --timeout 50 lci_perf --size 8 --iters 10 --validate --format json)
[[ $measured == '{"op": "am", "test": "latency", "size": 8, '* ]] || fail "unexpected from lci_perf: $measured"
# The tools, too, run where they lie.
"$prefix/bin/lcrun" -n 2 --timeout 50 "$prefix/bin/lci_perf" --size 8:32 --iters 10 --format csv > "$work/am.csv"
"$prefix/bin/lci_plot" --output "$work/plot.svg" "$work/am.csv"
grep -q '>lci_perf: latency, am, shm, 2 ranks, 1 thread<' "$work/plot.svg" || fail "lci_plot has drawn: $(< "$work/plot.svg")"

[[ $("$prefix/bin/lcrun" --version) == "lcrun (LCI) 2.0.0" ]] || fail "lcrun has another version"
echo passed
