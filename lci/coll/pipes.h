// Pipes between the ranks of a host: data that are too large for an area pass through the block of
// their rank in pieces, which the other ranks copy out while the next ones are copied in.
//
// A copy by the kernel from the memory of another rank (process_vm_readv) needs one copy less, but a
// call of the system looks up each page, and a pipe stays in the caches of both processors: on some
// machines pipes are up to four times as fast, on others half as fast (path_table.h,
// docs/performance/collectives.md).
#ifndef LCI_COLL_PIPES_H_
#define LCI_COLL_PIPES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lci::coll {

// Numbers of pieces count from 0, over all operations of an arena: each operation takes as many
// numbers as it has pieces, on all ranks the same ones, whether a rank writes them or not.
//
// Thread safety: reserve() as arena::begin(); the others by any thread, for an operation whose turn
// it is by one thread at a time.
class pipes {
 public:
  // A pipe has room for `slots` pieces. Its size counts, not that of a piece: 256 KiB in all are
  // faster than 64 KiB, by a factor of 1.5 near and 2 to 4 far; pieces of 8 to 128 KiB are alike.
  static constexpr size_t piece_bytes = size_t{32} << 10;
  static constexpr uint64_t slots = 8;
  // Bytes of one rank's pipe.
  static size_t bytes();

  // `places`: by rank; where its pipe of zero bytes lies, mapped here; null: not mapped, and no
  // operation has pieces.
  pipes(int rank, std::vector<char*> places);

  // For an operation of so many pieces. Returns the number of its first one.
  uint64_t reserve(uint64_t pieces);
  // Operations use the pipes one after the other: whether the pieces before this one are over for
  // this rank. Then its operation may use what follows.
  bool is_turn(uint64_t first) const { return turn_.load(std::memory_order_acquire) == first; }
  // The pieces before `next` are over for this rank.
  void end_turn(uint64_t next) { turn_.store(next, std::memory_order_release); }
  // Skips the pieces before `next`, of the operation whose turn it is: no rank writes or reads them.
  void skip(uint64_t next) {
    publish(next);
    release(next);
    end_turn(next);
  }

  // A rank that may still read what was in the slot of this piece before; -1: this rank may write.
  int holder(uint64_t piece);
  // This rank's piece.
  char* own_slot(uint64_t piece) const { return slot_of(rank_, piece); }
  // All pieces of this rank before `next` can be read.
  void publish(uint64_t next) {
    of(rank_).written.store(next, std::memory_order_release);  // R1
  }

  bool is_written(int rank, uint64_t piece) const {
    return of(rank).written.load(std::memory_order_acquire) > piece;  // A1
  }
  const char* slot(int rank, uint64_t piece) const { return slot_of(rank, piece); }
  // This rank does not read pieces before `next`, of any rank, any more.
  void release(uint64_t next) {
    of(rank_).taken.store(next, std::memory_order_release);  // R2
  }

 private:
  struct header {
    alignas(128) std::atomic<uint64_t> written;  // pieces before this one have been in the pipe
    alignas(128) std::atomic<uint64_t> taken;    // the owner reads none before this one any more
  };

  header& of(int rank) const {
    return *reinterpret_cast<header*>(places_[static_cast<size_t>(rank)]);
  }
  char* slot_of(int rank, uint64_t piece) const {
    return places_[static_cast<size_t>(rank)] + sizeof(header) + piece % slots * piece_bytes;
  }

  const int rank_;
  const std::vector<char*> places_;
  uint64_t reserved_ = 0;
  std::atomic<uint64_t> turn_{0};
  std::atomic<uint64_t> all_taken_{0};  // known to be no longer read by any rank: those before
};

}  // namespace lci::coll

#endif  // LCI_COLL_PIPES_H_
