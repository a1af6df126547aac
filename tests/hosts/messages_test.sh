#!/usr/bin/env bash
# Messages between hosts through libfabric, and within them through shared memory: hello, and the k-mers of a sequencer's reads of E. coli over three hosts, whose
# histogram equals jellyfish's to the last byte, also while a cable is slow; and the death of a host and a cut cable while
# messages fly. usage: messages_test.sh LCRUN HELLO KMER PINGPONG
set -uo pipefail
lcrun=$(realpath "$1") hello=$(realpath "$2") kmer=$(realpath "$3") pingpong=$(realpath "$4")
genome=/usr/share/doc/bowtie/examples/genomes/NC_008253.fna.gz
. "$(dirname "$0")/simulated_hosts.sh"
make_hosts
over=(--launch-agent "$machine_agent" -H "${hosts[0]}:2,${hosts[1]}:2,${hosts[2]}:2")

# hello OPTIONS...: six ranks on three hosts. It logs which way they talk.
hello() {
  LCI_LOG_LEVEL=debug run 0 "${over[@]}" "$@" "$hello"
  local rank before
  for rank in 0 1 2 3 4 5; do
    before=$(((rank + 5) % 6))
    says out "^rank $rank of 6: hello from rank $before on ${hosts[before / 2]}$"
  done
  nothing_is_left
}
need_libfabric "$hello"
export LCI_ATTR_BACKEND=ofi
hello
says err "6 ranks on .*, through ofi [(]provider "
grep -q "shared memory" "$work/err" && fail "shared memory, with LCI_ATTR_BACKEND=ofi"
unset LCI_ATTR_BACKEND
hello
says err "6 ranks on .*, through shm in a host and ofi [(]provider .*[)] between hosts"
for rank in 0 1 2 3 4 5; do
  says err "rank $rank reaches 2 of 6 ranks through shared memory, the others through ofi"
done
# One host has no need of it.
LCI_LOG_LEVEL=info run 0 --launch-agent "$machine_agent" -H "${hosts[1]}:3" "$hello"
says out "^rank 2 of 3: hello from rank 1 on ${hosts[1]}$"
grep -qE "ofi|libfabric" "$work/err" && fail "libfabric on one host"
# These hosts have one kernel: it may be forced on them.
LCI_ATTR_BACKEND=shm hello
grep -qE "ofi|libfabric" "$work/err" && fail "libfabric, with LCI_ATTR_BACKEND=shm"

# Two hosts play until there is only one, or none is reached.
play() {
  (exec ip netns exec "${hosts[0]}" "$lcrun" --launch-agent "$machine_agent" --host-timeout 2 -H "${hosts[0]},${hosts[1]}" \
    "$pingpong" 1000000000) > "$work/out" 2> "$work/err" < /dev/null &
  job=$!
  local before
  before=$(packets)
  until (($(packets) > before + 2000)); do read -rt 0.02 < <(:) || :; done
}
packets() { on "${hosts[1]}" awk '/eth0:/ { print $3 }' /proc/net/dev; }
play_ends() {
  wait "$job" && fail "$1: pingpong has ended well"
  says err "host ${hosts[1]} \(rank 1\) is lost|rank 0 on ${hosts[0]} failed first"
  wait_until_empty "${hosts[1]}"
  nothing_is_left
}
play
# shellcheck disable=SC2046  # words are wanted
kill -KILL $(ip netns pids "${hosts[1]}")
play_ends "a killed host"
play
ip -n "$switch" link set cable1 down
play_ends "a cut cable"
ip -n "$switch" link set cable1 up

for needed in jellyfish art_illumina; do
  command -v "$needed" > /dev/null || skip "the k-mers: $needed is not installed (tools/setup demo)"
done
[[ -e $genome ]] || skip "the k-mers: $genome of the package bowtie-examples is not there"
gzip -dc "$genome" 2> /dev/null | head -n 1401 > "$work/genome.fa"
art_illumina -q -na -ss HS25 -i "$work/genome.fa" -l 150 -f 20 -rs 42 -o "$work/reads" > "$work/art.log" || fail "art_illumina"
jellyfish count -C -m 51 -s 20M -t 2 -o "$work/jellyfish.jf" "$work/reads.fq" || fail jellyfish
jellyfish histo -o "$work/expected" "$work/jellyfish.jf" || fail jellyfish
(($(wc -l < "$work/expected") > 5)) || fail "no histogram to compare with"

# count THREADS OPTIONS...
count() {
  local threads=$1
  shift
  run 0 "${over[@]}" "$@" "$kmer" count --threads "$threads" --histogram "$work/histo" "$work/reads.fq"
  cmp "$work/expected" "$work/histo" || fail "$threads threads, $*"
  nothing_is_left
}
count 1
count 2
count 2 --ppn 1
LCI_ATTR_BACKEND=ofi count 2
if on "${hosts[2]}" tc qdisc add dev eth0 root tbf rate 20mbit burst 16kb latency 200ms 2> "$work/why"; then
  count 1
else
  echo "NOT CHECKED: a slow link; tc can't make one: $(< "$work/why")"
fi
echo PASSED
