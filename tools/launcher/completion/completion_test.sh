#!/usr/bin/env bash
# The completions are made from the options that lcrun has, and that of bash completes.
# usage: completion_test.sh LCRUN FOLDER
set -euo pipefail

lcrun=$1 folder=$2
status=0

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  status=1
}

for shell in bash zsh; do
  file=$folder/lcrun.bash
  if [[ $shell == zsh ]]; then file=$folder/_lcrun; fi
  diff "$file" <(python3 "$folder/generate.py" "$lcrun" "$shell") >&2 ||
    fail "$file does not fit the options of lcrun; run $folder/generate.py LCRUN --update $folder"
done

if command -v zsh > /dev/null; then zsh -n "$folder/_lcrun" || fail "zsh does not read $folder/_lcrun"; fi

# shellcheck source=/dev/null
source "$folder/lcrun.bash"

# completes LINE WORD...: at the end of LINE, exactly these words are offered.
completes() {
  local expected
  COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
  shift
  expected=$(printf '%s\n' "$@" | sort)
  _lcrun || true # as bash, which does not look at the status
  local offered
  offered=$(printf '%s\n' "${COMPREPLY[@]}" | sort)
  [[ $offered == "$expected" ]] || fail "\"$COMP_LINE\" offers ($offered), not ($expected)"
}

work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/completion-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/two" "$work/three words"
touch "$work/tell"

completes 'lcrun --lab' --label
completes 'lcrun --bi' --bind-to
completes 'lcrun --bind-to ' none core numa socket
completes 'lcrun --bind-to s' socket
completes 'lcrun --bind-to=n' none numa
completes 'lcrun -bind-to s' socket
completes 'lcrun -n 4 --map-by no' node
completes "lcrun --wdir $work/t" "$work/two" "$work/three words"
completes "lcrun --hostfile $work/te" "$work/tell"
completes 'lcrun -n ' ''
# The words of a program are its own; after ':', options follow, but not after '--'.
completes 'lcrun -n 2 ./a --lab' ''
completes 'lcrun -n 2 ./a : --wd' --wdir
completes 'lcrun -H a:2,b --stdi' --stdin
completes 'lcrun -n 2 -- ./a : --wd' ''
completes "lcrun -n 2 $work/tel" "$work/tell"
completes "lcrun -n 2 ./a : -n 1 $work/tel" "$work/tell"

exit "$status"
