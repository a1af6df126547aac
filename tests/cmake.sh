#!/usr/bin/env bash
# Builds all with CMake, as a site without Bazel does, runs ctest, installs it, and builds the installed examples with the
# installed package. The libraries are static here; tests/dist/source_build_test.sh has shared ones.
# usage: cmake.sh
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
jobs=$(nproc)

# A site without Abseil builds no tools, and then no tests.
cmake -S . -B "$work/library" -DLCI_BUILD_TOOLS=OFF > "$work/log"
if ! grep -qx 'LCI_BUILD_TESTS:BOOL=OFF' "$work/library/CMakeCache.txt"; then
  echo "cmake: LCI_BUILD_TESTS is not off without the tools" >&2
  exit 1
fi

# A site without the headers of the networks learns what is missing.
cmake -S . -B "$work/shm" -DLCI_BUILD_TOOLS=OFF -DCMAKE_FIND_ROOT_PATH="$work" -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY > "$work/log"
for text in 'without the network ibv: <infiniband/verbs.h> was not found' 'without the network ofi: <rdma/fabric.h> was not found' \
  'networks: shm$'; do
  if ! grep -q "$text" "$work/log"; then
    echo "cmake: the configuration without networks does not say: $text" >&2
    exit 1
  fi
done

# Not optimized, since that takes the time.
cmake -S . -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DLCI_BUILD_SHARED_LIBS=OFF -DCMAKE_INSTALL_PREFIX="$work/some prefix"
cmake --build "$work/build" -j "$jobs"
ctest --test-dir "$work/build" --output-on-failure --no-tests=error
cmake --install "$work/build" > "$work/log"

# Where it was built from plays no part any more. The text for debuggers still has it.
for program in lcrun lci_info; do
  strip -o "$work/stripped" "$work/some prefix/bin/$program"
  if grep -qF "$PWD/" "$work/stripped"; then
    echo "cmake: $program contains the path of its sources" >&2
    exit 1
  fi
done
if grep -n '//' "$work/some prefix"/lib*/pkgconfig/*.pc; then
  echo "cmake: a path for pkg-config has a double slash" >&2
  exit 1
fi
mv "$work/some prefix" "$work/another prefix"
rm -rf "$work/build"
prefix="$work/another prefix"
cmake -S "$prefix/share/lci/examples" -B "$work/examples" -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$work/examples" -j "$jobs"
output=$("$prefix/bin/lcrun" -n 2 --timeout 50 "$work/examples/hello")
echo "$output"
if [[ $(grep -c ' of 2: hello from rank ' <<< "$output") != 2 ]]; then
  echo "cmake: expected one line from each of two ranks" >&2
  exit 1
fi
"$prefix/bin/lci_info" > "$work/info"
if ! grep -qx '  shm: usable' "$work/info"; then
  echo "cmake: lci_info does not show a usable backend shm: $(< "$work/info")" >&2
  exit 1
fi
"$prefix/bin/lcrun" -n 2 --timeout 50 "$prefix/bin/lci_perf" --size 8:32 --iters 10 --format csv > "$work/am.csv"
"$prefix/bin/lci_plot" "$work/am.csv" > "$work/plot.svg"
pages=(man1/lcrun.1 man1/lci_perf.1 man1/lci_plot.1 man1/lci_info.1 man1/lci_trace.1)
if command -v doxygen > /dev/null; then pages+=(man3/lci_post_am.3 man3/LCT_now.3); fi
for page in "${pages[@]}"; do
  if [[ ! -s $prefix/share/man/$page ]]; then
    echo "cmake: the manual page $page is not installed" >&2
    exit 1
  fi
done
# For those who use pkg-config. It escapes the space; only eval reads that back.
flags=$(PKG_CONFIG_PATH=$(echo "$prefix"/lib*/pkgconfig) pkg-config --cflags --libs lci)
eval "g++ -o '$work/hello' '$prefix/share/lci/examples/hello/hello.cc' $flags"
"$prefix/bin/lcrun" -n 2 --timeout 50 "$work/hello"
