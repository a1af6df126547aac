// The end of a runtime that all of its ranks take together, also if some of them have failed.
#ifndef LCI_RUNTIME_BINDINGS_FINALIZATION_H_
#define LCI_RUNTIME_BINDINGS_FINALIZATION_H_

#include <atomic>
#include <vector>

#include "lci/api/comp.hpp"
#include "lci/runtime/instance/runtime.h"

namespace lci::rt {

// finish() returns when every other rank has reached its own finish(), has ended the runtime, or
// has failed. Until then it makes progress, since a peer may be in the middle of a conversation
// with this rank.
//
// Without a failure the ranks meet in a barrier, and all operations are complete afterwards. With
// one the barrier does not end on all ranks: each survivor sends a message to each other survivor,
// and waits for theirs. A survivor that left the barrier before it noticed the failure sends none,
// and is known by the end of its device. Operations that can't end any more, since the peer has
// given up its part of them, are dropped: a rendezvous whose receive is never posted, for example.
//
// Thread safety: one thread. The object outlives the runtime, in which receives may be left.
class finalization {
 public:
  explicit finalization(runtime_impl_t& runtime);

  // For a runtime with a default device. Failures of peers are logged. Throws std::runtime_error if
  // the ranks have called different collective operations.
  void finish();

 private:
  // Signaled by the message of each survivor.
  class arrivals final : public comp_impl_t {
   public:
    explicit arrivals(int ranks) : arrived_(static_cast<size_t>(ranks)) {}
    void signal(status_t status) override;
    bool has_arrived(int rank) const;

   private:
    std::vector<std::atomic<bool>> arrived_;
  };

  void meet_all();
  void meet_survivors();
  void greet(int rank);
  // Whether nothing more is expected of that rank.
  bool is_finished(int rank) const;
  // Whether it has failed, or has ended the runtime.
  bool is_away(int rank) const;
  // Calls `step`, and again while it throws a failure of a peer, which is logged.
  template <class Step>
  void outlive_failures(const Step& step) const;

  runtime_impl_t& runtime_;
  device_impl_t& device_;
  arrivals arrivals_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_BINDINGS_FINALIZATION_H_
