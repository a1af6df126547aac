#!/usr/bin/env bash
# Compares the lines of nodiscard_cases.cc that a compiler refuses with those that are marked, and looks at its errors for
# other mistakes.
# usage: nodiscard_test.sh COMPILER DIST_TAR|PREFIX NODISCARD_CASES_CC
set -euo pipefail

compiler=$1 package=$2 cases=$3

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

command -v "$compiler" > /dev/null || fail "$compiler is not installed; tools/setup test installs it"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

prefix=$package
if [[ -f $package ]]; then
  prefix=$work/prefix
  mkdir "$prefix"
  tar -xf "$package" -C "$prefix"
fi
[[ -f $prefix/include/lci.hpp ]] || fail "$package has no include/lci.hpp"

case $compiler in
  *clang*) all_errors=-ferror-limit=0 ;;
  *) all_errors=-fmax-errors=0 ;;
esac

cp -L "$cases" "$work/nodiscard_cases.cc"
grep -n '// discarded$' "$work/nodiscard_cases.cc" | cut -d: -f1 > "$work/expected"
[[ -s $work/expected ]] || fail "$cases marks no line"

for standard in c++17 c++20 c++2b; do
  "$compiler" "-std=$standard" -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror "$all_errors" \
    -I"$prefix/include" "$work/nodiscard_cases.cc" 2> "$work/messages" || true
  # An error of a header, or without a place, is none of those expected.
  grep -E '(^|: )(fatal )?error: ' "$work/messages" > "$work/errors" || true
  if grep -vE '^[^:]*nodiscard_cases\.cc:[0-9]+:|all warnings being treated as errors' "$work/errors"; then
    fail "$compiler -std=$standard: unexpected errors"
  fi
  sed -nE 's/^[^:]*nodiscard_cases\.cc:([0-9]+):.*/\1/p' "$work/errors" | sort -nu > "$work/refused"
  # < marked, but compiled without a word; > refused, though nothing is wrong.
  if ! diff <(sort -n "$work/expected") "$work/refused" > "$work/differences"; then
    while read -r side line; do
      [[ $side == [\<\>] ]] && echo "$side $(sed -n "${line}p" "$work/nodiscard_cases.cc")"
    done < "$work/differences"
    grep -E 'error: ' "$work/errors" | head -5
    fail "$compiler -std=$standard: < compiles without a word, > is refused"
  fi
done
# An operation that is called, and then passed as a node: one error that says what to do.
cat > "$work/called.cc" << 'END'
#include "lci.hpp"
void add(lci::comp_t graph, void* buffer) {
  lci::graph_add_node_op(graph, lci::post_recv_x(0, buffer, 8, 1, graph)());
}
END
if "$compiler" -std=c++17 -fsyntax-only "$all_errors" -I"$prefix/include" "$work/called.cc" 2> "$work/messages"; then
  fail "$compiler: an operation that is called is accepted as a node"
fi
grep -q 'error: .*takes an operation that has not been called' "$work/messages" && [[ $(grep -c 'error: ' "$work/messages") == 1 ]] || {
  cat "$work/messages"
  fail "$compiler: wrong errors for an operation that is called and passed as a node"
}
# An older standard: one error that names the one to use.
echo '#include "lci.hpp"' > "$work/old.cc"
if "$compiler" -std=c++14 -fsyntax-only "$all_errors" -I"$prefix/include" "$work/old.cc" 2> "$work/messages"; then
  fail "$compiler: C++14 is accepted"
fi
grep -q 'error: .*LCI requires C++17' "$work/messages" && [[ $(grep -c 'error: ' "$work/messages") == 1 ]] || {
  cat "$work/messages"
  fail "$compiler: wrong errors for C++14"
}
echo "passed: $compiler refuses $(wc -l < "$work/expected") statements, and no other"
