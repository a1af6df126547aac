#!/usr/bin/env bash
# Ranks on three hosts find each other without lcrun and without an address that somebody has named: started by hand, by srun
# and by Open MPI's mpirun. usage: meeting_test.sh MEET
set -uo pipefail
meet=$(realpath "$1")
. "$(dirname "$0")/simulated_hosts.sh"
. "$(dirname "$0")/slurm.sh"
export HOME=$work/home LCI_BOOT_TIMEOUT=30
mkdir "$HOME"
checked=()

# Six ranks have met, two on each host.
check_meeting() {
  local rank
  for rank in 0 1 2 3 4 5; do
    says out "^rank $rank of 6:( [01]/2){6}, next squared $(((rank + 1) % 6 * ((rank + 1) % 6)))$"
  done
  [[ $(wc -l < "$work/out") == "${2:-6}" ]] || fail "$1: not ${2:-6} lines"
  [[ -z $(ls "$HOME/.cache/lci") ]] || fail "$1: a file is left: $(ls "$HOME/.cache/lci")"
  checked+=("$1")
}

not_checked() { echo "NOT CHECKED: $*"; }

# Host $1, 0 to 2, starts its two ranks.
start_two() {
  as_machine "${hosts[$1]}" sh -c 'LCI_RANK=$1 "$0" & LCI_RANK=$2 "$0" & wait' "$meet" $((2 * $1)) $((2 * $1 + 1)) \
    < /dev/null
}

by_hand() {
  start_two 0 & start_two 1 & start_two 2 & wait
}

# Waits until a line of file $1 matches $2.
wait_for_line() {
  until grep -qs -- "$2" "$1"; do read -rt 0.02 < <(:) || :; done
}

# On host $1, a server at address $2 that takes connections and says nothing.
start_mute_server() {
  on "$1" python3 -c 'import signal, socket, sys
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("listens", flush=True)
signal.pause()' "${2%:*}" "${2##*:}" > "$work/mute.$1" &
  wait_for_line "$work/mute.$1" listens
}

if why_not=$(can_slurm); then start_slurm 3; else make_hosts; fi

(export LCI_BOOT=tcp LCI_JOB_ID=by-hand LCI_SIZE=6 && by_hand) > "$work/out" 2> "$work/err"
check_meeting "by hand"

# The first address of the host of rank 0 is in a network whose packets are dropped on the way from the others.
on "${hosts[0]}" ip addr del 10.99.0.1/24 dev eth0
on "${hosts[0]}" ip addr add 10.77.0.1/24 dev eth0
on "${hosts[0]}" ip addr add 10.99.0.1/24 dev eth0
on "${hosts[1]}" ip route add 10.77.0.0/24 via 10.99.0.3
on "${hosts[2]}" ip route add 10.77.0.0/24 via 10.99.0.2
# At the end of a timeout, ranks would try the other address, too.
(export LCI_BOOT=tcp LCI_JOB_ID=dropped LCI_SIZE=6 LCI_BOOT_TIMEOUT=10000 && by_hand) > "$work/out" 2> "$work/err"
check_meeting "dropped packets"

# The other hosts have that address, too, as those with containers have one in common, and another server at that port.
(
  export LCI_BOOT=tcp LCI_JOB_ID=mute LCI_SIZE=6 LCI_BOOT_TIMEOUT=10000
  start_two 0 &
  file=$HOME/.cache/lci/start-LCI_RANK.mute
  wait_for_line "$file" 10.77.0.1
  address=$(grep 10.77.0.1 "$file")
  for i in 1 2; do
    on "${hosts[i]}" ip addr add 10.77.0.1/32 dev lo
    start_mute_server "${hosts[i]}" "$address"
  done
  start_two 1 & start_two 2 & wait -n && wait -n && wait -n
) > "$work/out" 2> "$work/err"
check_meeting "a mute server"
for i in 1 2; do
  for pid in $(ip netns pids "${hosts[i]}"); do
    if [[ $(< "/proc/$pid/comm") == python3 ]]; then kill "$pid"; fi
  done
  on "${hosts[i]}" ip addr del 10.77.0.1/32 dev lo
done
on "${hosts[0]}" ip addr del 10.77.0.1/24 dev eth0

if [[ -z $why_not ]]; then
  in_slurm srun -N 3 --ntasks-per-node=2 "$meet" > "$work/out" 2> "$work/err" < /dev/null || fail srun
  check_meeting srun
  # A program after another one in the same job.
  in_slurm srun -N 3 --ntasks-per-node=2 sh -c '"$0" && "$0" && "$0"' "$meet" > "$work/out" 2> "$work/err" < /dev/null ||
    fail "srun, three programs"
  check_meeting "srun, three programs" 18

  # Homes that the hosts do not share.
  own_home='HOME=$HOME/$SLURMD_NODENAME && mkdir -p "$HOME" && exec "$0"'
  LCI_BOOT_TIMEOUT=12 in_slurm srun -N 2 -n 2 sh -c "$own_home" "$meet" > "$work/out" 2> "$work/err" < /dev/null &&
    fail "srun with two homes"
  says err "lci warn: rank 0 has waited 10 s for the start of the job: rank 1 did not arrive yet"
  says err "lci warn: still looking for the job: .*rank 1 of 2: $HOME/${hosts[1]}/.cache/lci/start-.*: No such file"
  says err "rank 1 of 2: $HOME/${hosts[1]}/.cache/lci/start-.*: No such file.*set LCI_BOOT_DIR to one that they share"
  says err "rank 1 did not arrive within 12000 ms; rank 0 has said in the file $HOME/${hosts[0]}/.cache/lci/start-"
  LCI_BOOT_DIR=$work/shared in_slurm srun -N 3 --ntasks-per-node=2 sh -c "$own_home" "$meet" \
    > "$work/out" 2> "$work/err" < /dev/null || fail "srun with a directory"
  check_meeting "srun with a directory"
else
  not_checked "$why_not"
fi

if command -v mpirun.openmpi > /dev/null; then
  {
    echo '#!/usr/bin/env bash'
    declare -f as_machine
    echo 'host=$1 && shift && as_machine "$host" sh -c "$*"'
  } > "$work/agent"
  chmod +x "$work/agent"
  as_machine "${hosts[0]}" mpirun.openmpi --allow-run-as-root --mca plm_rsh_agent "$work/agent" \
    -H "${hosts[0]}:2,${hosts[1]}:2,${hosts[2]}:2" -n 6 "$meet" > "$work/out" 2> "$work/err" < /dev/null ||
    fail "Open MPI's mpirun"
  check_meeting "Open MPI"
else
  not_checked "mpirun of Open MPI is not installed (openmpi-bin)"
fi
echo "PASSED: ${checked[*]}"
