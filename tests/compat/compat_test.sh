#!/usr/bin/env bash
# Compiles the programs of this directory as the users of the package do, without Bazel, and runs them: everything in
# C++17, and the sources alone in C++20 and C++23.
# usage: compat_test.sh COMPILER DIST_TAR|PREFIX SOURCE...
# Environment: COMPAT_ONLY, a pattern of the programs to run.
set -uo pipefail

compiler=$1 package=$2
shift 2

failed=0
complain() {
  echo "FAILED: $*" >&2
  failed=1
}

for tool in "$compiler" pkg-config; do
  command -v "$tool" > /dev/null || { complain "$tool is not installed; tools/setup test installs it"; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

prefix=$package
if [[ -f $package ]]; then
  # A name with a space, to find out that nothing depends on the place.
  prefix="$work/some prefix"
  mkdir "$prefix"
  tar -xf "$package" -C "$prefix" || exit 1
fi
mkdir "$work/src" "$work/obj" "$work/bin"
cp -L "$@" "$work/src/" || exit 1
cd "$work/src" || exit 1

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
flags=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags lci) || complain "pkg-config does not find lci"
libs=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --libs lci) || complain "pkg-config does not find lci"
export compiler warnings flags libs work

# One source: to an object in C++17, else only looked at. pkg-config escapes spaces; only eval reads that back.
compile() {
  local source=$1 standard=$2
  local how="-fsyntax-only"
  [[ $standard == c++17 ]] && how="-O1 -c -o $work/obj/${source%.cc}.o"
  eval "$compiler -std=$standard $warnings $flags $how $source" ||
    { echo "$compiler -std=$standard $source" >> "$work/failures"; }
}
export -f compile

for standard in c++17 c++20 c++2b; do
  for source in *.cc; do
    # Its errors are what it is for.
    [[ $source == nodiscard_cases.cc ]] || echo "$source $standard"
  done
done | xargs -P "$(nproc)" -L 1 bash -c 'compile "$0" "$1"'
if [[ -s $work/failures ]]; then
  sort "$work/failures" | while read -r each; do echo "FAILED: to compile: $each" >&2; done
  failed=1
fi

link() {
  local program=$1 objects=$2 more=${3:-}
  eval "$compiler -o $work/bin/$program $objects $more $libs" || complain "to link $program"
}
# Those that could be compiled.
objects_of() { compgen -G "$work/obj/$1.o" | tr '\n' ' '; }

link surface "$(objects_of 'surface_*')"
for source in *_test.cc; do
  program=${source%.cc}
  [[ -f $work/obj/$program.o ]] || continue
  more=
  [[ $program == lct_test ]] && more="-L'$prefix/lib' -llct"
  link "$program" "$work/obj/$program.o" "$more"
done

run() {
  local program=$1 backend=$2 ranks
  shift 2
  [[ $program == ${COMPAT_ONLY:-*} ]] || return 0
  if [[ ! -x $work/bin/$program ]]; then
    complain "$program was not built"
    return
  fi
  for ranks in "$@"; do
    local variables=()
    [[ $backend == default ]] || variables=("LCI_ATTR_BACKEND=$backend")
    if env "${variables[@]}" "$prefix/bin/lcrun" -n "$ranks" --timeout 60 "$work/bin/$program" > "$work/output" 2>&1; then
      echo "passed: $program, $ranks ranks, backend $backend"
    else
      tail -n 40 "$work/output"
      complain "$program, $ranks ranks, backend $backend"
    fi
  done
}

# Not launched: the one rank is found by itself.
if [[ surface == ${COMPAT_ONLY:-*} ]]; then
  "$work/bin/surface" || complain "surface"
fi
# Compiles the headers with another compiler; the library behind them is the same.
if [[ $compiler != g++ ]]; then exit "$failed"; fi
run remote_memory_test default 1 2 3
run remote_memory_test ofi 2
run wildcard_test default 1 2 4
run wildcard_test ofi 2
run empty_object_test default 1 2
run graph_test default 1 2 3 4
run status_test default 1 2
run status_test ofi 2
run waiting_test default 1 2 4
run device_threads_test default 1 2
run device_threads_test ofi 2
run parcel_test default 1 2
run parcel_test ofi 2
run layer_test default 1 2
run layer_test ofi 2
run task_engine_test default 1 2 4
run collective_test default 1 2 3 4
run lct_test default 1 2

exit "$failed"
