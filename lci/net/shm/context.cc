#include "lci/net/shm/context.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lci/base/env.h"
#include "lci/base/error_text.h"
#include "lci/base/log.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/net/exchange.h"
#include "lci/net/shm/device.h"
#include "lci/net/shm/host.h"

namespace lci::net::shm {
namespace {

// Where Yama restricts tracing, processes of one user may copy each other's memory only if asked
// to. It answers EINVAL where there is no such restriction.
void allow_peers_to_copy() { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); }

enum class cma_mode { automatic, on, off };

base::StatusOr<cma_mode> read_cma_mode() {
  static constexpr base::enum_name<cma_mode> accepted[] = {
      {"auto", cma_mode::automatic}, {"on", cma_mode::on}, {"off", cma_mode::off}};
  return base::env_enum<cma_mode>("LCI_SHM_CMA", cma_mode::automatic, accepted);
}

base::StatusOr<distance_mode> read_distance_mode() {
  static constexpr base::enum_name<distance_mode> accepted[] = {{"auto", distance_mode::measured},
                                                                {"near", distance_mode::near},
                                                                {"far", distance_mode::far}};
  return base::env_enum<distance_mode>("LCI_SHM_DISTANCE", distance_mode::measured, accepted);
}

// -1 where the kernel has none. No C library of every distribution that we run on has a wrapper.
int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// Whether a set of ranks, as bits, has this one.
bool has_rank(std::string_view bits, int rank) {
  const auto byte = static_cast<size_t>(rank) / 8;
  return byte < bits.size() && (bits[byte] >> rank % 8 & 1) != 0;
}

}  // namespace

peer::~peer() {
  if (pidfd >= 0) close(pidfd);
}

bool peer::has_ended(int milliseconds) const {
  if (pidfd < 0) return !boot::is_alive(process);
  pollfd watch{pidfd, POLLIN, 0};
  return poll(&watch, 1, milliseconds) == 1;
}

bool peer::has_died() const {
  if (has_ended()) return true;
  // No process has anything at address 0.
  char byte = 0;
  return access == reach::kernel && !copy_across(pid, copy_direction::from_peer, &byte, 0, 1) &&
         errno == ESRCH;
}

base::StatusOr<std::unique_ptr<context>> shm_context::make(boot::bootstrap& boot,
                                                           const context_config& config) {
  std::unique_ptr<shm_context> made(new shm_context(boot, config));
  made->peers_ = base::make_aligned_array<peer>(static_cast<size_t>(boot.size()));
  // No rank closes its descriptor, or ends, before all ranks have opened it.
  const auto met = exchange_and_answer(
      boot, "shm-ranks", made->introduce(),
      [&](int r, const std::string& value) { return made->add_peer(r, value); },
      [&] { return made->list_limits(); });
  if (!met.ok()) return met.status();
  for (int r = 0; r < boot.size(); ++r) made->take_limits(r, (*met)[static_cast<size_t>(r)]);
  if (base::Status shared = made->share_reserves(); !shared.ok()) return shared;
  made->own_directory_.close_descriptor();
  return std::unique_ptr<context>(std::move(made));
}

shm_context::~shm_context() {
  if (is_owner_process()) regions_.close_all();
}

base::StatusOr<std::string> shm_context::introduce() {
  const base::StatusOr<distance_mode> distance = read_distance_mode();
  if (!distance.ok()) return distance.status();
  assumed_distance_ = *distance;
  allow_peers_to_copy();
  const base::StatusOr<uint64_t> first_key = make_token();
  if (!first_key.ok()) return first_key.status();
  // The numbers of the host and of the process are read from files. Without a free descriptor they
  // cannot be read, and this rank would look like one of another host.
  local_.host = host_number();
  local_.processes = process_numbering();
  const boot::process_id self = boot::this_process();
  if (const int missing = base::missing_descriptor(); missing != 0) {
    return base::ErrnoToStatus(missing, "reading /proc");
  }
  base::StatusOr<segment> own = segment::create("lci-directory", directory_bytes);
  if (!own.ok()) return own.status();
  own_directory_ = *std::move(own);
  regions_.attach(reinterpret_cast<region_slot*>(own_directory_.data() + page_size), *first_key);
  local_.version = layout_version;
  local_.pid = getpid();
  local_.proc_pid = self.pid;
  local_.start_time = self.start_time;
  local_.image = self.image;
  local_.directory = own_directory_.name();
  heap_.attach(local_.directory.token);
  probe_ = local_.directory.token;
  local_.probe = reinterpret_cast<uintptr_t>(&probe_);
  local_.heap = reinterpret_cast<uintptr_t>(&heap_);
  return std::string(reinterpret_cast<const char*>(&local_), sizeof(local_));
}

base::Status shm_context::reason(int other, const base::Status& failure) const {
  // A process that ends has no descriptors and no memory any more, for a moment.
  constexpr int patience = 1000;
  if (rank_at(other).has_ended(patience)) {
    boot_.report_lost(other);
    return base::AbortedError(base::StrCat("rank ", other, " is lost: its process has ended"));
  }
  return base::WithPrefix(base::StrCat("rank ", other, ": "), failure);
}

base::Status shm_context::add_peer(int other, const std::string& bytes) {
  introduction theirs;
  if (bytes.size() == sizeof(theirs)) std::memcpy(&theirs, bytes.data(), sizeof(theirs));
  if (bytes.size() != sizeof(theirs) || theirs.version != layout_version) {
    return base::FailedPreconditionError(base::StrCat(
        "rank ", other, " and rank ", rank(),
        " have different versions of the shm backend; start all ranks with the same program"));
  }
  if (theirs.host != local_.host) {
    return base::FailedPreconditionError(
        base::StrCat("rank ", other, " and rank ", rank(),
                     " are on different hosts; the shm backend joins the ranks of one host only; "
                     "LCI_ATTR_BACKEND=ofi joins any"));
  }
  peer& p = peers_[static_cast<size_t>(other)];
  p.directory_token = theirs.directory.token;
  if (theirs.processes == local_.processes) {
    p.pid = static_cast<pid_t>(theirs.pid);
    p.process = {theirs.proc_pid, theirs.start_time, theirs.image};
    p.pidfd = open_pidfd(p.pid);
    if (base::Status opened = open_directory(theirs, &p); !opened.ok()) {
      return reason(other, opened);
    }
  } else {
    p.is_hidden = true;
  }
  const base::StatusOr<reach> found = find_reach(p, theirs);
  if (!found.ok()) return reason(other, found.status());
  p.access = other == rank() ? reach::here : *found;
  if (other == rank()) return base::OkStatus();
  if (p.pid != local_.pid) {
    p.views = std::make_unique<heap_views>();
    p.views->attach(theirs.proc_pid, theirs.directory.token);
  } else {
    p.thread_views = std::make_unique<heap_views>();
    p.thread_views->attach(reinterpret_cast<segment_heap*>(static_cast<uintptr_t>(theirs.heap)));
  }
  return base::OkStatus();
}

// Of a rank that this one can name by its process number. Marks it as hidden if it has a directory
// that this rank may not open.
base::Status shm_context::open_directory(const introduction& theirs, peer* other) const {
  const segment_name& name = theirs.directory;
  base::StatusOr<segment> view =
      other->pid == local_.pid
          ? segment::adopt(name.descriptor, name.token, directory_bytes, /*writable=*/false)
          : segment::open(theirs.proc_pid, name, directory_bytes, /*writable=*/false);
  if (view.ok()) {
    other->directory = *std::move(view);
    return base::OkStatus();
  }
  const base::Status& failure = view.status();
  const bool may_not = base::IsPermissionDenied(failure) || base::IsNotFound(failure) ||
                       base::IsFailedPrecondition(failure);
  // What this process has itself needs no permission: such a rank has no views.
  if (!may_not || other->pid == local_.pid || other->has_ended()) return failure;
  LCI_LOG(debug, "shm: ", failure.ToString());
  other->is_hidden = true;
  return base::OkStatus();
}

base::StatusOr<reach> shm_context::find_reach(const peer& other, const introduction& theirs) const {
  const base::StatusOr<cma_mode> mode = read_cma_mode();
  if (!mode.ok()) return mode.status();
  if (*mode == cma_mode::off) return reach::target_copies;
  if (other.pid == local_.pid) return reach::here;
  uint64_t seen = 0;
  if (other.pid != 0 &&
      copy_across(other.pid, copy_direction::from_peer, &seen, theirs.probe, sizeof(seen)) &&
      seen == theirs.directory.token) {
    return reach::kernel;
  }
  const std::string reason = base::StrCat(
      "the kernel does not let this process copy memory of ",
      other.pid == 0 ? "a process in another PID namespace"
                     : base::StrCat("process ", other.pid, " (", std::strerror(errno),
                                    "); in a container, --cap-add=SYS_PTRACE allows it"));
  if (*mode == cma_mode::on) {
    return base::PermissionDeniedError(
        base::StrCat(reason, "; or set LCI_SHM_CMA=auto to go without"));
  }
  LCI_LOG(info, "shm: ", reason, ". Puts and gets go through the rings");
  return reach::target_copies;
}

// The ranks that this one can't reach by the kernel, and then those that are hidden from it. Empty if
// there are none, as is usual.
std::string shm_context::list_limits() const {
  const size_t bytes = (static_cast<size_t>(size()) + 7) / 8;
  std::string bits(2 * bytes, '\0');
  const auto add = [&](size_t set, int r) {
    char& byte = bits[set * bytes + static_cast<size_t>(r) / 8];
    byte = static_cast<char>(byte | 1 << r % 8);
  };
  for (int r = 0; r < size(); ++r) {
    if (rank_at(r).access == reach::target_copies) add(0, r);
    if (rank_at(r).is_hidden) add(1, r);
  }
  return bits.find_first_not_of('\0') == bits.npos ? "" : bits;
}

// A rank that copies may ask the other one to copy a part, so either both copy or none does. And
// either both open the other one's memory or none does.
void shm_context::take_limits(int other, std::string_view bits) {
  peer& p = peers_[static_cast<size_t>(other)];
  const std::string_view unreached = bits.substr(0, bits.size() / 2);
  const std::string_view hidden = bits.substr(bits.size() / 2);
  if (has_rank(unreached, rank()) && p.access == reach::kernel) p.access = reach::target_copies;
  if (has_rank(hidden, rank())) p.is_hidden = true;
  any_hidden_ |= hidden.find_first_not_of('\0') != hidden.npos;
}

base::StatusOr<std::string> shm_context::offer_reserve() {
  if (base::Status made = heap_.make_reserve(reserve_bytes(size())); !made.ok()) return made;
  const segment& own = *heap_.reserve();
  const reserve_offer offer = {reinterpret_cast<uintptr_t>(own.data()), own.size(), own.name()};
  return std::string(reinterpret_cast<const char*>(&offer), sizeof(offer));
}

base::Status shm_context::accept_reserve(int other, const std::string& bytes,
                                         reserve_offer* offer) {
  peer& p = peers_[static_cast<size_t>(other)];
  if (bytes.size() != sizeof(*offer)) {
    return base::InternalError(base::StrCat("rank ", other, " offers no reserve"));
  }
  std::memcpy(offer, bytes.data(), sizeof(*offer));
  if (other == rank() || p.is_hidden) return base::OkStatus();
  if (p.thread_views != nullptr) {
    p.thread_views->attach(p.thread_views->of_thread()->reserve(), offer->address);
    return base::OkStatus();
  }
  base::StatusOr<segment> view =
      segment::open(p.process.pid, offer->segment, offer->bytes, /*writable=*/true);
  if (!view.ok()) return reason(other, view.status());
  p.views->attach(std::make_shared<segment>(*std::move(view)), offer->address);
  return base::OkStatus();
}

base::Status shm_context::share_reserves() {
  if (!any_hidden_) return base::OkStatus();
  std::vector<reserve_offer> reserves(static_cast<size_t>(size()));
  base::Status met = exchange_and_accept(
      boot_, "shm-reserves", offer_reserve(), [&](int r, const std::string& value) {
        return accept_reserve(r, value, &reserves[static_cast<size_t>(r)]);
      });
  return met.ok() ? pass_directories(reserves) : met;
}

base::Status shm_context::pass_directories(const std::vector<reserve_offer>& reserves) {
  // The pidfd shows the end of a process that has no number in another PID namespace.
  std::vector<int> own = {own_directory_.name().descriptor, heap_.reserve()->name().descriptor};
  if (const int self = rank_at(rank()).pidfd; self >= 0) own.push_back(self);
  return pass("shm-directories", own, [&](int r, const std::vector<int>& given) {
    peer& p = peers_[static_cast<size_t>(r)];
    LCI_LOG(
        info, "shm: rank ", r, " passes its descriptors, since ",
        p.pid == 0 ? "it has another PID namespace" : "its memory can't be opened through /proc");
    if (given.size() < 2) return base::InternalError("it passes no reserve");
    if (p.pidfd < 0 && given.size() > 2) p.pidfd = fcntl(given[2], F_DUPFD_CLOEXEC, 0);
    base::StatusOr<segment> directory =
        segment::adopt(given[0], p.directory_token, directory_bytes, /*writable=*/false);
    if (!directory.ok()) return directory.status();
    p.directory = *std::move(directory);
    const reserve_offer& offer = reserves[static_cast<size_t>(r)];
    base::StatusOr<segment> reserve =
        segment::adopt(given[1], offer.segment.token, offer.bytes, /*writable=*/true);
    if (!reserve.ok()) return reserve.status();
    p.views->attach(std::make_shared<segment>(*std::move(reserve)), offer.address);
    return base::OkStatus();
  });
}

base::Status shm_context::pass(std::string_view name, const std::vector<int>& own,
                               const accept_descriptors& accept) {
  if (!any_hidden_) return base::OkStatus();
  std::vector<int> hidden;
  for (int r = 0; r < size(); ++r) {
    if (rank_at(r).is_hidden) hidden.push_back(r);
  }
  const base::Status passed = pass_descriptors(boot_, name, own, hidden, accept);
  if (passed.ok() || base::IsAborted(passed)) return passed;
  // A rank that ends has no socket any more.
  for (const int r : hidden) {
    if (rank_at(r).has_ended()) return reason(r, passed);
  }
  return passed;
}

bool shm_context::any_target_copies() const {
  return std::any_of(peers_.get(), peers_.get() + size(),
                     [](const peer& p) { return p.access == reach::target_copies; });
}

base::StatusOr<local_region> shm_context::open(void* address, size_t size, uint64_t backing) {
  if (base::Status none_left = registrations_.add(1); !none_left.ok()) return none_left;
  base::StatusOr<local_region> opened = regions_.open(address, size, backing);
  if (!opened.ok()) registrations_.remove(1);
  return opened;
}

void shm_context::close(local_region region) {
  regions_.close(region);
  registrations_.remove(1);
}

base::StatusOr<context::allocation> shm_context::allocate_memory(size_t size) {
  const base::StatusOr<segment_heap::block> made = heap_.allocate(size);
  if (!made.ok()) return made.status();
  const base::StatusOr<local_region> opened = open(made->data, size, made->backing);
  if (!opened.ok()) {
    heap_.free(*made);
    return opened.status();
  }
  return allocation{made->data, size, *opened};
}

void shm_context::free_memory(const allocation& freed) {
  close(freed.region);
  heap_.free({static_cast<unsigned char*>(freed.address), 0});
}

void* shm_context::map_memory(int rank, remote_region region, size_t size) {
  const peer& owner = rank_at(rank);
  open_bytes found;
  if (!find_open(owner.regions(), region, 0, size, &found) || found.backing == 0) return nullptr;
  if (rank == this->rank()) return reinterpret_cast<void*>(static_cast<uintptr_t>(found.address));
  heap_views* const views = owner.views != nullptr ? owner.views.get() : owner.thread_views.get();
  if (views == nullptr) return nullptr;
  unsigned char* const block = views->find(found.backing, found.address - found.offset);
  return block == nullptr ? nullptr : block + found.offset;
}

bool shm_context::read_memory(int rank, void* to, uint64_t from, size_t size) const {
  return copy_memory(rank, copy_direction::from_peer, to, from, size);
}

bool shm_context::write_memory(int rank, uint64_t to, const void* from, size_t size) const {
  return copy_memory(rank, copy_direction::to_peer, const_cast<void*>(from), to, size);
}

bool shm_context::copy_memory(int rank, copy_direction direction, void* local, uint64_t remote,
                              size_t size) const {
  if (!reaches_memory(rank)) return false;
  // Between threads of one process, the order comes through memory that each has mapped elsewhere.
  const base::tsan_ignore_scope access;
  return copy(rank, direction, local, remote, size);
}

bool shm_context::copy(int rank, copy_direction direction, void* local, uint64_t remote,
                       size_t size) const {
  const peer& other = rank_at(rank);
  if (other.access == reach::here) {
    copy_within(direction, local, remote, size);
    return true;
  }
  // (No peer asks for a copy that the kernel does not let us make, unless its memory is damaged.)
  if (other.access == reach::kernel && copy_across(other.pid, direction, local, remote, size)) {
    return true;
  }
  const int reason = other.access == reach::kernel ? errno : EPERM;
  if (reason == ESRCH) return false;  // it has ended, which is found and reported elsewhere
  LCI_LOG(error, "shm: can't copy ", size,
          direction == copy_direction::to_peer ? " bytes to rank " : " bytes from rank ", rank,
          ": ", base::error_text(reason),
          reason == EFAULT ? " (the memory of one of the two ranks is not mapped, or is read-only)"
                           : "");
  return false;
}

base::StatusOr<std::unique_ptr<device>> shm_context::make_device(const device_config& config) {
  return shm_device::make(*this, boot_, config);
}

}  // namespace lci::net::shm
