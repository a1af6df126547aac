#!/usr/bin/env bash
# Builds the Debian packages, installs them in a clean system of the distribution, and there builds a program and runs two
# ranks of it.
# usage: tests/debian.sh [PACKAGES]
#   PACKAGES  the folder of packages that packaging/debian/build has made; without it, the test builds them
# exit 0: passed; 1: failed; 3: could not be made on this machine, and why.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/clean_debian.sh

fail() {
  echo "debian: $*" >&2
  exit 1
}

packages=${1:-}
if [[ -z $packages ]]; then
  packages=$clean_work/packages
  status=0
  packaging/debian/build "$packages" > "$clean_work/build" 2>&1 || status=$?
  ((status == 0)) || tail -n 40 "$clean_work/build" >&2
  ((status != 3)) || cannot "see above"
  ((status == 0)) || fail "packaging/debian/build failed; see above"
fi
for package in liblci2 liblci-dev lci-tools; do
  [[ $(compgen -G "$packages/${package}_*.deb" | wc -l) == 1 ]] || fail "$packages does not have one package $package"
done
make_clean_system
for package in liblci2 liblci-dev lci-tools; do put_in_clean "$packages/$package"_*.deb "$package.deb"; done

# Each package by itself brings all that it needs: first the tools, as on a machine that only runs programs.
install_in_clean ./liblci2.deb ./lci-tools.deb
[[ $(in_clean lcrun -n 2 --timeout 50 lci_perf --size 8 --iters 10 --format csv | wc -l) -ge 2 ]] || fail "lci_perf measured nothing"
shown=$(in_clean lci_info)
grep -q '^  shm: usable$' <<< "$shown" || fail "lci_info does not show a usable backend shm: $shown"
# lci_plot needs Python, which is only recommended, and these.
for module in svg units; do
  [[ -s $clean/usr/share/lci/plot/$module.py ]] || fail "lci-tools has no module $module for lci_plot"
done
# The networks' libraries are only recommended; without them, the reason names what is missing.
reason=$(grep -A 2 '^  ofi: not usable here$' <<< "$shown" || true)
[[ $reason == *libfabric* ]] || fail "lci_info does not name libfabric, which is not installed: $shown"

install_in_clean ./liblci-dev.deb g++ gdb make cmake pkg-config
put_in_clean tests/dist/consumer consumer
in_clean sh -euc '
  g++ consumer/consumer.cc $(pkg-config --cflags --libs lci) -o with_pkg_config
  cmake -S consumer -B built && cmake --build built
  cmake -S /usr/share/lci/examples -B examples' > "$clean_work/log" 2>&1 || {
  cat "$clean_work/log" >&2
  fail "a program does not build with the package; see above"
}
for program in ./with_pkg_config built/consumer; do
  output=$(in_clean lcrun -n 2 --timeout 50 "$program" 2 | sort)
  [[ $output == $'rank 0 of 2\nrank 1 of 2' ]] || fail "unexpected output of $program: $output"
  libraries=$(in_clean ldd "$program")
  grep -q 'liblci\.so\.2 => /.*/liblci\.so\.2 ' <<< "$libraries" || fail "$program does not use the package's library: $libraries"
done

# gdb finds the printers by the path of the library that a program loads.
printers=$(in_clean gdb -nx -batch -ex start -ex 'info pretty-printer global lci' -ex 'info pretty-printer .*liblci.* lci' \
  ./with_pkg_config 2>&1)
grep -q '^    status_t$' <<< "$printers" || fail "gdb does not load the printers of the package: $printers"

# The manual pages: of the programs and of the operations.
for file in lcrun.1 lci_perf.1 lci_plot.1 lci_info.1 lci_trace.1; do
  [[ -s $clean/usr/share/man/man1/$file.gz ]] || fail "lci-tools has no manual page $file"
done
for file in lci_post_am.3 lci_post_am_x.3 lci_alloc_device.3 LCT_now.3; do
  [[ -s $clean/usr/share/man/man3/$file.gz ]] || fail "liblci-dev has no manual page $file"
done

in_clean apt-get -q remove -y liblci2 > "$clean_work/log" 2>&1 || fail "cannot be removed: $(< "$clean_work/log")"
left=$(find "$clean/usr" -iname '*lci*' -not -path '*/doc/*')
[[ -z $left ]] || fail "removing the packages leaves: $left"
echo passed
