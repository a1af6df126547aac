#!/usr/bin/env bash
# The launcher runs on a machine that has nothing but libc. usage: needs_only_libc_test.sh LCRUN
set -euo pipefail
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
echo "needs: $needed"
[[ -n $needed ]] || { echo "readelf printed nothing" >&2; exit 1; }
others=$(grep -vxE 'libc\.so\.6|libm\.so\.6|ld-linux.*' <<< "$needed" || true)
if [[ -n $others ]]; then
  echo "lcrun needs more than libc: $others" >&2
  exit 1
fi
