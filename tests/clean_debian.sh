# Sourced by tests that need a system on which nothing of a developer is installed: a minimal one of the distribution of this
# host, in a folder, with its own mounts and process numbers. It is removed when the test ends.
#   make_clean_system           fills the folder $clean, or ends the test with exit code 3 and the reason
#   in_clean COMMAND...         runs a command there as root, in /root, with the variables of clean_env (NAME=VALUE)
#   put_in_clean FILE NAME      copies a file or folder to where those commands run, under that name
#   install_in_clean PACKAGE... installs packages, without those that they only recommend
# shellcheck shell=bash

PATH=$PATH:/usr/sbin:/sbin
clean_work=$(mktemp -d)
clean=$clean_work/root
clean_env=()
trap 'rm -rf --one-file-system "$clean_work"' EXIT

cannot() {
  echo "$0: not checked: $*" >&2
  exit 3
}

make_clean_system() {
  ((EUID == 0)) || cannot "only root can make a clean system with debootstrap"
  command -v debootstrap > /dev/null || cannot "debootstrap is missing; tools/setup debian installs it"
  unshare --mount --pid --fork true 2> "$clean_work/why" || cannot "no mounts of its own: $(< "$clean_work/why")"
  local codename mirror
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # The archive that this host takes its packages from.
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $codename" "Created-By: Packages" "Component: main" | sed 1q)
  if ! debootstrap --variant=minbase "$codename" "$clean" ${mirror:+"$mirror"} > "$clean_work/log" 2>&1; then
    tail -n 20 "$clean_work/log" >&2
    cannot "debootstrap could not make a system of $codename from ${mirror:-its default archive}"
  fi
  cp -L /etc/resolv.conf "$clean/etc/resolv.conf"
}

in_clean() {
  # The variables of this session are not for there.
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} "${clean_env[@]}" \
    unshare --mount --pid --fork bash -euc '
      mount -t proc proc "$0/proc"
      mkdir -p "$0/dev/shm"
      mount -t tmpfs tmpfs "$0/dev/shm"
      exec chroot "$0" /bin/sh -euc "cd /root; exec \"\$@\"" sh "$@"' "$clean" "$@"
}

put_in_clean() {
  local home=$clean/root
  cp -r "$1" "$home/$2"
}

install_in_clean() {
  in_clean apt-get -q -o Acquire::Languages=none update > "$clean_work/log" 2>&1 &&
    in_clean apt-get -q install -y --no-install-recommends "$@" >> "$clean_work/log" 2>&1 || {
    tail -n 20 "$clean_work/log" >&2
    echo "$0: could not install in the clean system: $*" >&2
    return 1
  }
}
