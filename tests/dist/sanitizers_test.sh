#!/usr/bin/env bash
# The sanitizers report nothing in a program of one thread that is compiled with them, although the library is not.
. tests/dist/package.sh

for sanitizer in address thread undefined; do
  for library in liblci.so.2 liblci.a; do
    g++ -fsanitize="$sanitizer" -I "$prefix/include" -o "$work/$sanitizer" tests/dist/consumer/consumer.cc \
      -L "$prefix/lib" -Wl,-rpath,"$prefix/lib" "-l:$library" -pthread -ldl
    runs_on_two_ranks "$work/$sanitizer"
  done
done
echo passed
