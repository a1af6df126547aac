// The calls of the library that wait, by thread.
#ifndef LCI_OBSERVE_WAITING_H_
#define LCI_OBSERVE_WAITING_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "lci/observe/rank_report.h"

namespace lci::observe {

// The subject that a call waits for.
struct wait_info {
  const char* call;                      // its name; a literal
  int64_t peer = rank_report::any_rank;  // the rank that it waits for, if it is a single one
  uint64_t collective = 0;               // number of the collective operation; 0: none
  bool of_message = false;               // it waits for one message, described by:
  uint64_t tag = 0;
  uint64_t size = 0;  // bytes
  // It waits for an object, which lives as long as the wait. read_object() sets what a report says
  // of such an object (`signals` and `threshold`, ...), while other threads change it.
  const void* object = nullptr;
  void (*read_object)(const void* object, rank_report::wait* reported) = nullptr;
};

// While one lives, reports of the rank that the calling thread worked for when it first waited
// (rank_scope.h) list the thread as waiting. Waits may be nested, as the
// innermost four are listed.
//
// Thread safety: an object belongs to the thread that made it. The first one of a thread takes a
// lock.
class waiting {
 public:
  explicit waiting(const wait_info& info);
  ~waiting();
  waiting(const waiting&) = delete;
  waiting& operator=(const waiting&) = delete;
};

// For a loop that mostly ends soon: begins to be `waiting` after some 100 us, so that a short wait
// costs a count. On a crowded machine, where every round may give the processor away for
// milliseconds, it does so after two looks at the clock.
class patient_waiting {
 public:
  explicit patient_waiting(const wait_info& info) : info_(info) {}

  // Once per round of the loop.
  void round() {
    if (__builtin_expect(++rounds_ % rounds_between_looks == 0, 0) && !listed_) look();
  }

 private:
  static constexpr uint32_t rounds_between_looks = 16;

  // Reads the clock.
  void look();

  const wait_info info_;
  uint32_t rounds_ = 0;
  std::chrono::steady_clock::time_point first_look_;
  std::optional<waiting> listed_;
};

}  // namespace lci::observe

#endif  // LCI_OBSERVE_WAITING_H_
