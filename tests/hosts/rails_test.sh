#!/usr/bin/env bash
# A large put over two networks between two hosts, each a cable that carries 100 Mbit/s: at least 1.8 times as fast as over one. usage: rails_test.sh LCRUN RAILS
set -uo pipefail
lcrun=$(realpath "$1") rails=$(realpath "$2")
. "$(dirname "$0")/simulated_hosts.sh"
make_hosts
ip -n "${hosts[0]}" link add eth1 type veth peer name eth1 netns "${hosts[1]}" || fail "no second cable"
for i in 0 1; do
  ip -n "${hosts[i]}" addr add "10.98.0.$((i + 1))/24" dev eth1
  ip -n "${hosts[i]}" link set eth1 up
  for interface in eth0 eth1; do
    on "${hosts[i]}" tc qdisc add dev "$interface" root tbf rate 100mbit burst 64kb latency 200ms 2> "$work/why" ||
      skip "no slow cables here: $(< "$work/why")"
  done
done
# The kernel takes its time to see that a cable is plugged in; libfabric does not.
for i in 0 1; do
  until [[ $(on "${hosts[i]}" ip -br link show eth1) == *" UP "* ]]; do read -rt 0.02 < <(:) || :; done
done
need_libfabric "$rails" no-second-network
export LCI_ATTR_BACKEND=ofi LCI_ATTR_DEVICE_NAME=eth0
run 0 --launch-agent "$machine_agent" -H "${hosts[0]}:1,${hosts[1]}:1" "$rails" eth1
cat "$work/out"
says out 'one rail .* times'
nothing_is_left
echo PASSED
