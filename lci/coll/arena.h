// Memory in which the ranks of one host meet for collective operations, instead of sending
// messages. Each rank owns a block that all ranks have mapped; only the owner writes to it.
#ifndef LCI_COLL_ARENA_H_
#define LCI_COLL_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lci/coll/path_table.h"
#include "lci/coll/pipes.h"
#include "lci/coll/signature.h"
#include "lci/ds/biased_lock.h"
#include "lci/ds/write_gate.h"

namespace lci::coll {

// What the ranks share of an operation whose data are in their own memory, beside a line.
struct memory_line {
  uint64_t recv_address;  // in the owner's process: where results stand

  // Of a block of the owner that the root copies, too (cooperative_operation.h):
  std::atomic<uint64_t> taken;  // of ds::shared_pieces
  std::atomic<bool> is_root_done;
  ds::write_gate gate;  // to the owner's memory
};

// One rank's part in one operation. The ranks' lines for an operation lie in different cache lines.
// No line is written by two ranks, except for `taken` and is_root_done of its memory_line.
struct alignas(128) line {
  static constexpr size_t inline_bytes = 96;

  // (number of the operation) << 8 | stage, which only grows. Written last (R1), after what the
  // stage offers to the other ranks; readers acquire it (A1).
  std::atomic<uint64_t> phase;
  std::atomic<uint64_t> hash;  // of the signatures up to this operation's
  uint64_t send_address;       // in the owner's process: data too large for the block
  ds::gated_writer writer;     // of the owner, to memory of other ranks
  union {
    alignas(8) unsigned char bytes[inline_bytes];  // data that fits
    memory_line memory;
  };
};
static_assert(sizeof(line) == 128);

// The call of a rank in one of its last operations, for reports.
struct record {
  std::atomic<uint64_t> number;  // written last; 0 while the other members change
  std::atomic<uint64_t> hash;
  std::atomic<uint64_t> kind_and_root;
  std::atomic<uint64_t> size;
  std::atomic<uint64_t> item_size;
  std::atomic<uint64_t> layout;
};

// The numbers of operations count from 1, equal on all ranks.
struct block_header {
  alignas(128) std::atomic<uint32_t> joined;  // a join_state
  // The owner has finished all operations with numbers up to this one; a multiple of
  // publish_interval.
  alignas(128) std::atomic<uint64_t> finished;
  // The operation that the owner broke off first; 0: none. Written after `lost`.
  std::atomic<uint64_t> broken;
  // 1 + the name of the rank whose loss was the reason; 0: another one.
  std::atomic<uint64_t> lost;
};

// Bytes that a rank offers at which operations change the way of their data. Equal on all ranks.
struct crossovers {
  // Up to which operations that only copy, and those that combine, offer data in the area; at most
  // arena::area_bytes.
  size_t copied_in_area;
  size_t combined_in_area;
  // From which on each rank of an allreduce combines a part, instead of all.
  size_t combined_in_parts;
  // Up to which data go through pipes; 0: none. Operations of an arena for which it is not 0 are
  // made, or restarted, in the same order on all ranks.
  size_t in_pipe;
  // Whether the arena measures pipes against the ranks' own memory, and selects the faster path
  // (path_table.h).
  bool selects_paths = false;
  // Up to which bytes of buffers of all ranks together the results of an operation go through the
  // caches. Results of larger ones bypass them: the caches would lose them before the program reads
  // them. Need not be equal on all ranks; that of rank 0 counts for the selection of paths.
  size_t in_caches = ~size_t{0};
};

// The memory of a rank could not be read or written.
class memory_error : public std::runtime_error {
 public:
  memory_error(int rank, const std::string& what) : std::runtime_error(what), rank_(rank) {}
  // As error messages call it.
  int rank() const { return rank_; }

 private:
  int rank_;
};

// Thread safety: any thread may call any member at any time, except construction, destruction, and
// begin(), whose calls the program orders.
class arena {
 public:
  static constexpr uint64_t lines = 32;  // operations whose lines exist at a time
  static constexpr uint64_t areas = 8;   // operations whose areas exist at a time
  static constexpr size_t area_bytes = size_t{32} << 10;
  static constexpr uint64_t records = 64;
  // A rank publishes that it has finished operations after each so many of them: a rank that waits
  // for room polls the same line, which each write would take away from its cache.
  static constexpr uint64_t publish_interval = 4;

  enum class join_state : uint32_t { unknown, failed, mapped, readable };

  // Copies from and to the address space of a rank. False if the bytes cannot be read, or written.
  struct memory_access {
    std::function<bool(int rank, void* to, uint64_t from, size_t size)> read;
    std::function<bool(int rank, uint64_t to, const void* from, size_t size)> write;
  };

  // Bytes of a block.
  static size_t block_bytes();

  // `blocks`: by rank; where each rank's block of zero bytes lies in this process, and stays as
  // long as the arena lives. Null: not mapped here. `access`: empty, if this rank does not reach
  // the address spaces of all other ranks. `names`: what error messages call the ranks; empty: by
  // their place. `numbers_per_call`: operations of this arena that one call of the program takes,
  // which error messages count as one. `now`: by which the arena measures paths.
  arena(int rank, const std::vector<void*>& blocks, memory_access access, const crossovers& sizes,
        std::vector<int> names = {}, uint64_t numbers_per_call = 1,
        path_table::clock now = path_table::steady_clock);
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(blocks_.size()); }
  const crossovers& sizes() const { return sizes_; }
  int name_of(int rank) const { return names_.empty() ? rank : names_[static_cast<size_t>(rank)]; }
  // The call of the program that the operation is part of, from 1.
  uint64_t call_of(uint64_t number) const { return (number - 1) / numbers_per_call_ + 1; }

  // The abilities that all ranks have: the least of their states; `unknown` until all ranks have
  // made their arena. Equal on all ranks as soon as it is known.
  join_state joined();

  // A rank that has not made its arena; -1: all have.
  int missing() const;

  // The next operation of this rank. Every operation of the program begins here, those that travel
  // as messages, too. Returns its hash.
  uint64_t begin(uint64_t number, const signature& called);
  // The operation is over for this rank, which does not read the other ranks' lines and areas for
  // it any more. Once for each begin().
  void finish(uint64_t number);
  // This rank ended the operation by an error: other ranks must not wait for it. `lost`: the name
  // of the rank whose loss is the reason; -1: another reason.
  void break_off(uint64_t number, int lost);

  // Whether this rank's line, or its area, of that operation is no longer used by an earlier one.
  bool is_line_free(uint64_t number) { return number <= lines || all_finished(number - lines); }
  bool is_area_free(uint64_t number) { return number <= areas || all_finished(number - areas); }

  line& line_of(int rank, uint64_t number) const { return lines_of(rank)[number % lines]; }
  char* area_of(int rank, uint64_t number) const {
    return block_of(rank) + areas_offset() + number % areas * area_bytes;
  }
  // All ranks have finished the operations up to this one, as far as this rank knows.
  bool all_finished(uint64_t number) {
    return __builtin_expect(all_finished_.load(std::memory_order_acquire) >= number, 1) ||
           look_for_finished() >= number;
  }

  coll::pipes& pipes() { return pipes_; }
  coll::path_table& paths() { return paths_; }
  // Throws memory_error if that is impossible.
  void read(int rank, void* to, uint64_t from, size_t size) const;
  // Writes to the memory of another rank, which has opened it for operation `number`, as this rank
  // has. False, and nothing is written: that rank has closed it, since it broke off the operation.
  bool write(int rank, uint64_t number, uint64_t to, const void* from, size_t size) const;
  // Allows the other ranks to write to this rank's memory in operation `number` once this rank has
  // published its first stage.
  void open_memory(uint64_t number) const;
  // Of a rank that has broken off the operation. No rank writes to its memory after the call, which
  // waits for one that is doing so: for the time of one copy, or until that rank's process has ended.
  void close_memory(uint64_t number) const;

  // For a rank that has waited for a while in operation `number`, or has found another hash in a
  // line. Throws std::runtime_error, naming both ranks and what they called, if some rank called
  // another operation as its number `number` or before, or has broken off this one;
  // peer_failure_error, if it did so because a rank is lost.
  void check_agreement(uint64_t number) const;

 private:
  static size_t areas_offset();
  static size_t paths_offset() { return areas_offset() + areas * area_bytes; }
  static size_t pipe_offset();
  static void write_record(record* to, uint64_t number, uint64_t hash, const signature& called);
  static bool read_record(const record& from, uint64_t number, uint64_t* hash, signature* called);

  // The first operation, up to `number`, of which this rank and another one have different hashes;
  // 0: none that is on record.
  struct difference {
    uint64_t number = 0;
    int rank = -1;
    signature own;
    signature remote;
  };
  difference first_difference(uint64_t number) const;

  char* block_of(int rank) const { return blocks_[static_cast<size_t>(rank)]; }
  block_header& header_of(int rank) const {
    return *reinterpret_cast<block_header*>(block_of(rank));
  }
  line* lines_of(int rank) const {
    return reinterpret_cast<line*>(block_of(rank) + sizeof(block_header));
  }
  record* records_of(int rank) const {
    return reinterpret_cast<record*>(block_of(rank) + sizeof(block_header) + lines * sizeof(line));
  }
  uint64_t look_for_finished();
  // With mutex_ held:
  void note_finished(uint64_t number);
  void finish_early(uint64_t number);
  void publish_finished(uint64_t number);

  const int rank_;
  const std::vector<char*> blocks_;
  coll::pipes pipes_;
  coll::path_table paths_;
  const memory_access access_;
  const crossovers sizes_;
  const std::vector<int> names_;
  const uint64_t numbers_per_call_;
  std::atomic<uint32_t> joined_{0};  // once it is known
  uint64_t hash_ = 0;                // of all operations begun
  std::atomic<uint64_t> all_finished_{0};

  ds::biased_lock mutex_;   // mostly one thread finishes the operations
  uint64_t finished_ = 0;   // guarded by mutex_: all up to this one
  uint64_t published_ = 0;  // guarded by mutex_: what the others know of it
  // Guarded by mutex_: which operations beyond finished_ + 1 have finished. Operation n is at
  // n % early_.size(). The vector grows to the longest distance from finished_, so that an
  // operation allocates nothing once operations have overlapped that far.
  std::vector<bool> early_ = std::vector<bool>(lines);
  size_t early_count_ = 0;  // guarded by mutex_
};

}  // namespace lci::coll

#endif  // LCI_COLL_ARENA_H_
