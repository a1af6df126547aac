#include "lci/observe/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"

namespace lci::observe {
namespace {

template <class... Parts>
base::Status damaged(size_t at, const Parts&... parts) {
  return base::DataLossError(
      base::StrCat("the recording is damaged: ", parts..., " (byte ", at, ")"));
}

bool is_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

// False if a text member does not end, has bytes behind its end, or others than printable ones.
template <size_t size>
bool get_text(const char (&from)[size], std::string* to) {
  const size_t length = ::strnlen(from, size);
  if (length == size || !is_zero({from + length, size - length})) return false;
  to->assign(from, length);
  return std::all_of(to->begin(), to->end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 0x7f; });
}

// The first part of the header: everything but what changes.
base::Status read_identity(std::string_view bytes, recording* out) {
  recording_identity identity;
  if (bytes.size() < recording_header_size) {
    return base::DataLossError(base::StrCat("it is no recording of LCI, or cut off: ", bytes.size(),
                                            " bytes, and a header has ", recording_header_size));
  }
  std::memcpy(&identity, bytes.data(), sizeof(identity));
  if (std::memcmp(identity.magic, recording_magic, sizeof(recording_magic)) != 0) {
    return base::DataLossError("it is no recording of LCI: it does not begin with \"LCI rec\"");
  }
  if (identity.version != recording_version) {
    return base::DataLossError(base::StrCat("it is a recording of version ", identity.version,
                                            "; this program reads version ", recording_version));
  }
  if (identity.sum != sum_of(&identity, offsetof(recording_identity, sum))) {
    return damaged(0, "the sum of its header is wrong");
  }
  const uint32_t events = identity.events_per_ring;
  if (events < min_events_per_ring || events > max_events_per_ring ||
      (events & (events - 1)) != 0) {
    return damaged(offsetof(recording_identity, events_per_ring), events, " events per thread");
  }
  if (identity.ranks < 1 || identity.rank < 0 || identity.rank >= identity.ranks) {
    return damaged(offsetof(recording_identity, rank), "rank ", identity.rank, " of ",
                   identity.ranks);
  }
  if (identity.pid < 0) return damaged(offsetof(recording_identity, pid), "pid ", identity.pid);
  if (!get_text(identity.job, &out->job) || !get_text(identity.host, &out->host) ||
      !get_text(identity.program, &out->program) || !get_text(identity.clock, &out->clock)) {
    return damaged(offsetof(recording_identity, job), "a name in its header is no text");
  }
  out->rank = identity.rank;
  out->ranks = identity.ranks;
  out->pid = identity.pid;
  out->monotonic = identity.monotonic;
  out->realtime = identity.realtime;
  out->realtime_error = identity.realtime_error;
  out->events_per_thread = events;
  return base::OkStatus();
}

struct state_values {
  uint32_t rings, unrecorded, keep_reasons, has_ended;
};
static_assert(sizeof(state_values) == sizeof(recording_state));

// `size`: of the file.
base::Status read_state(std::string_view bytes, size_t size, recording* out, uint32_t* rings) {
  constexpr size_t at = offsetof(recording_header, state);
  state_values state;
  std::memcpy(&state, bytes.data() + at, sizeof(state));
  if (state.rings > max_rings) return damaged(at, state.rings, " threads");
  if ((state.keep_reasons & ~all_keep_reasons) != 0 || state.has_ended > 1) {
    return damaged(at, "an unknown state of the rank");
  }
  if (!is_zero(bytes.substr(sizeof(recording_header),
                            recording_header_size - sizeof(recording_header)))) {
    return damaged(sizeof(recording_header), "the rest of its header is not empty");
  }
  // The next ring may be there before it is counted.
  const uint32_t events = out->events_per_thread;
  const size_t least = ring_offset(state.rings, events);
  if (size < least) {
    return damaged(size, "it ends here, and has ", state.rings, " threads, ", least, " bytes");
  }
  if (size > ring_offset(state.rings + 1, events)) {
    return damaged(ring_offset(state.rings + 1, events), "there are bytes behind the last thread");
  }
  out->unrecorded_threads = state.unrecorded;
  out->keep_reasons = state.keep_reasons;
  out->has_ended = state.has_ended == 1;
  *rings = state.rings;
  return base::OkStatus();
}

base::Status read_ring_header(const char* bytes, size_t at, recorded_thread* out) {
  ring_header header;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.sum != sum_of(&header, offsetof(ring_header, sum))) {
    return damaged(at, "the sum of a thread's header is wrong");
  }
  for (const uint64_t zero : header.zero) {
    if (zero != 0) return damaged(at, "the rest of a thread's header is not empty");
  }
  out->number = header.number;
  out->tid = header.tid;
  // Any bytes may be a thread's name.
  out->name.assign(header.name, ::strnlen(header.name, sizeof(header.name)));
  return base::OkStatus();
}

// The slots of one ring, twice.
class ring_reader {
 public:
  ring_reader(const char* first, const char* second, size_t at, const recording& whole)
      : first_(first),
        second_(second),
        at_(at),
        events_(whole.events_per_thread),
        whole_(whole),
        is_still_(std::memcmp(first, second, events_ * event_size) == 0) {}

  base::Status read(recorded_thread* out) {
    uint64_t last = 0;  // number of the last event that is whole
    for (uint32_t slot = 0; slot < events_; ++slot) {
      const uint64_t number = number_in(second_, slot);
      if (number == 0) continue;
      if (number > max_number) return damaged(at_of(slot), "it numbers an event ", number);
      if ((number - 1) % events_ != slot) {
        return damaged(at_of(slot), "event ", number, " is in slot ", slot);
      }
      last = std::max(last, number);
    }
    out->first = last > events_ ? last - events_ + 1 : 1;
    for (uint64_t number = out->first; number <= last; ++number) {
      const base::Status added = add(number, out);
      if (!added.ok()) return added;
    }
    // A thread writes one event at a time.
    if (is_still_ && out->missing > 1) {
      return damaged(at_, out->missing, " events of thread ", out->number, " are not whole");
    }
    if (!is_still_) return base::OkStatus();
    // Behind the last event of a ring that is not full there is nothing, but for an event that is
    // being written.
    for (uint64_t slot = last + 1; slot < events_; ++slot) {
      if (!is_zero({second_ + slot * event_size, event_size})) {
        return damaged(at_of(slot), "there are bytes behind the last event");
      }
    }
    return base::OkStatus();
  }

 private:
  base::Status add(uint64_t number, recorded_thread* out) const {
    const uint64_t slot = (number - 1) % events_;
    const char* const bytes = second_ + slot * event_size;
    const uint64_t found = number_in(second_, slot);
    // Behind a slot that was copied the thread may have come around again before the copy's end.
    const bool is_overtaken = !is_still_ && found < number;
    if (found == 0 || is_overtaken ||
        std::memcmp(first_ + slot * event_size, bytes, event_size) != 0) {
      ++out->missing;
      return base::OkStatus();
    }
    if (found != number) {
      return damaged(at_of(slot), "event ", found, " is in the place of ", number);
    }
    event_image image;
    std::memcpy(image.data(), bytes, sizeof(image));
    event decoded;
    const char* wrong = decode(image, &decoded);
    if (wrong == nullptr && decoded.peer >= whole_.ranks)
      wrong = "with a rank that the job has not";
    if (wrong != nullptr) return damaged(at_of(slot), "event ", number, " is ", wrong);
    out->events.push_back(decoded);
    return base::OkStatus();
  }

  static uint64_t number_in(const char* ring, uint64_t slot) {
    uint64_t number;
    std::memcpy(&number, ring + slot * event_size, sizeof(number));
    return number;
  }
  // More events than any thread lives to record.
  static constexpr uint64_t max_number = uint64_t{1} << 62;
  size_t at_of(uint64_t slot) const { return at_ + slot * event_size; }

  const char* const first_;
  const char* const second_;
  const size_t at_;
  const uint32_t events_;
  const recording& whole_;
  const bool is_still_;  // nothing was written between the copies
};

// Of the file.
base::StatusOr<size_t> size_of(int descriptor) {
  struct stat found = {};
  if (::fstat(descriptor, &found) != 0) return base::UnavailableError(base::error_text(errno));
  if (!S_ISREG(found.st_mode)) return base::InvalidArgumentError("it is no regular file");
  return static_cast<size_t>(found.st_size);
}

// Reads the first `size` bytes; fewer, if the file is shorter.
base::StatusOr<std::string> read_bytes(int descriptor, size_t size) {
  std::string bytes(size, '\0');
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got =
        ::pread(descriptor, bytes.data() + filled, size - filled, static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::UnavailableError(base::error_text(errno));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

// Also checks that the header allows the file to be so large, before memory is taken for it.
base::StatusOr<recording> read_from(int descriptor) {
  // As long as threads are added to the file, its size and the number of threads may disagree.
  constexpr int attempts = 1000;
  for (int i = 0;; ++i) {
    const auto size = size_of(descriptor);
    if (!size.ok()) return size.status();
    const auto header = read_bytes(descriptor, recording_header_size);
    if (!header.ok()) return header.status();
    recording checked;
    uint32_t rings = 0;
    base::Status read = read_identity(*header, &checked);
    if (!read.ok()) return read;
    read = read_state(*header, *size, &checked, &rings);
    base::StatusOr<std::string> first = std::string();
    if (read.ok()) first = read_bytes(descriptor, *size);
    if (!first.ok()) return first.status();
    const auto size_after = size_of(descriptor);
    if (!size_after.ok()) return size_after.status();
    if (*size_after != *size && i < attempts) continue;
    if (!read.ok()) return read;
    const auto second = read_bytes(descriptor, *size);
    if (!second.ok()) return second.status();
    return decode_recording(*first, *second);
  }
}

}  // namespace

base::StatusOr<recording> decode_recording(std::string_view first, std::string_view second) {
  recording whole;
  base::Status read = read_identity(first, &whole);
  if (!read.ok()) return read;
  uint32_t rings = 0;
  read = read_state(first, first.size(), &whole, &rings);
  if (!read.ok()) return read;
  // The file may have grown meanwhile, and its state changed; not the rest of its header.
  if (second.size() < first.size() ||
      first.substr(0, sizeof(recording_identity)) != second.substr(0, sizeof(recording_identity))) {
    return damaged(0, "it changed while it was read, as no rank changes it");
  }
  for (uint32_t ring = 0; ring < rings; ++ring) {
    const size_t at = ring_offset(ring, whole.events_per_thread);
    recorded_thread thread;
    read = read_ring_header(first.data() + at, at, &thread);
    if (!read.ok()) return read;
    const size_t slots = at + sizeof(ring_header);
    read = ring_reader(first.data() + slots, second.data() + slots, slots, whole).read(&thread);
    if (!read.ok()) return read;
    whole.threads.push_back(std::move(thread));
  }
  return whole;
}

base::StatusOr<recording> read_recording(const std::string& path) {
  const auto error = [&path](const base::Status& why) {
    return base::Status(why.code(), base::StrCat(path, ": ", why.message()));
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return error(base::NotFoundError(base::error_text(errno)));
  base::StatusOr<recording> whole = base::UnavailableError("there is no memory for it");
  try {
    whole = read_from(descriptor);
  } catch (const std::bad_alloc&) {
  }
  const bool is_running = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  if (!whole.ok()) return error(whole.status());
  whole->path = path;
  whole->is_running = is_running;
  return whole;
}

}  // namespace lci::observe
