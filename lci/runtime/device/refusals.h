// The posts of a device that the network refuses, for reports.
#ifndef LCI_RUNTIME_DEVICE_REFUSALS_H_
#define LCI_RUNTIME_DEVICE_REFUSALS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "lci/api/types.hpp"
#include "lci/ds/spinlock.h"
#include "lci/observe/rank_report.h"

namespace lci::rt {

// A pause of more than a second or two ends a row of refusals. Posts in between may have been
// accepted: to note that would cost all posts time.
//
// Thread safety: every member by any thread at any time; add() does not wait.
class refusals {
 public:
  explicit refusals(uint64_t device) : device_(device) {}

  // The calling thread has had a post refused, after others. Does something once per second.
  void add(int rank, size_t size, error_t answer);

  // nullopt: posts are not refused now.
  std::optional<observe::rank_report::refusals> describe();
  // As of observe::subject, once for each row; of a row during which nobody has polled the device.
  // `unpolled`: for so many seconds nobody has.
  std::optional<observe::rank_report::wait> overdue(std::chrono::milliseconds patience,
                                                    uint32_t unpolled);

 private:
  const uint64_t device_;
  std::atomic<uint32_t> last_{~uint32_t{0}};  // by observe::coarse_clock; at first: never
  ds::spinlock lock_;
  // Guarded by lock_:
  observe::rank_report::refusals row_;  // the answer apart
  errorcode_t answer_ = errorcode_t::retry;
  uint32_t first_ = 0;  // by observe::coarse_clock
  bool is_reported_ = false;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_DEVICE_REFUSALS_H_
