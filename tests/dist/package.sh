# Sourced by the tests here, which are started in their runfiles: unpacks the package.
# $prefix: where it is, a path with a space, to find out that nothing depends on the place.
# $work: an empty folder.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

for tool in g++ make cmake pkg-config nm readelf; do
  command -v "$tool" > /dev/null || fail "$tool is not installed; tools/setup test installs it"
done

prefix="$TEST_TMPDIR/some prefix"
work=$TEST_TMPDIR/work
mkdir -p "$prefix" "$work"
tar -xf dist.tar -C "$prefix"

# runs_on_two_ranks PROGRAM: it is consumer.cc's.
runs_on_two_ranks() {
  local output
  output=$("$prefix/bin/lcrun" -n 2 --timeout 50 "$1" 2 | sort)
  [[ $output == $'rank 0 of 2\nrank 1 of 2' ]] || fail "unexpected output of $1: $output"
}

# libraries_of PROGRAM: the names of its shared libraries, but for the compiler's own.
libraries_of() {
  ldd "$1" | awk '{print $1}' |
    grep -vE '^(linux-vdso|libstdc\+\+|libm|libgcc_s|libc|libpthread|librt|libdl)\.so|^/lib.*/ld-linux' || true
}

needs_exactly() {
  local program=$1 needed
  shift
  needed=$(libraries_of "$program" | sort | tr '\n' ' ')
  [[ ${needed% } == "$*" ]] || fail "$program needs the shared libraries '$needed', not '$*'"
}
