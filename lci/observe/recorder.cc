#include "lci/observe/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include "lci/base/error_text.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"

namespace lci::observe {
namespace {

uint64_t read_clock(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// CLOCK_MONOTONIC counts from the start of the kernel, with an offset for each time namespace.
std::string name_of_clock() {
  std::string kernel;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> kernel;
  char space[48] = {};
  const bool has_space = ::readlink("/proc/self/ns/time", space, sizeof(space) - 1) > 0;
  return base::StrCat(kernel.empty() ? base::host_name() : kernel, has_space ? " " : "", space);
}

// Sets both clocks: of several readings, the one that took the least time in between.
void read_clocks(recording_identity* identity) {
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < 16; ++i) {
    const uint64_t before = read_clock(CLOCK_MONOTONIC);
    const uint64_t realtime = read_clock(CLOCK_REALTIME);
    const uint64_t took = read_clock(CLOCK_MONOTONIC) - before;
    if (took >= least) continue;
    least = took;
    identity->monotonic = before + took / 2;
    identity->realtime = realtime;
  }
  timex state = {};
  const int answer = ::adjtimex(&state);
  const bool is_set = answer >= 0 && answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
  identity->realtime_error =
      is_set ? static_cast<uint64_t>(state.maxerror) * 1000 + least : ~uint64_t{0};
}

}  // namespace

base::StatusOr<std::unique_ptr<recorder>> recorder::make(const recorder_options& options) {
  // The program may change its working directory before the file is removed.
  char* const whole = ::realpath(options.directory.c_str(), nullptr);
  const std::string directory = whole != nullptr ? whole : options.directory;
  std::free(whole);
  std::string path =
      base::StrCat(directory, "/lci-", options.job, ".", options.rank, recording_suffix);
  const auto error = [&path](const char* what, int number) {
    return base::UnavailableError(
        base::StrCat("can't ", what, " ", path, ": ", base::error_text(number)));
  };
  const uint32_t events = options.events_per_thread;
  // It gets its name when it is whole. (Job and rank are its own, so that an older file is a
  // leftover.)
  const std::string unfinished = path + ".new";
  ::unlink(unfinished.c_str());
  const int descriptor = ::open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return error("create the recording", errno);
  const auto give_up = [&](const char* what, int number) {
    ::close(descriptor);
    ::unlink(unfinished.c_str());
    return error(what, number);
  };
  // Where files cannot be locked, the rank looks dead to readers.
  static_cast<void>(::flock(descriptor, LOCK_EX));
  // Allocated now: a store to a mapped file for which there is no room later kills the process.
  const int allocated = ::posix_fallocate(descriptor, 0, recording_header_size);
  if (allocated != 0) return give_up("allocate the recording", allocated);
  // Pages beyond the end of the file can be used when the file has grown.
  const size_t size = ring_offset(max_rings, events);
  void* const begin =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (begin == MAP_FAILED) return give_up("map the recording", errno);
  ::madvise(begin, size, MADV_DONTDUMP);

  recording_identity identity = {};
  std::memcpy(identity.magic, recording_magic, sizeof(recording_magic));
  identity.version = recording_version;
  identity.events_per_ring = events;
  identity.rank = options.rank;
  identity.ranks = options.ranks;
  identity.pid = ::getpid();
  read_clocks(&identity);
  set_text(identity.job, options.job);
  set_text(identity.host, base::host_name());
  set_text(identity.program, program_invocation_short_name);
  set_text(identity.clock, name_of_clock());
  identity.sum = sum_of(&identity, offsetof(recording_identity, sum));
  std::memcpy(begin, &identity, sizeof(identity));
  if (::rename(unfinished.c_str(), path.c_str()) != 0) {
    const int number = errno;
    ::munmap(begin, size);
    return give_up("name the recording", number);
  }
  std::unique_ptr<recorder> made(
      new recorder(std::move(path), descriptor, static_cast<char*>(begin), size, events));
  if (options.keep) made->keep(keep_wanted);
  return made;
}

recorder::recorder(std::string path, int descriptor, char* begin, size_t size, uint32_t events)
    : path_(std::move(path)),
      descriptor_(descriptor),
      begin_(begin),
      mapped_(size),
      events_(events) {}

recorder::~recorder() {
  header().state.has_ended.store(1, std::memory_order_release);
  const bool keeps = header().state.keep_reasons.load(std::memory_order_acquire) != 0;
  if (!keeps) ::unlink(path_.c_str());
  ::munmap(begin_, mapped_);
  ::close(descriptor_);
}

uint64_t recorder::now() { return read_clock(CLOCK_MONOTONIC); }

bool recorder::keep(keep_reason reason) {
  return header().state.keep_reasons.fetch_or(reason, std::memory_order_acq_rel) == 0;
}

void recorder::add(const event& recorded) noexcept {
  try {
    place& own = places_.mine([this](size_t number) { return make_place(number); });
    if (own.is_recorded) own.ring.add(recorded);
  } catch (const std::bad_alloc&) {
    // A thread without memory has worse problems than the loss of this event.
  }
}

std::unique_ptr<recorder::place> recorder::make_place(size_t thread_number) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::atomic<uint64_t>* const slots = add_ring(thread_number);
  if (slots == nullptr && header().state.unrecorded.fetch_add(1) == 0) {
    LCI_LOG(warn, "some threads are not recorded: ", path_, " can't grow beyond ",
            header().state.rings.load(), " threads");
  }
  return std::make_unique<place>(slots, events_);
}

std::atomic<uint64_t>* recorder::add_ring(size_t thread_number) {
  const uint32_t ring = header().state.rings.load(std::memory_order_relaxed);
  const size_t offset = ring_offset(ring, events_);
  const size_t end = ring_offset(ring + 1, events_);
  if (ring == max_rings || ::posix_fallocate(descriptor_, static_cast<off_t>(offset),
                                             static_cast<off_t>(end - offset)) != 0) {
    return nullptr;
  }
  ring_header made = {};
  made.number = static_cast<uint32_t>(thread_number);
  made.tid = static_cast<uint32_t>(::syscall(SYS_gettid));
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  set_text(made.name, name);
  made.sum = sum_of(&made, offsetof(ring_header, sum));
  std::memcpy(begin_ + offset, &made, sizeof(made));
  // Pairs with the acquire of a reader of the mapping; a reader of the file sees the same.
  header().state.rings.store(ring + 1, std::memory_order_release);
  return reinterpret_cast<std::atomic<uint64_t>*>(begin_ + offset + sizeof(made));
}

}  // namespace lci::observe
