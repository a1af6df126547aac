// The flight recorder of a rank: its last events, in a file that survives it.
#ifndef LCI_OBSERVE_RECORDER_H_
#define LCI_OBSERVE_RECORDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "lci/base/status.h"
#include "lci/ds/per_thread.h"
#include "lci/observe/event.h"
#include "lci/observe/event_ring.h"
#include "lci/observe/recording_file.h"

namespace lci::observe {

struct recorder_options {
  int rank = 0;
  int ranks = 1;
  std::string job;  // as boot::bootstrap::job_id
  std::string directory = "/dev/shm";
  uint32_t events_per_thread = default_events_per_ring;  // a power of two
  bool keep = false;                                     // also if the rank ends as it should
};

// Writes the file DIRECTORY/lci-JOB.RANK.lcirec, which only this user can read. The file stays when
// the process dies, even if it is killed. The destructor removes it, unless keep() has been called.
//
// Each thread has a ring of its own (event_ring.h), of 64 bytes per event. A later thread continues
// in the ring of one that has ended. A thread for whose ring there is no room in the file system is
// not recorded, which one warning says.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
class recorder {
 public:
  // The error names the file.
  static base::StatusOr<std::unique_ptr<recorder>> make(const recorder_options& options);
  ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  // Wait-free, except for a thread's first call, which makes system calls.
  void add(const event& recorded) noexcept;
  // Nanoseconds, for event::time.
  static uint64_t now();

  // The file stays. Returns whether this is the first call.
  bool keep(keep_reason reason);

  const std::string& path() const { return path_; }

 private:
  struct place {
    place(std::atomic<uint64_t>* slots, uint32_t events)
        : ring(slots, events), is_recorded(slots != nullptr) {}
    event_ring ring;
    const bool is_recorded;
  };

  recorder(std::string path, int descriptor, char* begin, size_t size, uint32_t events);
  recording_header& header() const { return *reinterpret_cast<recording_header*>(begin_); }
  std::unique_ptr<place> make_place(size_t thread_number);
  // Null: there is no room.
  std::atomic<uint64_t>* add_ring(size_t thread_number);

  const std::string path_;
  const int descriptor_;
  char* const begin_;  // of the mapping, which is longer than the file
  const size_t mapped_;
  const uint32_t events_;
  std::mutex mutex_;  // orders the making of rings
  ds::per_thread<place> places_;
};

// Where one runtime of a rank records; null: nowhere. A value.
class event_sink {
 public:
  event_sink() = default;
  // `runtime`: its number, equal on all ranks.
  event_sink(recorder* to, uint8_t runtime) : to_(to), runtime_(runtime) {}

  explicit operator bool() const { return to_ != nullptr; }
  recorder* to() const { return to_; }
  // Sets the event's runtime.
  void add(event recorded) const noexcept {
    recorded.runtime = runtime_;
    to_->add(recorded);
  }
  // An event that happens now; then the caller sets the rest.
  static event moment(event_kind kind) {
    event made;
    made.time = recorder::now();
    made.kind = kind;
    return made;
  }

 private:
  recorder* to_ = nullptr;
  uint8_t runtime_ = 0;
};

}  // namespace lci::observe

#endif  // LCI_OBSERVE_RECORDER_H_
