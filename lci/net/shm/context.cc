#include "lci/net/shm/context.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lci/net/shm/device.h"

namespace lci::net::shm {
namespace {

template <class T>
absl::string_view as_bytes(const T& value) {
  return absl::string_view(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Equal exactly for processes that share a kernel and can name each other by process number.
uint64_t host_number() {
  char boot_id[64] = {};
  if (FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    if (std::fgets(boot_id, sizeof(boot_id), file) == nullptr) boot_id[0] = 0;
    std::fclose(file);
  }
  struct stat ns = {};
  if (stat("/proc/self/ns/pid", &ns) != 0) ns.st_ino = 0;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto mix = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const char* c = boot_id; *c != 0; ++c) mix(static_cast<unsigned char>(*c));
  for (size_t i = 0; i < sizeof(ns.st_ino); ++i) {
    mix(static_cast<unsigned char>(ns.st_ino >> (8 * i)));
  }
  return hash;
}

// Where Yama restricts tracing, processes of one user may copy each other's memory only if asked
// to. It answers EINVAL where there is no such restriction.
void allow_peers_to_copy() { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); }

}  // namespace

peer::~peer() {
  if (pidfd >= 0) close(pidfd);
}

peer::peer(peer&& other) noexcept
    : pid(other.pid),
      probe(other.probe),
      pidfd(std::exchange(other.pidfd, -1)),
      directory(std::move(other.directory)) {}

bool peer::has_ended() const {
  if (pidfd < 0) return false;
  pollfd watch{pidfd, POLLIN, 0};
  return poll(&watch, 1, 0) == 1;
}

absl::StatusOr<std::unique_ptr<context>> shm_context::make(boot::bootstrap& boot) {
  std::unique_ptr<shm_context> made(new shm_context(boot));
  absl::Status status = made->meet();
  if (status.ok()) status = made->check_copying();
  if (!status.ok()) return status;
  return std::unique_ptr<context>(std::move(made));
}

absl::Status shm_context::meet() {
  allow_peers_to_copy();
  absl::StatusOr<segment> own = segment::create("lci-directory", directory_bytes);
  if (!own.ok()) return own.status();
  reinterpret_cast<directory_header*>(own->data())->version = layout_version;
  regions_.attach(reinterpret_cast<region_slot*>(own->data() + page_size));

  const introduction ours{layout_version, host_number(), getpid(), own->fd(),
                          reinterpret_cast<uintptr_t>(&probe_)};
  const auto all = boot_.allgather("shm-ranks", as_bytes(ours), boot_.default_timeout());
  if (!all.ok()) return all.status();

  peers_.reserve(static_cast<size_t>(size()));
  for (int r = 0; r < size(); ++r) {
    const std::string& bytes = (*all)[static_cast<size_t>(r)];
    introduction theirs;
    if (bytes.size() != sizeof(theirs)) {
      return absl::FailedPreconditionError(
          absl::StrCat("rank ", r, " runs another version of the shm backend"));
    }
    std::memcpy(&theirs, bytes.data(), sizeof(theirs));
    if (theirs.version != layout_version) {
      return absl::FailedPreconditionError(
          absl::StrCat("rank ", r, " runs another version of the shm backend"));
    }
    if (theirs.host != ours.host) {
      return absl::FailedPreconditionError(
          absl::StrCat("rank ", r, " and rank ", rank(),
                       " are on different hosts (or in containers that do not share their process "
                       "numbers); the shm backend joins the ranks of one host only"));
    }
    peers_.emplace_back();
    peer& p = peers_.back();
    p.pid = theirs.pid;
    p.probe = theirs.probe;
    if (r == rank()) {
      p.directory = *std::move(own);
      continue;
    }
    // No wrapper in the C library of every distribution that we run on.
    p.pidfd = static_cast<int>(syscall(SYS_pidfd_open, p.pid, 0));
    absl::StatusOr<segment> view =
        segment::open(p.pid, theirs.directory, directory_bytes, /*writable=*/false);
    if (!view.ok()) {
      return absl::Status(view.status().code(),
                          absl::StrCat("rank ", r, ": ", view.status().message()));
    }
    p.directory = *std::move(view);
  }
  return absl::OkStatus();
}

// Every rank tries with its neighbour before any of them relies on it.
absl::Status shm_context::check_copying() {
  const int neighbour = (rank() + 1) % size();
  const peer& p = rank_at(neighbour);
  uint64_t seen = 0;
  if (!copy_across(p.pid, copy_direction::from_peer, &seen, p.probe, sizeof(seen)) ||
      seen != layout_version) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the kernel does not let this process copy memory of rank ", neighbour, " (",
        std::strerror(errno),
        "); allow process_vm_readv between the ranks (in a container: --cap-add=SYS_PTRACE)"));
  }
  return boot_.barrier("shm-ready", boot_.default_timeout());
}

absl::StatusOr<std::unique_ptr<device>> shm_context::make_device(const device_config& config) {
  return shm_device::make(*this, boot_, config);
}

}  // namespace lci::net::shm
