#!/usr/bin/env bash
# A shared library into which liblci.a is linked works when it is loaded at run time, and may be unloaded. It hides all of
# liblci.a: unique symbols (STB_GNU_UNIQUE) would keep it in memory.
. tests/dist/package.sh

g++ -std=c++17 -fPIC -shared -fvisibility=hidden -fno-gnu-unique -Wl,--exclude-libs,ALL -Wl,-z,text -Wl,-z,defs -o "$work/plugin.so" -I "$prefix/include" \
  tests/dist/plugin/plugin.cc "$prefix/lib/liblci.a" -pthread -ldl
needs_exactly "$work/plugin.so"
g++ -std=c++17 -pthread -o "$work/host" tests/dist/plugin/host.cc -ldl
output=$("$prefix/bin/lcrun" -n 2 --timeout 50 "$work/host" "$work/plugin.so" | sort)
[[ $output == $'rank 0 of 2\nrank 1 of 2' ]] || fail "unexpected output: $output"

# All of the archive, and not only what a program happens to need.
for library in lci lct; do
  g++ -shared -Wl,-z,text -Wl,-z,defs -o "$work/whole.so" \
    -Wl,--whole-archive "$prefix/lib/lib$library.a" -Wl,--no-whole-archive -pthread -ldl ||
    fail "lib$library.a has objects that are not position independent"
done
echo passed
