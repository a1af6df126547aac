#!/usr/bin/env bash
# Other launchers start a program that has neither PMI nor MPI in it, each rank right: Open MPI, MPICH, Slurm; and lcrun
# takes its hosts from an allocation of Slurm. usage: launchers_test.sh LCRUN HELLO
set -uo pipefail
lcrun=$(realpath "$1") hello=$(realpath "$2")
. "$(dirname "$0")/simulated_hosts.sh"
. "$(dirname "$0")/slurm.sh"
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

if why_not=$(can_slurm); then
  start_slurm 1
  in_slurm srun -n 4 "$hello" > "$work/out" 2> "$work/err" < /dev/null ||
    fail "srun: $(tail -n 5 "$work"/slurmd.*.log)"
  check_hello srun
  # lcrun in an allocation: as many ranks as tasks, on its host.
  in_slurm salloc -n 4 "$lcrun" "$hello" > "$work/out" 2> "$work/err" < /dev/null || fail "salloc lcrun"
  check_hello "lcrun in an allocation"
  # As it would start them on other hosts: by srun.
  in_slurm salloc -n 4 "$lcrun" -l --launch-agent 'srun --nodes=1 --ntasks=1 --overlap --nodelist=%h' "$hello" \
    > "$work/out" 2> "$work/err" < /dev/null || fail "salloc lcrun with srun"
  sed -i 's/^\[[^]]*\] //' "$work/out"
  check_hello "lcrun in an allocation, by srun"
else
  not_checked "$why_not"
fi
((${#checked[@]} > 0)) || skip "no other launcher is installed"
echo "PASSED: ${checked[*]}"
