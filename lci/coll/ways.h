// What the ranks of an arena know of the ways in which its operations carry large data.
#ifndef LCI_COLL_WAYS_H_
#define LCI_COLL_WAYS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/coll/signature.h"
#include "lci/coll/way_chooser.h"
#include "lci/ds/spinlock.h"

namespace lci::coll {

class arena;

// Operations of one kind whose sizes have the same number of bits are a class, and go one way. Rank
// 0 decides for all ranks; its plan of each class stands in its block. How a new plan reaches the
// others in time:
//
// - Rank 0 writes it before it finishes one of its own operations, with the number n, and the plan
//   changes the way of operations from n + arena::areas on.
// - A rank asks for the way of an operation with the number m when its area is free, thus when it
//   has seen that rank 0 has finished m - arena::areas: for m >= n + arena::areas it sees the plan.
// - Before rank 0 writes the next one, all ranks have finished operations behind that number, since
//   it has measured them: no rank asks for the way of one that only the plan before knew.
//
// Thread safety: any thread may call any member at any time, except construction and enter(), whose
// calls the program orders.
class ways {
 public:
  // Bytes of a rank's part of its block.
  static size_t bytes();

  // `places`: by rank; where that part lies, of zero bytes, mapped here; null: not mapped, and no
  // operation asks. `may_choose`: otherwise everything goes through pipes.
  ways(int rank, const std::vector<char*>& places, bool may_choose);

  // A class, as an index.
  static size_t class_of(operation_kind kind, size_t bytes);
  // An operation of large data begins, in the order of the numbers. Returns its number among those.
  uint64_t enter() { return entered_++; }

  // An operation from when its way is known.
  struct passage {
    size_t of_class;
    uint64_t number;  // among all operations of the arena
    uint64_t entry;   // of enter()
    way goes;
    int64_t arrival;  // ns of the clock that all ranks of the host read; 0: not measured
  };
  // Sets `goes` and `arrival` of an operation whose area is free.
  void choose(passage* passing) const;
  // The operation has ended on this rank without an error, which has not yet told `where` that it
  // finished it.
  void ended(const passage& passed, arena& where);

 private:
  static constexpr size_t kinds = static_cast<size_t>(operation_kind::free_group) + 1;
  static constexpr size_t sizes = 16;
  // More than there are lines: no rank is so many operations ahead of another.
  static constexpr uint64_t entries = 64;

  // The times of a rank in one operation.
  struct times {
    std::atomic<uint64_t> entry;  // 1 + that; written last; 0 while the other members change
    std::atomic<int64_t> arrival;
    std::atomic<int64_t> end;
  };
  struct board {
    std::array<std::atomic<uint64_t>, kinds * sizes> plans;  // of rank 0: packed, by class
    alignas(128) std::array<times, entries> operations;      // by entry % entries
  };

  board& of(int rank) const {
    return *reinterpret_cast<board*>(places_[static_cast<size_t>(rank)]);
  }
  std::atomic<uint64_t>& plan_of(size_t of_class) const { return of(0).plans[of_class]; }
  void note(const passage& passed);
  // ns from the arrival of the last rank to the end of all; -1: not known.
  int64_t duration_of(const passage& passed) const;
  // Of rank 0. With lock_ held.
  void decide(const passage& passed, arena& where);
  way_chooser& chooser_of(size_t of_class);

  const int rank_;
  const std::vector<char*> places_;
  const bool may_choose_;
  uint64_t entered_ = 0;

  // Of rank 0. An operation whose end meets another thread in the lock is not counted.
  ds::spinlock lock_;
  // Guarded by lock_: made for the first operation of a class.
  std::array<std::unique_ptr<way_chooser>, kinds * sizes> choosers_;
  // Guarded by lock_: measured operations that some rank may not have finished.
  std::array<passage, 2 * way_chooser::samples> open_;
  size_t open_count_ = 0;
};

}  // namespace lci::coll

#endif  // LCI_COLL_WAYS_H_
