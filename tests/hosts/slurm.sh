# Slurm on simulated hosts, for tests to source after simulated_hosts.sh.
export PATH=$PATH:/usr/sbin

# Where Slurm can run here; otherwise says on the standard output why not.
can_slurm() {
  local command
  for command in srun slurmctld slurmd; do
    command -v "$command" > /dev/null || { echo "Slurm is not installed (slurm-wlm)" && return 1; }
  done
  ip netns add "$switch" 2> "$work/why" ||
    { echo "Slurm; network namespaces are not permitted here: $(< "$work/why")" && return 1; }
  ip netns del "$switch"
}

# in_slurm COMMAND...: on the first host of the cluster. Its ports are in a namespace, so that they meet nobody's.
in_slurm() { as_machine "${hosts[0]}" env SLURM_CONF="$work/slurm.conf" "$@"; }

# start_slurm NUMBER: a cluster of so many of the hosts.
start_slurm() {
  make_hosts
  mkdir "$work/state"
  # Sockets are made here, whose paths are short.
  spool=$(mktemp -d /tmp/slurm.XXXXXX)
  trap 'remove_hosts; rm -rf "$spool"' EXIT
  cat > "$work/slurm.conf" << EOF
ClusterName=test
SlurmctldHost=${hosts[0]}(10.99.0.1)
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
SlurmdSpoolDir=$spool/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
SlurmdParameters=config_overrides
ReturnToService=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
EOF
  # No cgroups are used; without this slurmd looks for them.
  echo 'CgroupPlugin=cgroup/v1' > "$work/cgroup.conf"
  local i
  for ((i = 0; i < $1; ++i)); do
    echo "NodeName=${hosts[i]} NodeAddr=10.99.0.$((i + 1)) CPUs=8 State=UNKNOWN" >> "$work/slurm.conf"
  done
  in_slurm slurmctld -D > "$work/ctld" 2>&1 &
  for ((i = 0; i < $1; ++i)); do
    as_machine "${hosts[i]}" env SLURM_CONF="$work/slurm.conf" slurmd -D > "$work/d$i" 2>&1 &
  done
  until [[ $(in_slurm sinfo -h -o '%T %D' 2> /dev/null) == "idle $1" ]]; do
    if (($(jobs -r | wc -l) <= $1)); then
      fail "Slurm does not start: $(cat "$work/ctld" "$work"/d? "$work"/*.log)"
    fi
    read -rt 0.1 < <(:) || :
  done
}
