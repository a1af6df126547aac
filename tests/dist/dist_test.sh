#!/usr/bin/env bash
# Unpacks the distribution, builds a program with it the way its users do, and starts two ranks of that.
# usage: dist_test.sh pkg-config|cmake DIST_TAR CONSUMER_CC CMAKE_LISTS
set -euo pipefail

how=$1 tar=$2 source=$3 cmake_lists=$4

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

for tool in g++ "$how"; do
  command -v "$tool" > /dev/null || fail "$tool is not installed; tools/setup test installs it"
done

# A name with a space, to find out that nothing depends on the place.
prefix="$TEST_TMPDIR/some prefix"
mkdir -p "$prefix"
tar -xf "$tar" -C "$prefix"
work=$TEST_TMPDIR/work
mkdir -p "$work"
cp -L "$source" "$work/consumer.cc"

# Shared libraries (plugins, language bindings, other runtimes) contain the archive, so each object must
# be position independent.
g++ -shared -o "$work/whole.so" -Wl,-z,defs -Wl,-z,text \
  -Wl,--whole-archive "$prefix/lib/liblci.a" -Wl,--no-whole-archive ||
  fail "liblci.a does not link into a shared library"

case $how in
  pkg-config)
    # pkg-config escapes the space; only eval reads that back.
    flags=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --static --cflags --libs lci)
    eval "g++ -o '$work/consumer' '$work/consumer.cc' $flags"
    program=$work/consumer
    ;;
  cmake)
    cp -L "$cmake_lists" "$work/CMakeLists.txt"
    cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build "$work/build"
    program=$work/build/consumer
    ;;
esac

# The compiler's own libraries, and no other.
foreign=$(ldd "$program" | awk '{print $1}' |
  grep -vE '^(linux-vdso|libstdc\+\+|libm|libgcc_s|libc|libpthread|librt|libdl)\.so|^/lib.*/ld-linux' || true)
[[ -z $foreign ]] || fail "the program needs more than liblci.a: $foreign"

output=$("$prefix/bin/lcrun" -n 2 --timeout 50 "$program" 2 | sort)
[[ $output == $'rank 0 of 2\nrank 1 of 2' ]] || fail "unexpected output: $output"
measured=$(PATH=$prefix/bin:$PATH lcrun -n 2 --timeout 50 lci_perf --size 8 --iters 10 --validate --format json)
[[ $measured == '{"op": "am", "test": "latency", "size": 8, '* ]] || fail "unexpected from lci_perf: $measured"
echo "passed: $output"
