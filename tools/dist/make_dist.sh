#!/usr/bin/env bash
# Lays out what a program outside Bazel needs, and packs it: a prefix with include, lib and bin. The same input gives
# the same bytes.
# usage: make_dist.sh OUT VERSION ARCHIVE LCRUN LCI_PERF PC_IN CMAKE_CONFIG CMAKE_VERSION_IN HEADER...
set -euo pipefail

out=$1 version=$2 archive=$3 lcrun=$4 lci_perf=$5 pc=$6 cmake_config=$7 cmake_version=$8
shift 8

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

fill_in() { sed "s/@VERSION@/$version/g" "$1"; }

mkdir -p "$root"/{bin,include/lci/api,lib/cmake/LCI,lib/pkgconfig}
cp -L "$archive" "$root/lib/liblci.a"
cp -L "$lcrun" "$root/bin/lcrun"
cp -L "$lci_perf" "$root/bin/lci_perf"
fill_in "$pc" > "$root/lib/pkgconfig/lci.pc"
cp -L "$cmake_config" "$root/lib/cmake/LCI/LCIConfig.cmake"
fill_in "$cmake_version" > "$root/lib/cmake/LCI/LCIConfigVersion.cmake"
for header in "$@"; do
  # Programs include "lci.hpp"; that one includes the others as "lci/api/...".
  case $header in
    */lci.hpp) cp -L "$header" "$root/include/lci.hpp" ;;
    *) cp -L "$header" "$root/include/lci/api/" ;;
  esac
done

chmod -R u=rwX,go=rX "$root"
find "$root" -type f -exec chmod 644 {} +
chmod 755 "$root"/bin/*
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -C "$root" -cf "$out" bin include lib
