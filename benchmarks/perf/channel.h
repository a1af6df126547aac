// A thread's connection with the thread of the same number in the partner rank.
#ifndef BENCHMARKS_PERF_CHANNEL_H_
#define BENCHMARKS_PERF_CHANNEL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

#include "benchmarks/perf/job.h"
#include "benchmarks/perf/open_memory.h"
#include "benchmarks/perf/options.h"
#include "benchmarks/perf/planned_batches.h"
#include "benchmarks/perf/signals.h"
#include "lci.hpp"

namespace perf {

struct payload_key;

// Messages go in batches: two halves of the window, so that one is on its way while the other is
// acknowledged; one batch if the window is 1. Either side of a channel may be initiator (calls the
// operation) and target at the same time. Not thread-safe: it belongs to one thread (begin_run),
// but any thread that makes progress may signal its completion objects.
//
// Answers of the target to a batch (0-byte active messages to counters):
//   with a signal at the target   an acknowledgement when all of the batch have come and, for
//                                 --validate, have been checked
//   put, get, atomic operations   nothing. With --validate the initiator says when a batch is
//                                 complete, and the target then looks at its memory and
//                                 acknowledges
class channel final : private message_sink {
 public:
  // Completion objects that a channel makes known to its partner.
  static constexpr lci::rcomp_t names = 5;

  // names_from: the first of `names` numbers that the channel may give them, the same in all
  // ranks. Makes and writes its buffers, for messages of at most the largest of the sizes.
  channel(const job& the_job, const options& chosen, int thread, lci::rcomp_t names_from);
  ~channel() override;

  int batches() const { return batches_; }
  int batch_size(int batch) const { return batch_sizes_[static_cast<size_t>(batch)]; }

  bool has_signal() const { return !one_sided_; }

  // Where the partner's puts, gets and atomic operations go. To be exchanged, as bytes, before the
  // first message.
  struct target_memory {
    lci::rmr_t rmr;
    planned_batches::blocks blocks;  // of plans
  };
  target_memory memory() const;
  void set_peer_memory(const target_memory& target);
  // Of the messages from now on, both sides. No message is under way.
  void set_size(size_t size);

  // The calling thread is its owner from now on. Before the ranks meet for a run.
  void begin_run();

  bool progress() { return lci::progress_x().device(device_)().is_done(); }
  template <class Done>
  void wait_until(Done done);

  // Initiator.
  // Calls the operation for all messages of a batch; those of its last round are over.
  void post_batch(int batch);
  // Once for each batch, in order: true if all have completed here.
  bool batch_is_complete(int batch) {
    if (!(plans_ ? plans_->is_complete(batch)
                 : completions_[static_cast<size_t>(batch)]->round_is_over())) {
      return false;
    }
    if (validate_) check_completed(batch);
    return true;
  }
  // Once for each batch, in order: true if the partner has acknowledged it, or never does.
  bool next_is_acknowledged();

  // Target, if it is notified of batches.
  bool target_learns() const { return !one_sided_ || validate_; }
  // Gets ready for a batch: before the initiator may send it, unless may_expect_late().
  void expect_batch(int batch) {
    if (op_ == operation::send || validate_) prepare_for(batch);
  }
  // A message waits for its receive.
  bool may_expect_late() const { return op_ == operation::send; }
  // Once for each batch, in order: true if all of it is here (of a get: has been fetched).
  bool batch_has_arrived(int batch) {
    if (plans_) return plans_->has_arrived(batch);
    return one_sided_ ? next_is_complete() : arrivals_[static_cast<size_t>(batch)]->round_is_over();
  }
  // After that: checks it, or reads it.
  void check_batch(int batch) {
    if (validate_) {
      check_arrived(batch);
    } else if (read_ && op_ != operation::am) {
      read_payload(landing(first_slot(batch)), size());
    }
  }
  void acknowledge();

  // Both sides, when they have nothing more to do: waits until the partner has come here, too.
  void finish();

 private:
  void take_otherwise(const lci::status_t& status) override;
  void check(const lci::status_t& status);
  void check_completed(int batch);
  void check_arrived(int batch);
  void prepare_for(int batch);
  bool next_is_complete();
  template <operation Op>
  lci::status_t try_post(int batch, int slot, uint64_t number);
  template <operation Op>
  lci::status_t try_post_atomic(int slot, uint64_t number, signals& completion);
  template <operation Op>
  void post_all(int batch);
  void start_plan(int batch);
  void make_signals(const options& chosen);
  // Whether the partner's operations name what they complete here. Receives are completed by the
  // library, and the blocks of plans name their signals.
  bool has_named_arrivals() const {
    return op_ != operation::send && op_ != operation::plan && !one_sided_;
  }
  void post_receives(int batch);
  void notify_peer(lci::rcomp_t name);
  char* source(int slot) const { return memory_.data() + offset_of(slot); }
  char* landing(int slot) const { return memory_.data() + landing_offset_ + offset_of(slot); }
  // Without --validate all messages share one buffer.
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  size_t offset_of(int slot) const { return validate_ ? static_cast<size_t>(slot) * stride_ : 0; }
  int first_slot(int batch) const { return batch == 0 ? 0 : batch_sizes_[0]; }
  // Checked messages are distinguished by their tags, so that each has a place to land in. Others
  // carry no number, as in other benchmarks.
  lci::tag_t tag_of_send(int slot) const {
    const auto thread = static_cast<lci::tag_t>(thread_);
    return validate_ ? thread << 32 | static_cast<lci::tag_t>(slot) : thread;
  }
  // Tells a handler which channel and batch a message is for.
  lci::tag_t short_tag(int batch) const { return static_cast<lci::tag_t>(2 * thread_ + batch); }
  payload_key key(int maker, uint64_t number) const;

  const operation op_;
  const bool one_sided_;
  const bool validate_;
  const bool read_;
  const bool lent_;
  const bool in_packets_;  // active messages that are not lent
  const uint64_t seed_;
  const int rank_;
  const int peer_;
  const int thread_;
  const lci::runtime_t runtime_;
  const lci::device_t device_;
  const int batches_;
  const std::array<int, 2> batch_sizes_;

  // The partner has the same numbers for its own.
  const lci::rcomp_t arrival_names_;  // one for each batch
  const lci::rcomp_t acknowledgement_name_;
  const lci::rcomp_t complete_name_;
  const lci::rcomp_t finish_name_;
  std::array<std::unique_ptr<signals>, 2> completions_;  // of the operations called here
  std::array<std::unique_ptr<signals>, 2> arrivals_;     // of the partner's messages
  lci::comp_t acknowledgements_;
  lci::comp_t completes_;
  lci::comp_t finishes_;
  int64_t acknowledgements_seen_ = 0;
  int64_t completes_seen_ = 0;
  int64_t finishes_seen_ = 0;

  // Messages of the partner are ordered behind a change by the messages that the ranks meet
  // with.
  std::atomic<size_t> size_{0};
  const size_t stride_;          // from one slot to the next
  const size_t landing_offset_;  // in memory_: sources first, then where messages land
  const open_memory memory_;
  lci::rmr_t peer_rmr_;
  std::optional<planned_batches> plans_;  // of --op plan, instead of completions_ and arrivals_

  // Messages are numbered, in each direction, through all runs.
  uint64_t posted_ = 0;
  uint64_t expected_ = 0;
  std::array<uint64_t, 2> posted_from_{};                 // the first of the batch
  std::array<std::atomic<uint64_t>, 2> expected_from_{};  // the same sum, where it arrives
  // Active messages of the batch: the sum of their places in it, which shows whether one came
  // twice.
  std::array<std::atomic<uint64_t>, 2> places_{};
};

template <class Done>
void channel::wait_until(Done done) {
  waiter patience;
  while (!done()) patience.after(progress());
}

}  // namespace perf

#endif  // BENCHMARKS_PERF_CHANNEL_H_
