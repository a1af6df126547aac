#!/usr/bin/env bash
# Runs the instructions of packaging/docker/Dockerfile without docker: each stage is a folder with a clean system of the
# distribution. Then builds a program in the last named stage, development, and runs two ranks of it.
# usage: tests/docker.sh
# exit 0: passed; 1: failed; 3: could not be made on this machine, and why.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/clean_debian.sh

fail() {
  echo "docker: $*" >&2
  exit 1
}

# The values of ARG and ENV: those of the Dockerfile, but not optimized, since that takes the time.
declare -A values=([BUILD_TYPE]=Debug)
expand() {
  local text=$1 name
  for name in "${!values[@]}"; do text=${text//"\${$name}"/"${values[$name]}"}; done
  echo "$text"
}

make_clean_system
base=$clean
stages=$clean_work/stages
mkdir "$stages"

from() {
  local image=$1 name=${3:-last}
  [[ $# == 1 || $2 == AS ]] || fail "FROM $*: expected IMAGE AS STAGE"
  if [[ -d $stages/$image ]]; then
    cp -a "$stages/$image" "$stages/$name"
  else
    [[ $image == debian:* ]] || fail "FROM $image: neither a stage nor an image of Debian"
    cp -a "$base" "$stages/$name"
    clean_env=()
  fi
  clean=$stages/$name
}

copy() {
  local source=$1 to=$2
  if [[ $source == --from=* ]]; then
    mkdir -p "$clean$(dirname "$3")"
    cp -a "$stages/${source#--from=}$to" "$clean$3"
  elif [[ $source == . ]]; then
    mkdir -p "$clean$to"
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$clean$to"
  else
    mkdir -p "$clean$(dirname "$to")"
    cp -a "$source" "$clean$to"
  fi
}

# Docker runs it in the root, with the values of ARG in the environment.
run() {
  in_clean env BUILD_TYPE="${values[BUILD_TYPE]}" sh -euc "cd /; $1" > "$clean_work/log" 2>&1 || {
    tail -n 30 "$clean_work/log" >&2
    fail "RUN $1: failed; see above"
  }
}

# Lines that end with a backslash continue; comments may stand between.
count=0
while IFS= read -r line; do
  instruction=${line%% *} rest=${line#* }
  read -r -a words <<< "$(expand "$rest")"
  case $instruction in
    ARG) [[ $rest != *=* || -n ${values[${rest%%=*}]:-} ]] || values[${rest%%=*}]=${rest#*=} ;;
    FROM) from "${words[@]}" ;;
    COPY) copy "${words[@]}" ;;
    ENV) clean_env+=("$(expand "$rest")") ;;
    RUN) run "$rest" ;;
    CMD) ;;
    *) fail "the instruction $instruction is not known to this test" ;;
  esac
  ((count += 1))
done < <(grep -vE '^ *(#|$)' packaging/docker/Dockerfile | sed -e ':again' -e '/\\$/{N;s/\\\n */ /;b again' -e '}')

clean=$stages/development
put_in_clean tests/dist/consumer consumer
# The variables of the stage, which the later one has as well.
run 'cd /root; g++ consumer/consumer.cc $(pkg-config --cflags --libs lci) -o with_pkg_config
  cmake -S consumer -B built && cmake --build built
  for program in ./with_pkg_config built/consumer; do lcrun -n 2 --timeout 50 $program 2; done'
[[ $(grep -cx 'rank [01] of 2' "$clean_work/log") == 4 ]] || fail "unexpected output: $(< "$clean_work/log")"
echo "passed: $count instructions"
