#!/usr/bin/env bash
# The k-mer counter against jellyfish on a sequencer's reads of E. coli, made by art_illumina: histograms must be equal
# to the last byte. What it needs is installed by `tools/setup demo`; without it, it says so and compares nothing.
# usage: real_reads_test.sh LCRUN KMER LINES: of the genome, 70 bases each, or "all"
set -euo pipefail
lcrun=$1 kmer=$2 lines=$3
genome=/usr/share/doc/bowtie/examples/genomes/NC_008253.fna.gz
dir=$(mktemp -d "${TEST_TMPDIR:-/tmp}/kmer.XXXXXX")
trap 'rm -rf "$dir"' EXIT

for needed in jellyfish art_illumina; do
  if ! command -v "$needed" > /dev/null; then
    echo "NOTHING COMPARED: $needed is not installed"
    exit 0
  fi
done
if [[ ! -e $genome ]]; then
  echo "NOTHING COMPARED: $genome of the package bowtie-examples is not there"
  exit 0
fi

if [[ $lines == all ]]; then
  gzip -dc "$genome" > "$dir/genome.fa"
else
  gzip -dc "$genome" | awk -v n="$lines" 'NR <= n + 1' > "$dir/genome.fa"
fi
art_illumina -q -na -ss HS25 -i "$dir/genome.fa" -l 150 -f 20 -rs 42 -o "$dir/reads" > "$dir/art.log"
jellyfish count -C -m 51 -s 20M -t 2 -o "$dir/jellyfish.jf" "$dir/reads.fq"
jellyfish histo -o "$dir/expected" "$dir/jellyfish.jf"
gzip -1 -k "$dir/reads.fq"
(($(wc -l < "$dir/expected") > 5)) || { echo "FAILED: no histogram to compare with" >&2; exit 1; }

for ranks in 1 2 3 4; do
  for threads in 1 2 4; do
    for reads in reads.fq reads.fq.gz; do
      "$lcrun" -n "$ranks" "$kmer" count --threads "$threads" --histogram "$dir/histo" "$dir/$reads"
      if ! cmp "$dir/expected" "$dir/histo"; then
        echo "FAILED: $ranks ranks of $threads threads, $reads" >&2
        exit 1
      fi
    done
  done
done
echo "PASSED"
