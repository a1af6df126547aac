#!/usr/bin/env bash
# Builds a program with find_package, with one kind of library, and starts two ranks of it.
# usage: cmake_test.sh shared|static
. tests/dist/package.sh

kind=$1

cmake -S tests/dist/consumer -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DKIND="$kind"
cmake --build "$work/build" -j 2
if [[ $kind == shared ]]; then
  needs_exactly "$work/build/consumer" liblci.so.2
  needs_exactly "$work/build/lct_consumer" liblct.so.2
else
  needs_exactly "$work/build/consumer"
  needs_exactly "$work/build/lct_consumer"
fi
runs_on_two_ranks "$work/build/consumer"
"$work/build/lct_consumer" || fail "the program that uses LCT ended with $?"

# The examples in the package are a project, too.
if [[ $kind == shared ]]; then
  cmake -S "$prefix/share/lci/examples" -B "$work/examples" -DCMAKE_PREFIX_PATH="$prefix"
  cmake --build "$work/examples" -j 2
  "$prefix/bin/lcrun" -n 2 --timeout 50 "$work/examples/hello" > "$work/output"
  [[ $(grep -c ' of 2: hello from rank ' "$work/output") == 2 ]] || fail "unexpected from hello: $(cat "$work/output")"
fi
echo passed
