// A collective operation as one rank carries it out in an arena: stages, between which it waits for
// other ranks to reach theirs.
#ifndef LCI_COLL_OPERATION_H_
#define LCI_COLL_OPERATION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/api/types.hpp"
#include "lci/base/copy.h"
#include "lci/base/prefetch.h"
#include "lci/coll/arena.h"
#include "lci/coll/buffer_bytes.h"

namespace lci::coll {

// Where this operation stands among all of its arena.
struct ticket {
  arena* where;
  uint64_t number;  // from 1; 0: it does not begin before restart()
  uint64_t hash;    // of begin()
};

// Data of up to line::inline_bytes travel in the line, larger data in the area, and the largest
// through the pipes, in pieces (piped_operation.h), or the ranks copy from the owner's own memory.
// That needs one copy less, but system calls, and the owner must wait until all ranks have copied.
// The arena measures which path is faster, for some of the data that fit into the area, too
// (path_table.h).
//
// An operation is carried out once, or, from one restart() to the next end(), many times.
//
// Thread safety: one thread at a time.
class operation {
 public:
  // `most_in_area`: bytes that fit into the area and are not offered in the rank's own memory; at
  // most arena::area_bytes.
  operation(const ticket& own, size_t most_in_area)
      : where_(*own.where), number_(own.number), hash_(own.hash), most_in_area_(most_in_area) {}
  virtual ~operation();
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  // For reports: the rank that the operation waited for when it was last advanced; -1: the rank's
  // own line is still used by an earlier operation.
  int awaited() const { return awaited_; }
  uint64_t number() const { return number_; }

  // Begins the operation once more, with the same arguments, under another number; end() has been
  // called since the last time.
  void restart(uint64_t number, uint64_t hash);
  // Notifies the arena that this rank has ended the operation, once for each beginning. An
  // operation that is not complete is broken off.
  void end();

  // Before end(): the operation is broken off because this rank is lost.
  void give_up(int lost_rank) { lost_ = lost_rank; }

  // Goes as far as possible without waiting. Returns whether the operation is over for this rank:
  // its results are there, and its buffers belong to the program again. Throws std::runtime_error
  // if the ranks do not call the same operation or another rank's memory cannot be read; then end()
  // must follow.
  bool advance() {
    if (__builtin_expect(pieces_ == 0 || has_path_ || find_path(), 1) && step()) {
      over_ = true;
      return true;
    }
    if (__builtin_expect(++waits_ % waits_before_check == 0, 0)) where_.check_agreement(number_);
    return false;
  }

 protected:
  // Some 10 us.
  static constexpr uint32_t waits_before_check = 256;
  // Lines of later operations that are fetched: the owner's, which others have read, so that it can
  // write at once; another rank's, which may be ahead. (8 B between processors that are far apart,
  // broadcast 0.22 to 0.12 us, reduce 0.24 to 0.12; nearer ones 0.085 to 0.08 and 0.088 to 0.072.)
  static constexpr uint64_t written_ahead = 2;
  static constexpr uint64_t read_ahead = 3;
  // Operands are combined in pieces. Pieces of this size stay in the first cache.
  static constexpr size_t piece_bytes = size_t{16} << 10;
  // Pieces that are read from other ranks' own memory stay in the second cache: a smaller one takes
  // more time for the system call than for the bytes. (1 MiB, 2 ranks: 16 KiB 222 us, 64 KiB 164,
  // 128 KiB 131.)
  static constexpr size_t read_piece_bytes = size_t{128} << 10;

  enum class place { in_line, in_area, in_pipe, in_memory };
  // Depends on what is equal on all ranks.
  place place_of(size_t size) const {
    return size <= line::inline_bytes ? place::in_line
           : is_in_pieces()           ? place::in_pipe
           : size <= most_in_area_    ? place::in_area
                                      : place::in_memory;
  }

  // Stages that a rank publishes: its data can be read; its part of the results can be read; it has
  // read all that it needs of the other ranks' own memory.
  static constexpr uint64_t offered = 1;
  static constexpr uint64_t combined = 2;
  static constexpr uint64_t read = 3;

  // The stages of the operation: goes as far as possible, returns whether it is over.
  virtual bool step() = 0;
  // For step(): how far it has come; 0 when the operation begins.
  int stage_ = 0;

  int rank() const { return where_.rank(); }
  int size() const { return where_.size(); }
  const crossovers& sizes() const { return where_.sizes(); }
  // For error messages.
  int name_of(int rank) const { return where_.name_of(rank); }

  // Whether offer() may be called: no earlier operation uses this rank's line or area.
  bool may_offer(size_t size) {
    return where_.is_line_free(number_) &&
           (place_of(size) != place::in_area || where_.is_area_free(number_));
  }
  // As may_offer(), where the operation uses its area in any case.
  bool may_use_area() { return where_.is_line_free(number_) && where_.is_area_free(number_); }
  // To be called once, before the first publish(). The memory that place_of() describes must not
  // change until the other ranks have read it.
  void offer(const void* data, size_t size);
  // offer() and publish(offered), where may_offer(). Returns whether it did.
  bool offer_and_publish(const void* data, size_t size) {
    if (!may_offer(size)) return false;
    offer(data, size);
    publish(offered);
    return true;
  }
  // step() of an operation in which every rank offers `size` bytes and uses what all have offered.
  // Calls meanwhile() before it waits for the other ranks, and then use().
  template <class Meanwhile, class Use>
  bool offer_and_use(const void* data, size_t size, const Meanwhile& meanwhile, const Use& use) {
    switch (stage_) {
      case 0:
        if (!offer_and_publish(data, size)) return false;
        meanwhile();
        stage_ = 1;
        [[fallthrough]];
      case 1:
        if (!have_all_reached(offered)) return false;
        use();
        if (place_of(size) != place::in_memory) return true;
        publish(read);
        stage_ = 2;
        [[fallthrough]];
      default:
        return have_all_reached(read);
    }
  }
  // Where the results will stand that other ranks read.
  void offer_results(const void* address) {
    own_line().memory.recv_address = reinterpret_cast<uintptr_t>(address);
  }
  // Tells the other ranks that this one has reached the stage. `offered` is the first.
  void publish(uint64_t stage) {
    line& own = own_line();
    if (stage == offered) own.hash.store(hash_, std::memory_order_relaxed);
    own.phase.store(number_ << 8 | stage, std::memory_order_release);  // R1
    if (stage == offered) base::fetch_to_write(&where_.line_of(rank(), number_ + written_ahead));
  }
  bool has_reached(int rank, uint64_t stage) {
    const line& remote = where_.line_of(rank, number_);
    const uint64_t phase = remote.phase.load(std::memory_order_acquire);  // A1
    if (phase < (number_ << 8 | stage)) {
      awaited_ = rank;
      return false;
    }
    if (__builtin_expect(remote.hash.load(std::memory_order_relaxed) != hash_, 0)) {
      where_.check_agreement(number_);
    }
    if (stage == offered) __builtin_prefetch(&where_.line_of(rank, number_ + read_ahead));
    return true;
  }
  // As have_all_reached(), of the ranks from `first` to before `last`.
  bool have_reached(int first, int last, uint64_t stage) {
    for (; first + reached_ < last; ++reached_) {
      if (!has_reached(first + reached_, stage)) return false;
    }
    reached_ = 0;
    return true;
  }
  // Of stages that follow each other, each is asked for until it is reached.
  bool have_all_reached(uint64_t stage) {
    return holds_for_others([this, stage](int rank) { return has_reached(rank, stage); });
  }
  // Returns whether is_there(rank) is true of all other ranks. Tests the ranks in order, and
  // continues with the first missing one at the next call.
  template <class IsThere>
  bool holds_for_others(const IsThere& is_there) {
    for (; reached_ + 1 < size(); ++reached_) {
      if (!is_there(neighbor(reached_ + 1))) return false;
    }
    reached_ = 0;
    return true;
  }
  // The ranks from this one on: each begins with another one, so that they do not all read the same
  // memory at a time.
  int neighbor(int distance) const {
    const int sum = rank() + distance;
    return sum < size() ? sum : sum - size();
  }

  // Bytes that a rank which has reached stage 1 offered with offer(.., total), from `offset` on,
  // where they can be read at once: `scratch`, which has room for them, or its line or area.
  const char* view(int rank, size_t total, size_t offset, size_t bytes, char* scratch) const;
  void copy(int rank, size_t total, size_t offset, size_t bytes, void* to) const;
  // Of results at the address that the rank gave to offer_results().
  void copy_results(int rank, size_t offset, size_t bytes, void* to) const {
    where_.read(rank, to, where_.line_of(rank, number_).memory.recv_address + offset, bytes);
  }
  // Of the memory of a rank.
  void read_memory(int rank, uint64_t from, size_t bytes, void* to) const {
    where_.read(rank, to, from, bytes);
  }
  // To the memory of a rank, which has called open_memory(), as this rank has. False: nothing is
  // written, since that rank has broken off the operation.
  bool write_memory(int rank, uint64_t to, size_t bytes, const void* from) const {
    return where_.write(rank, number_, to, from, bytes);
  }
  // Before the first publish(): until the operation ends, other ranks may write to memory of this
  // one.
  void open_memory() {
    where_.open_memory(number_);
    is_memory_open_ = true;
  }
  // In place of offer(): data of any size in this rank's own memory.
  void offer_memory(const void* data) {
    own_line().send_address = reinterpret_cast<uintptr_t>(data);
  }
  // The address that a rank offered of data in its own memory.
  uint64_t address_of(int rank) const { return where_.line_of(rank, number_).send_address; }
  // Of a rank that has called open_memory().
  memory_line& memory_of(int rank) const { return where_.line_of(rank, number_).memory; }
  char* own_area() const { return where_.area_of(rank(), number_); }
  const char* area_of(int rank) const { return where_.area_of(rank, number_); }

  // The parameters of combine().
  struct operands {
    size_t total;      // bytes that each rank offered
    size_t item_size;  // bytes
    reduce_op_t op;
    const char* own;     // what this rank offered, in its own memory
    bool own_is_result;  // `own` and `result` of combine() may overlap
    int ranks;           // whose bytes are combined: those from 0 to before this one; at least 1
  };
  // result = the offered bytes [offset, offset + bytes) of ranks 0, 1, 2, ... combined, in this
  // order. These ranks have reached stage 1.
  void combine(const operands& what, size_t offset, size_t bytes, char* result);
  // sum = the operands combined, operand(rank) of each. `detour`: null, or room for the bytes,
  // where the result may overwrite this rank's own operand, or bypasses the caches.
  template <class Operand>
  void combine_operands(const operands& what, size_t bytes, char* result, char* detour,
                        const Operand& operand) const;
  // Room for a call that does not keep it: for operands, or for a result.
  enum class scratch_use { operands, result };
  static char* scratch_of_thread(size_t bytes, scratch_use use = scratch_use::operands);

  // For constructors. The data, of this size, form so many pieces if they go through pipes. The
  // path table selects how operations of this kind and size go.
  void use_pieces(operation_kind kind, size_t size, uint64_t count) {
    pieces_ = count;
    bypasses_caches_ = buffer_bytes(kind, size, this->size()) > sizes().in_caches;
    transfer_.of_class = path_table::class_of(kind, size);
    transfer_.fits_area = size <= most_in_area_;
    if (number_ != 0) reserve_pieces();
  }
  // Whether the data go in pieces. For step(): the path is known then.
  bool is_in_pieces() const { return is_in_pieces_; }
  // The same.
  copy_path path() const { return transfer_.path; }
  // Copies bytes of a piece into a pipe.
  void copy_in(char* to, const char* from, size_t bytes) const {
    base::copy(stores(path() == copy_path::pipes_past_caches), to, from, bytes);
  }
  uint64_t piece_count() const { return pieces_; }
  uint64_t first_piece() const { return first_piece_; }
  coll::pipes& pipes() const { return where_.pipes(); }
  void awaits(int rank) { awaited_ = rank; }
  // Copies bytes to where the program will find them.
  void copy_result(void* to, const void* from, size_t bytes) const {
    base::copy(stores(bypasses_caches_), to, from, bytes);
  }
  // Whether results go to where the program will find them by copy_result() alone.
  bool bypasses_caches() const { return bypasses_caches_; }
  // From more bytes on, distance matters more than the bookkeeping of pieces.
  static constexpr size_t most_without_path = size_t{1} << 10;
  // Whether there is a choice of paths for so many bytes.
  bool has_paths(size_t size) const {
    return size > std::min(std::max(most_in_area_, line::inline_bytes), most_without_path);
  }

 private:
  static base::store_kind stores(bool past_caches) {
    return past_caches ? base::store_kind::past_caches : base::store_kind::cached;
  }
  void reserve_pieces();
  // Looks up the path of the data. False: it is not known yet.
  bool find_path();
  line& own_line() const { return where_.line_of(rank(), number_); }

  arena& where_;
  uint64_t number_;  // 0: the arena has been notified of the end
  uint64_t hash_;
  const size_t most_in_area_;
  uint64_t pieces_ = 0;  // 0: the data cannot go through pipes
  uint64_t first_piece_ = 0;
  bool bypasses_caches_ = false;
  bool has_path_ = false;  // transfer_ has the path
  bool is_in_pieces_ = false;
  path_table::transfer transfer_;
  int reached_ = 0;  // neighbors known to have reached the stage asked for
  int awaited_ = -1;
  int lost_ = -1;
  uint32_t waits_ = 0;
  bool over_ = false;
  bool is_memory_open_ = false;
};

template <class Operand>
void operation::combine_operands(const operands& what, size_t bytes, char* result, char* detour,
                                 const Operand& operand) const {
  const size_t count = bytes / what.item_size;
  char* const sum = detour != nullptr ? detour : result;
  const char* right = operand(what.ranks - 1);
  if (what.ranks == 1) std::memmove(sum, right, bytes);
  for (int r = what.ranks - 2; r >= 0; --r) {
    what.op(operand(r), right, sum, count);
    right = sum;
  }
  if (detour != nullptr) copy_result(result, detour, bytes);
}

}  // namespace lci::coll

#endif  // LCI_COLL_OPERATION_H_
