#!/usr/bin/env bash
# find_package takes and refuses versions and components.
. tests/dist/package.sh

cmake -S tests/dist/find -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" || fail "see above"

# With a variable instead of a component.
mkdir "$work/static"
cat > "$work/static/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.16)
project(static LANGUAGES NONE)
set(LCI_USE_STATIC_LIBS ON)
find_package(LCI 2 REQUIRED)
get_target_property(location LCI::lci LOCATION)
if(NOT location MATCHES "/liblci[.]a$" OR NOT EXISTS "${location}")
  message(FATAL_ERROR "LCI::lci is ${location}")
endif()
END
cmake -S "$work/static" -B "$work/static/build" -DCMAKE_PREFIX_PATH="$prefix" || fail "see above"
echo passed
