#!/usr/bin/env bash
# The page has what lci_info says. usage: configuration_test.sh LCI_INFO PAGE
set -euo pipefail
if ! diff "$2" <("$1" --format markdown); then
  echo "configuration_test: bazel run //docs:update_configuration writes the page anew" >&2
  exit 1
fi
