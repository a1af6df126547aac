// A collective operation that transfers a block between the root and each other rank. Both ranks
// copy the block concurrently.
#ifndef LCI_COLL_COOPERATIVE_OPERATION_H_
#define LCI_COLL_COOPERATIVE_OPERATION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/coll/piped_operation.h"
#include "lci/ds/shared_pieces.h"

namespace lci::coll {

// For blocks in the ranks' own memory, which the kernel copies. A rank copies pieces of its block
// from the front as soon as the root has arrived. The root copies pieces of one block after the
// other from the back. Two processors copy nearly twice as fast as one, and a rank never waits for a
// third rank.
//
//   root                                     another rank
//   open_memory(), offered  <----------->    open_memory(), offered
//   for each rank that has offered:          copy pieces, while some are left
//     copy pieces, while some are left       read
//     is_root_done of the rank  --------->   all pieces were its own: over
//   until read of all ranks: over            else until is_root_done: over
class cooperative_operation : public piped_operation {
 protected:
  using piped_operation::piped_operation;

  enum class direction { from_root, to_root };

  // For step(): to be called until it returns true. `own`: this rank's block; at the root, the
  // memory of all blocks. offset_of(rank): bytes from the start of that memory to the rank's block.
  // The root calls meanwhile() once, before it copies.
  template <class OffsetOf, class Meanwhile>
  bool copy_cooperatively(int root, direction toward, char* own, size_t bytes,
                          const OffsetOf& offset_of, const Meanwhile& meanwhile) {
    return rank() == root ? copy_as_root(toward, own, bytes, offset_of, meanwhile)
                          : copy_as_other(root, toward, own, bytes, offset_of(rank()));
  }

 private:
  using side = ds::shared_pieces::side;

  // As offer_and_publish(), of a block to which the others may write.
  bool open_and_publish(const char* own) {
    if (!may_offer(0)) return false;
    open_memory();
    offer_memory(own);
    publish(offered);
    return true;
  }

  // Copies pieces between `local` and the address `remote` of a rank. Returns whether this rank
  // copied all pieces of the block.
  bool copy_pieces(side own, const ds::shared_pieces& pieces, bool reads, int peer, char* local,
                   uint64_t remote) {
    bool whole = false;
    const uint64_t copied = pieces.take(
        own,
        [&](size_t at, size_t size) {
          if (!reads) return write_memory(peer, remote + at, size, local + at);
          read_memory(peer, remote + at, size, local + at);
          return true;
        },
        &whole);
    return whole && copied == pieces.count();
  }

  bool copy_as_other(int root, direction toward, char* own, size_t bytes, size_t at_root) {
    memory_line& shared = memory_of(rank());
    switch (stage_) {
      case 0:
        if (!open_and_publish(own)) return false;
        stage_ = 1;
        [[fallthrough]];
      case 1: {
        if (!has_reached(root, offered)) return false;
        const bool is_whole =
            copy_pieces(side::front, {&shared.taken, bytes}, toward == direction::from_root, root,
                        own, address_of(root) + at_root);
        publish(read);
        if (is_whole) return true;
        stage_ = 2;
        [[fallthrough]];
      }
      default:
        awaits(root);
        return shared.is_root_done.load(std::memory_order_acquire);
    }
  }

  template <class OffsetOf, class Meanwhile>
  bool copy_as_root(direction toward, char* own, size_t bytes, const OffsetOf& offset_of,
                    const Meanwhile& meanwhile) {
    switch (stage_) {
      case 0:
        if (!open_and_publish(own)) return false;
        meanwhile();
        stage_ = 1;
        [[fallthrough]];
      case 1: {
        const bool are_over = holds_for_others([&](int to) {
          if (!has_reached(to, offered)) return false;
          memory_line& shared = memory_of(to);
          copy_pieces(side::back, {&shared.taken, bytes}, toward == direction::to_root, to,
                      own + offset_of(to), address_of(to));
          shared.is_root_done.store(true, std::memory_order_release);
          return true;
        });
        if (!are_over) return false;
        stage_ = 2;
        [[fallthrough]];
      }
      default:
        return have_all_reached(read);
    }
  }
};

}  // namespace lci::coll

#endif  // LCI_COLL_COOPERATIVE_OPERATION_H_
