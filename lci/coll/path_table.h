// The paths of large data in the operations of an arena, as all of its ranks know them.
#ifndef LCI_COLL_PATH_TABLE_H_
#define LCI_COLL_PATH_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/coll/path_selector.h"
#include "lci/coll/signature.h"
#include "lci/ds/spinlock.h"

namespace lci::coll {

class arena;

// Operations of one kind whose sizes lie between the same two powers of two form a class. Rank 0
// selects the path of each class and writes the plan into its block. All ranks use the same path for
// an operation, because:
//
// - Rank 0 writes a plan before it finishes its operation n. The plan changes the paths of
//   operations from n + arena::areas on.
// - A rank looks up the path of its operation m when the area is free, that is, when the rank has
//   seen that rank 0 has finished m - arena::areas. So it sees the plan if m >= n + arena::areas.
// - Rank 0 replaces a plan after it has measured operations that the plan changed. All ranks have
//   finished these, so no rank looks up an operation that only the plan before describes correctly.
//
// All operations use pipes until rank 0 has begun to select. If the kernel can copy, a class without
// a plan then uses the kernel if its operations are large and fit into the caches, and pipes
// otherwise: the first measurement takes some operations, and if these take milliseconds each, the
// slower path takes a noticeable time. The kernel is never much slower than the copies of other
// libraries, which use it, too (docs/performance/collectives.md), and pipes are on some machines.
//
// Data that fit into an area travel there in place of pipes, and the kernel does not copy them: the
// selection is between the area and pipes past the caches, which are faster between distant
// processors.
//
// Thread safety: any thread may call any member at any time, except construction and enter(), whose
// calls the program orders.
class path_table {
 public:
  // Bytes of a rank's part of its block.
  static size_t bytes();

  // Returns ns of a clock that all ranks of the host share. Thread safety: any thread at any time.
  using clock = int64_t (*)();
  static int64_t steady_clock();

  // `places`: by rank; the address of that part, which is zero at first, in this process; null if it
  // is not mapped, and then no operation looks up its path. `selects`: false if all operations use
  // pipes. `in_caches`: as crossovers::in_caches.
  path_table(int rank, const std::vector<char*>& places, bool selects, size_t in_caches, clock now);

  // From so many bytes on, the first path is the kernel, as long as the buffers of all ranks fit
  // into the caches. Pipes are faster beyond, where they bypass the caches and the kernel does not.
  static constexpr size_t kernel_first_bytes = (size_t{128} << 10) + 1;

  // `bytes`: at least 1.
  static constexpr size_t class_of(operation_kind kind, size_t bytes) {
    return static_cast<size_t>(kind) * sizes + size_class_of(bytes);
  }
  // To be called for each operation with large data, in the order of the numbers. Returns its entry.
  uint64_t enter() { return entered_++; }

  // The data of an operation that has a path.
  struct transfer {
    size_t of_class;
    bool fits_area;   // and travels there in place of pipes
    uint64_t number;  // of the operation in the arena
    uint64_t entry;
    copy_path path;
    int64_t arrival;  // by the clock; 0: not measured
  };
  // Sets `path` and `arrival`. The area of the operation is free.
  void look_up(transfer* begun) const;
  // Whether this rank is to call begin_to_select().
  bool awaits_ranks() const {
    return rank_ == 0 && selects_ && !is_selecting_.load(std::memory_order_relaxed);
  }
  // Of rank 0, once it knows whether the kernel can copy between all ranks. `earliest`: the first
  // operation for which all ranks will know it.
  void begin_to_select(uint64_t earliest, bool kernel_copies);
  // To be called when the operation has ended on this rank without an error, before the rank calls
  // where.finish().
  void ended(const transfer& made, arena& where);

 private:
  static constexpr size_t kinds = static_cast<size_t>(operation_kind::free_group) + 1;
  static constexpr size_t sizes = 16;
  static constexpr size_t smallest_size_bits = 10;
  // The last class has all larger sizes.
  static constexpr size_t largest_in(size_t size_class) {
    return size_t{2} << (size_class + smallest_size_bits);
  }
  static constexpr size_t size_class_of(size_t bytes) {
    size_t found = 0;
    while (found + 1 < sizes && bytes > largest_in(found)) ++found;
    return found;
  }
  // More than there are lines: no rank is so many operations ahead of another.
  static constexpr uint64_t entries = 64;

  // The times of a rank in one operation.
  struct times {
    std::atomic<uint64_t> entry;  // 1 + the entry; written last; 0 while the other members change
    std::atomic<int64_t> arrival;
    std::atomic<int64_t> end;
  };
  struct board {
    std::array<std::atomic<uint64_t>, kinds * sizes> plans;  // of rank 0: packed, by class; 0: none
    std::atomic<uint64_t> kernel_from;  // of rank 0: the first operation of large data; 0: none
    std::atomic<uint64_t> in_caches;    // of rank 0; written before kernel_from
    alignas(128) std::array<times, entries> operations;  // by entry % entries
  };

  board& of(int rank) const {
    return *reinterpret_cast<board*>(places_[static_cast<size_t>(rank)]);
  }
  // Of rank 0's limit, so that it is equal on all ranks. The kernel is allowed.
  copy_path first_path_of(size_t of_class) const;
  bool is_kernel_allowed() const { return of(0).kernel_from.load(std::memory_order_relaxed) != 0; }
  path_plan plan_of(size_t of_class) const;
  void record_times(const transfer& made);
  // ns from the arrival of the last rank to the end on all ranks; -1: not known.
  int64_t duration_of(const transfer& made) const;
  // Of rank 0. How many operations are to be counted when this one has ended; 0: it is counted later,
  // together with others.
  uint64_t count_ended(const transfer& made);
  // Of rank 0. With lock_ held.
  void update_plan(const transfer& made, uint64_t ended, arena& where);
  path_selector& selector_of(const transfer& made);

  const int rank_;
  const std::vector<char*> places_;
  const bool selects_;
  const size_t in_caches_;
  const clock now_;
  uint64_t entered_ = 0;

  // The following members are of rank 0.
  std::atomic<bool> is_selecting_{false};
  // Operations of each class whose data fit into the area, and which are counted in groups: the lock
  // takes a tenth of their time.
  static constexpr uint8_t group = 8;
  std::array<std::atomic<uint8_t>, kinds* sizes> in_area_ = {};
  // An operation is not counted if another thread holds the
  // lock when it ends.
  ds::spinlock lock_;
  // Guarded by lock_: made for the first operation of a class.
  std::array<std::unique_ptr<path_selector>, kinds * sizes> selectors_;
  // Guarded by lock_: measured operations that some rank may not have finished.
  std::array<transfer, 2 * path_selector::samples> open_;
  size_t open_count_ = 0;
};

}  // namespace lci::coll

#endif  // LCI_COLL_PATH_TABLE_H_
