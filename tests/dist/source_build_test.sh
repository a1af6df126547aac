#!/usr/bin/env bash
# Another project builds the library with CMake as a part of it, without backends ibv and ofi.
. tests/dist/package.sh

# The configuration of a project that contains the library.
configure() {
  rm -rf "$work/configured"
  env -u CXXFLAGS -u LDFLAGS cmake -S tests/dist/parent -B "$work/configured" -DLCI_SOURCE="$PWD" \
    -DCONSUMER="$PWD/tests/dist/consumer" "$@" > "$work/log" 2>&1
}
unset CMAKE_BUILD_TYPE
configure || fail "$(cat "$work/log")"
grep -q 'CMAKE_BUILD_TYPE is not set, so that the library is not optimized' "$work/log" ||
  fail "nothing says that the library is not optimized"
configure -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON || fail "$(cat "$work/log")"
grep -q 'CMAKE_BUILD_TYPE' "$work/log" && fail "an optimized library is called not optimized"
[[ ! -e $work/configured/lci/CMakeFiles/LCI.dir/Unity ]] || fail "the files of the library are joined"
configure -DIBV=perhaps && fail "LCI_WITH_IBV=perhaps is accepted"
grep -q 'LCI_WITH_IBV is "perhaps"; it must be ON, OFF or' "$work/log" || fail "no reason: $(cat "$work/log")"

# Not optimized, since that takes the time. Without what a developer's environment may add.
env -u CXXFLAGS -u LDFLAGS cmake -S tests/dist/parent -B "$work/build" -DCMAKE_BUILD_TYPE=Debug \
  -DLCI_SOURCE="$PWD" -DCONSUMER="$PWD/tests/dist/consumer" \
  -DCMAKE_INSTALL_PREFIX="$work/installed"
cmake --build "$work/build" -j 2
needs_exactly "$work/build/consumer" liblci.so.2
runs_on_two_ranks "$work/build/consumer"
"$work/build/lct_consumer" || fail "the program that uses LCT ended with $?"

# A program that asks for a backend that was left out gets an error that says so.
for backend in ibv ofi; do
  status=0
  said=$(LCI_ATTR_BACKEND=$backend "$work/build/consumer" 1 2>&1) || status=$?
  [[ $status != 0 && $said == *"this build of LCI has no backend $backend"* ]] ||
    fail "with LCI_ATTR_BACKEND=$backend: exit code $status, $said"
done
grep -qx '#define LCI_NETWORK_BACKENDS_ENABLED ""' "$work/build/lci/include/lci/api/config.hpp" ||
  fail "config.hpp lists backends"

# The project's own export set has all that its users need.
cmake --install "$work/build" > "$work/log" || fail "$(cat "$work/log")"
# The project installs the headers by itself; here they are those of the package.
cp -r "$prefix/include" "$work/installed/"
mkdir "$work/user"
cat > "$work/user/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES CXX)
include(${TARGETS})
add_executable(user ${CONSUMER}/consumer.cc)
target_link_libraries(user PRIVATE LCI::LCI)
END
for targets in "$work/build/BuildTargets.cmake" "$work"/installed/lib*/cmake/parent/ParentTargets.cmake; do
  rm -rf "$work/user/build"
  cmake -S "$work/user" -B "$work/user/build" -DTARGETS="$targets" \
    -DCONSUMER="$PWD/tests/dist/consumer"
  cmake --build "$work/user/build"
  runs_on_two_ranks "$work/user/build/user"
done
echo passed
