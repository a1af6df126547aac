#!/usr/bin/env bash
# Other launchers start a program that has neither PMI nor MPI in it, each rank right: Open MPI, MPICH, Slurm; and lcrun
# takes its hosts from an allocation of Slurm. usage: launchers_test.sh LCRUN HELLO
set -uo pipefail
lcrun=$(realpath "$1") hello=$(realpath "$2")
. "$(dirname "$0")/simulated_hosts.sh"
checked=()

# Four ranks have said hello, each to the next.
check_hello() {
  local rank
  for rank in 0 1 2 3; do
    says out "^rank $rank of 4: hello from rank $(((rank + 3) % 4)) on "
  done
  [[ $(wc -l < "$work/out") == 4 ]] || fail "$1: not 4 lines"
  checked+=("$1")
}

not_checked() { echo "NOT CHECKED: $*"; }

if command -v mpirun.openmpi > /dev/null; then
  mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 "$hello" > "$work/out" 2> "$work/err" < /dev/null ||
    fail "Open MPI's mpirun"
  check_hello "Open MPI"
else
  not_checked "mpirun of Open MPI is not installed (openmpi-bin)"
fi

if command -v mpiexec.hydra > /dev/null; then
  mpiexec.hydra -launcher fork -n 4 "$hello" > "$work/out" 2> "$work/err" < /dev/null || fail "MPICH's mpiexec"
  check_hello MPICH
else
  not_checked "mpiexec of MPICH is not installed (mpich)"
fi

# A cluster of one host, in a namespace of its own, so that its ports meet nobody's.
in_slurm() { ip netns exec "${hosts[0]}" env SLURM_CONF="$work/slurm.conf" "$@"; }

start_slurm() {
  make_hosts
  mkdir "$work/state"
  # Sockets are made here, whose paths are short.
  spool=$(mktemp -d /tmp/slurm.XXXXXX)
  trap 'remove_hosts; rm -rf "$spool"' EXIT
  cat > "$work/slurm.conf" << EOF
ClusterName=test
SlurmctldHost=$(hostname -s)(10.99.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
StateSaveLocation=$work/state
SlurmdSpoolDir=$spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$(hostname -s) NodeAddr=10.99.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
EOF
  # No cgroups are used; without this slurmd looks for them.
  echo 'CgroupPlugin=cgroup/v1' > "$work/cgroup.conf"
  in_slurm slurmctld -D > "$work/ctld" 2>&1 &
  in_slurm slurmd -D > "$work/d" 2>&1 &
  until [[ $(in_slurm sinfo -h -o %T 2> /dev/null) == idle ]]; do
    if (($(jobs -r | wc -l) < 2)); then
      fail "Slurm does not start: $(cat "$work/ctld" "$work/d" "$work"/*.log)"
    fi
    read -rt 0.1 < <(:) || :
  done
}

export PATH=$PATH:/usr/sbin
if command -v srun > /dev/null && command -v slurmctld > /dev/null && command -v slurmd > /dev/null; then
  if ! ip netns add "$switch" 2> "$work/why"; then
    not_checked "Slurm; network namespaces are not permitted here: $(< "$work/why")"
  else
    ip netns del "$switch"
    start_slurm
    in_slurm srun -n 4 "$hello" > "$work/out" 2> "$work/err" < /dev/null ||
      fail "srun: $(tail -n 5 "$work/slurmd.log")"
    check_hello srun
    # lcrun in an allocation: as many ranks as tasks, on its host.
    in_slurm salloc -n 4 "$lcrun" "$hello" > "$work/out" 2> "$work/err" < /dev/null || fail "salloc lcrun"
    check_hello "lcrun in an allocation"
    # As it would start them on other hosts: by srun.
    in_slurm salloc -n 4 "$lcrun" -l --launch-agent 'srun --nodes=1 --ntasks=1 --overlap --nodelist=%h' "$hello" \
      > "$work/out" 2> "$work/err" < /dev/null || fail "salloc lcrun with srun"
    sed -i 's/^\[[^]]*\] //' "$work/out"
    check_hello "lcrun in an allocation, by srun"
  fi
else
  not_checked "Slurm is not installed (slurm-wlm)"
fi
((${#checked[@]} > 0)) || skip "no other launcher is installed"
echo "PASSED: ${checked[*]}"
