#!/usr/bin/env bash
# Which network messages take between hosts that have several: those of containers, whose addresses all hosts have or
# only one has, are not taken. usage: networks_test.sh LCRUN HELLO
set -uo pipefail
lcrun=$(realpath "$1") hello=$(realpath "$2")
. "$(dirname "$0")/simulated_hosts.sh"
make_hosts
export LCI_LOG_LEVEL=info LCI_ATTR_BACKEND=ofi
over=(--launch-agent "$machine_agent" -H "${hosts[0]},${hosts[1]}")

# container_network HOST ADDRESS: as docker makes it, with a container that runs. Libfabric takes this interface for
# faster than eth0.
container_network() {
  ip -n "$1" link add docker0 type bridge
  ip -n "$1" addr add "$2" dev docker0
  ip -n "$1" link set docker0 up
  ip -n "$1" link add port type veth peer name container
  ip -n "$1" link set port master docker0 up
  ip -n "$1" link set container up
}
no_container_network() {
  ip -n "$1" link del docker0
  ip -n "$1" link del port
}
# talks: two ranks on two hosts, on eth0.
talks() {
  run 0 "${over[@]}" "$hello"
  says out "^rank 1 of 2: hello from rank 0 on ${hosts[0]}$"
  says err "through ofi [(]provider .* on eth0, "
  nothing_is_left
}

need_libfabric "$hello"
talks

echo "a network of containers on each host, with the same address"
for host in "${hosts[@]}"; do container_network "$host" 172.17.0.1/16; done
talks
LCI_ATTR_DEVICE_NAME=docker0 run 1 "${over[@]}" "$hello"
says err "rank [01] and rank [01] both have the address 172.17.0.1 in different networks; .*[(]device_name[)]"
nothing_is_left

echo "on the first host only, then on the second only"
no_container_network "${hosts[1]}"
talks
no_container_network "${hosts[0]}"
container_network "${hosts[1]}" 172.17.0.1/16
talks
no_container_network "${hosts[1]}"

echo "IPv6 only, but for the containers"
for i in 0 1; do
  ip -n "${hosts[i]}" addr flush dev eth0
  ip -n "${hosts[i]}" addr add "fd00::$i:1/64" dev eth0 nodad
  container_network "${hosts[i]}" 172.17.0.1/16
done
talks
for i in 0 1; do
  no_container_network "${hosts[i]}"
  ip -n "${hosts[i]}" addr add "10.99.0.$((i + 1))/24" dev eth0
done

# Ranks that have all but the network in common are on one host, but its loopback is not that of both.
echo "network namespaces of one machine, without lcrun"
export LCI_BOOT_DIR=$work LCI_JOB_ID=by_hand LCI_SIZE=2
LCI_RANK=1 on "${hosts[1]}" "$hello" > "$work/out.1" 2> "$work/err.1" &
LCI_RANK=0 on "${hosts[0]}" "$hello" > "$work/out" 2> "$work/err" || fail "rank 0"
wait $! || fail "rank 1: $(< "$work/err.1")"
says err "through ofi [(]provider .* on eth0, "
unset LCI_BOOT_DIR LCI_JOB_ID LCI_SIZE
run 0 -n 2 --oversubscribe "$hello"
says err "through ofi [(]provider .* on lo, "

# As in a cluster of Kubernetes: each host has its own network of containers, and a router is between the hosts.
echo "a router between the hosts"
on "$switch" sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward' 2> "$work/why" || skip "no router here: $(< "$work/why")"
for i in 0 1; do
  ip -n "$switch" addr add "10.98.$i.254/24" dev bridge
  ip -n "${hosts[i]}" addr flush dev eth0
  ip -n "${hosts[i]}" addr add "10.98.$i.1/24" dev eth0
  ip -n "${hosts[i]}" route add default via "10.98.$i.254"
  container_network "${hosts[i]}" "10.244.$i.1/24"
done
talks
# The router has no way to the containers.
LCI_ATTR_DEVICE_NAME=docker0 LCI_BOOT_TIMEOUT=8 run 1 "${over[@]}" "$hello"
says err "rank [01] [(]10.244.[01].1[)] and rank [01] [(]10.244.[01].1 on docker0[)] can't reach each other; .*[(]device_name[)]"
# Long before that, a warning says so.
says err "warn: ofi: for 5 s, rank 0 [(]10.244.0.1[)] and rank 1 "
nothing_is_left
# Without a way to the containers, the kernel refuses the first message.
for i in 0 1; do
  ip -n "${hosts[i]}" route del default
  ip -n "${hosts[i]}" route add 10.98.0.0/16 via "10.98.$i.254"
done
LCI_ATTR_DEVICE_NAME=docker0 run 1 "${over[@]}" "$hello"
says err "rank [01] [(]10.244.[01].1[)] and rank [01] [(]10.244.[01].1 on docker0[)] can't reach each other: .*unreachable; "
nothing_is_left
echo PASSED
