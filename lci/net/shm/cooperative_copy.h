// Large puts that both ranks copy at the same time, each through the kernel: two processors copy
// nearly twice as fast as one.
//
// The requester writes a cooperative_put into the ring and begins to copy. Both take pieces, by
// counters that both map (cooperative_slot), until none is left: a target that does not poll leaves
// all of them to the requester. Then the requester writes a cooperative_done, behind which the put
// is visible: the target copies its pieces when it reads the cooperative_put, thus before that.
//
//   requester                                  target
//   slot.taken = 0, slot.end = 0
//   cooperative_put  ------------------------------> on reading it:
//   copy to, while pieces are left               copy from, while pieces are left
//   cooperative_done ------------------------------>   slot.end = done or failed
//   all pieces were mine: done                 on reading that: delivers a put_imm
//   else posted until slot.end != 0
//
// A slot is used again only when its target has set `end`, after which it does not look at it.
#ifndef LCI_NET_SHM_COOPERATIVE_COPY_H_
#define LCI_NET_SHM_COOPERATIVE_COPY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "lci/net/op.h"
#include "lci/net/shm/large_puts.h"
#include "lci/net/shm/regions.h"
#include "lci/net/shm/ring.h"

namespace lci::net::shm {

// Both sides of the conversations of one device. Thread safety: put(), finish() and give_up() under
// the lock of the ring to that rank; take() and take_done() by the thread that polls; idle() any.
class cooperative_copies {
 public:
  // Copies between an address here and one in another process. False if that could not be done.
  using copier = std::function<bool(int rank, copy_direction direction, void* local,
                                    uint64_t remote, size_t size)>;

  // `timed`, which outlives this, is notified of the end of each timed put that was done or posted.
  cooperative_copies(int ranks, region_table& regions, copier copy, large_puts& timed);

  // The slots of the ring that this rank writes at `rank`, and of the one that it reads from it.
  void attach(int rank, cooperative_slot* outgoing, cooperative_slot* incoming);

  // A put or put_imm, which began at `begin` or is not_timed, to `remote`, which is open there.
  //   done         it is visible there, or will be before what is posted later
  //   posted       finish() or give_up() will say when it is over
  //   retry_nomem  no slot is free, or there is no room in the ring: nothing happened
  //   fatal        the memory could not be copied
  error_t put(const op& operation, uint64_t remote, ring_writer& writer, int64_t begin);
  static constexpr int64_t not_timed = INT64_MIN;
  // Fills *out for a posted put to `rank` that the target has finished. False if there is none.
  bool finish(int rank, completion* out);
  // Completes the requests to a peer that has failed and will never finish them.
  bool give_up(int rank, completion* out);
  // Nothing is left for finish().
  bool idle() const { return open_.load(std::memory_order_relaxed) == 0; }

  // Takes a cooperative_put: the target copies its part of it.
  take_result take(int rank, const incoming& message);
  // Takes a cooperative_done: `completed` if it is of a put_imm that succeeded.
  take_result take_done(int rank, const incoming& message, completion* out);

 private:
  struct request {
    void* context = nullptr;
    bool waits = false;  // for the target, with a completion
    size_t size = 0;
    int64_t begin = 0;
  };
  struct conversation {
    cooperative_slot* outgoing = nullptr;
    cooperative_slot* incoming = nullptr;
    uint32_t used = 0;    // bit i: slot i is the target's, too
    uint32_t failed = 0;  // bit i: pieces of the peer's put i were not copied here
    request requests[cooperative_slots];
  };

  // Frees slots that the target is done with and that finish() has nothing to say about: a program
  // may post many puts between two polls.
  void reclaim(conversation& with);
  // A timed put is over.
  void report(int rank, const request& finished, bool failed);
  bool close(int rank, bool all, completion* out);
  void free_slot(conversation& with, uint32_t number);

  region_table& regions_;
  const copier copy_;
  large_puts& timed_;
  const std::unique_ptr<conversation[]> with_;  // by rank
  std::atomic<uint32_t> open_{0};               // bits that are set in all `used`
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_COOPERATIVE_COPY_H_
