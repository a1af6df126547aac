#!/usr/bin/env bash
# The cells of the matrix of faults whose ranks srun starts, in a cluster of one host. usage: srun_test.sh FAULTS ARGUMENTS
set -uo pipefail
faults=$1
shift
. tests/hosts/simulated_hosts.sh
. tests/hosts/slurm.sh
why_not=$(can_slurm) || skip "$why_not"
start_slurm 1
# Sockets and files of the cells are made here, whose paths are short.
TMPDIR=$spool in_slurm "$faults" "$@" || { echo "FAILED" >&2 && exit 1; }
