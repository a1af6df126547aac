#!/usr/bin/env bash
# Packs the files of a manifest as a tree. The same input gives the same bytes.
# usage: pack.sh MANIFEST OUT
# MANIFEST has a line "MODE FILE PATH" for each file and "link TARGET PATH" for each symbolic link.
set -euo pipefail

manifest=$1 out=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

while read -r mode from path; do
  mkdir -p "$root/$(dirname "$path")"
  if [[ $mode == link ]]; then
    ln -s "$from" "$root/$path"
  else
    cp -L "$from" "$root/$path"
    chmod "$mode" "$root/$path"
  fi
done < "$manifest"

find "$root" -type d -exec chmod 755 {} +
# Only what is below the root: where it is unpacked keeps its own mode.
(cd "$root" && printf '%s\n' *) |
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -C "$root" -cf "$out" -T -
