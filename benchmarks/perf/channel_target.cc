// The target's side of a channel.
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "benchmarks/perf/channel.h"
#include "benchmarks/perf/integers.h"
#include "benchmarks/perf/payload.h"

namespace perf {

// Receives for all messages of a batch.
void channel::post_receives(int batch) {
  signals& arrival = *arrivals_[static_cast<size_t>(batch)];
  const lci::comp_t comp = arrival.comp();
  const bool allow_done = arrival.allows_done();
  const int first = first_slot(batch);
  for (int slot = first; slot < first + batch_size(batch);) {
    const lci::status_t status =
        lci::post_recv_x(peer_, landing(slot), size(), tag_of_send(slot), comp)
            .device(device_)
            .user_context(&arrival)
            .allow_done(allow_done)();
    if (__builtin_expect(status.is_retry(), 0)) {
      progress();
      continue;
    }
    if (status.is_done()) arrival.count_done(1);
    ++slot;
  }
}

void channel::prepare_for(int batch) {
  const auto at = static_cast<size_t>(batch);
  // Later messages of the partner are ordered behind these by the message that allows them.
  expected_from_[at].store(expected_, std::memory_order_relaxed);
  places_[at].store(0, std::memory_order_relaxed);
  if (op_ == operation::send) {
    post_receives(batch);
    expected_ += static_cast<uint64_t>(batch_size(batch));
    return;
  }
  for (int i = 0; i < batch_size(batch); ++i, ++expected_) {
    const int slot = first_slot(batch) + i;
    if (op_ == operation::get || op_ == operation::get_signal) {
      fill_payload(key(rank_, expected_), source(slot), size());
    } else if (is_atomic(op_)) {
      store_target(landing(slot), payload_integer(key(rank_, expected_), size()), size());
    }
  }
}

bool channel::next_is_complete() {
  if (lci::counter_get(completes_) <= completes_seen_) return false;
  ++completes_seen_;
  return true;
}

void channel::check_arrived(int batch) {
  const auto at = static_cast<size_t>(batch);
  const auto count = static_cast<uint64_t>(batch_size(batch));
  if (op_ == operation::am) {
    // The messages themselves have been checked by take.
    if (places_[at].load(std::memory_order_relaxed) == count * (count - 1) / 2) return;
    throw payload_error(absl::StrCat("wrong messages: of a batch of ", count, " messages of ",
                                     size(), " bytes from rank ", peer_, ", thread ", thread_,
                                     ", some came twice and others not at all"));
  }
  if (op_ == operation::get || op_ == operation::get_signal) return;  // nothing came here
  const uint64_t from = expected_from_[at].load(std::memory_order_relaxed);
  for (uint64_t i = 0; i < count; ++i) {
    const char* const found = landing(first_slot(batch) + static_cast<int>(i));
    if (is_atomic(op_)) {
      check_result(op_, key(rank_, from + i), key(peer_, from + i), found, size());
    } else {
      check_payload(key(peer_, from + i), found, size());
    }
  }
}

// An active message, but for one that is lent and not to be checked: that has not been moved
// anywhere yet, so who measures its way waits until it is here (message_sink).
void channel::take_otherwise(const lci::status_t& status) {
  if (__builtin_expect(validate_, 0)) check(status);
  if (lent_) return;
  if (read_) read_payload(status.buffer, status.size);
  if (in_packets_) {
    lci::put_upacket(status.buffer);
  } else {
    std::free(status.buffer);
  }
}

// Not in the above, whose frame the text of the exception would make larger.
[[gnu::noinline]] void channel::check(const lci::status_t& status) {
  const auto batch = static_cast<size_t>(status.tag & 1);
  const uint64_t number = status.tag >> 16;
  const uint64_t place = number - expected_from_[batch].load(std::memory_order_relaxed);
  if (status.size != size() || status.rank != peer_ ||
      place >= static_cast<uint64_t>(batch_sizes_[batch])) {
    throw payload_error(absl::StrCat("wrong message: number ", number, " with ", status.size,
                                     " bytes from rank ", status.rank, " came to where one of ",
                                     size(), " bytes from rank ", peer_, " was expected"));
  }
  check_payload(key(peer_, number), status.buffer, size());
  places_[batch].fetch_add(place, std::memory_order_relaxed);
}

}  // namespace perf
