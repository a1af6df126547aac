#!/usr/bin/env bash
# Builds the libraries and lcrun here and from a copy in another folder, and compares the bytes.
# usage: reproducible.sh [options for both builds]
set -euo pipefail
cd "$(dirname "$0")/.."

targets=(//:lci_static //:lci_shared //tools/launcher:lcrun)
files=(liblci.a liblci.so tools/launcher/lcrun)

other=$(mktemp -d)/a/deeper/folder
mkdir -p "$other"
base=${other%/a/deeper/folder}
clean_up() {
  (cd "$other" && bazel --output_base="$base/output" shutdown)
  # Bazel makes its outputs read-only.
  chmod -R u+w "$base"
  rm -rf "$base"
}
trap clean_up EXIT

git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$other"

bazel build "$@" "${targets[@]}"
# Without the disk cache that someone may have configured: it would compare a build with itself.
(cd "$other" && bazel --output_base="$base/output" build "$@" --disk_cache= "${targets[@]}")

status=0
for file in "${files[@]}"; do
  if cmp "bazel-bin/$file" "$other/bazel-bin/$file"; then
    echo "the same $(stat -Lc %s "bazel-bin/$file") bytes: $file"
  else
    status=1
  fi
done
exit "$status"
