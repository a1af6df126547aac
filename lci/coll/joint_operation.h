// A collective operation in which each rank but the root has a block in the root's own memory, which
// both ranks copy at the same time.
#ifndef LCI_COLL_JOINT_OPERATION_H_
#define LCI_COLL_JOINT_OPERATION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/coll/piped_operation.h"
#include "lci/ds/shared_pieces.h"

namespace lci::coll {

// A rank and the root each copy pieces of the rank's block, by the kernel: the rank begins when the
// root has arrived, from the front, and the root helps one rank after the other, from the back.
// Two processors copy nearly twice as fast as one, and ranks that are late hold up no other rank.
class joint_operation : public piped_operation {
 protected:
  using piped_operation::piped_operation;

  enum class direction { from_root, to_root };

  // For step(), of data in memory, to be called until it returns true, with the same arguments.
  // `own`: this rank's block, and at the root the first byte of all blocks; block_of(rank): bytes
  // from there to a rank's block. Calls meanwhile() once, at the root.
  template <class BlockOf, class Meanwhile>
  bool copy_jointly(int root, direction goes, char* own, size_t bytes, const BlockOf& block_of,
                    const Meanwhile& meanwhile) {
    return rank() == root ? copy_as_root(goes, own, bytes, block_of, meanwhile)
                          : copy_as_other(root, goes, own, bytes, block_of(rank()));
  }

 private:
  using side = ds::shared_pieces::side;

  // Whether this rank copied all pieces itself. `local`: the block here; `remote`: there.
  bool copy_pieces(side own, const ds::shared_pieces& pieces, bool reads, int from, char* local,
                   uint64_t remote) {
    bool whole = false;
    const uint64_t copied = pieces.take(
        own,
        [&](size_t at, size_t size) {
          if (reads) {
            read_memory(from, remote + at, size, local + at);
          } else {
            write_memory(from, remote + at, size, local + at);
          }
          return true;
        },
        &whole);
    return copied == pieces.count();
  }

  bool copy_as_other(int root, direction goes, char* own, size_t bytes, size_t at_root) {
    const ds::shared_pieces pieces(&taken_of(rank()), bytes);
    switch (stage_) {
      case 0:
        if (!may_offer(0)) return false;
        taken_of(rank()).store(0, std::memory_order_relaxed);
        offer_memory(own);
        publish(offered);
        stage_ = 1;
        [[fallthrough]];
      case 1: {
        if (!has_reached(root, offered)) return false;
        const bool is_whole = copy_pieces(side::front, pieces, goes == direction::from_root, root,
                                          own, address_of(root) + at_root);
        publish(read);
        // Else the root may still be copying.
        if (is_whole) return true;
        stage_ = 2;
        [[fallthrough]];
      }
      default:
        return has_reached(root, read);
    }
  }

  template <class BlockOf, class Meanwhile>
  bool copy_as_root(direction goes, char* own, size_t bytes, const BlockOf& block_of,
                    const Meanwhile& meanwhile) {
    switch (stage_) {
      case 0:
        if (!may_offer(0)) return false;
        offer_memory(own);
        publish(offered);
        meanwhile();
        stage_ = 1;
        [[fallthrough]];
      case 1: {
        const bool are_over = holds_for_others([&](int to) {
          if (!has_reached(to, offered)) return false;
          const ds::shared_pieces pieces(&taken_of(to), bytes);
          copy_pieces(side::back, pieces, goes == direction::to_root, to, own + block_of(to),
                      address_of(to));
          return true;
        });
        if (!are_over) return false;
        publish(read);
        stage_ = 2;
        [[fallthrough]];
      }
      default:
        return have_all_reached(read);
    }
  }
};

}  // namespace lci::coll

#endif  // LCI_COLL_JOINT_OPERATION_H_
