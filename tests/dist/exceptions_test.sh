#!/usr/bin/env bash
# Exceptions of liblci.so are caught, as what they are, by a program that links it. A program may also be compiled without
# exceptions.
. tests/dist/package.sh

g++ -std=c++17 -o "$work/failing" -I "$prefix/include" -I . tests/public/peer_failure_test.cc \
  -L "$prefix/lib" -Wl,-rpath,"$prefix/lib" -llci -pthread
needs_exactly "$work/failing" liblci.so.2
"$work/failing" || fail "a peer_failure_error of liblci.so was not caught"

for compiler in g++ clang++; do
  command -v "$compiler" > /dev/null || continue
  "$compiler" -std=c++17 -fno-exceptions -fno-rtti -Wall -Wextra -Werror -o "$work/no_exceptions" -I "$prefix/include" \
    tests/dist/consumer/no_exceptions.cc -L "$prefix/lib" -Wl,-rpath,"$prefix/lib" -llci ||
    fail "$compiler does not compile the headers without exceptions"
  "$work/no_exceptions" || fail "the program without exceptions ended with $?"
done
echo passed
