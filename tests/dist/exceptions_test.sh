#!/usr/bin/env bash
# Exceptions of liblci.so are caught, as what they are, by a program that links it.
. tests/dist/package.sh

g++ -std=c++17 -o "$work/failing" -I "$prefix/include" -I . tests/public/peer_failure_test.cc \
  -L "$prefix/lib" -Wl,-rpath,"$prefix/lib" -llci -pthread
needs_exactly "$work/failing" liblci.so.2
"$work/failing" || fail "a peer_failure_error of liblci.so was not caught"
echo passed
