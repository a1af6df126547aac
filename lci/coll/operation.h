// A collective operation as one rank carries it out in an arena: stages, between which it waits for
// other ranks to reach theirs.
#ifndef LCI_COLL_OPERATION_H_
#define LCI_COLL_OPERATION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/api/types.hpp"
#include "lci/base/prefetch.h"
#include "lci/coll/arena.h"

namespace lci::coll {

// Where this operation stands among all of its arena.
struct ticket {
  arena* where;
  uint64_t number;  // from 1; 0: it does not begin before restart()
  uint64_t hash;    // of begin()
  // Bytes up to which data may go through pipes; 0: none. Equal on all ranks. Operations of an arena
  // for which it is not 0 are made, or restarted, in the same order on all ranks.
  size_t most_in_pipe = 0;
};

// Whether items of this size can travel through pipes, where each piece has a part for each of so
// many ranks; 1: the whole piece is for all.
constexpr bool fits_pieces(size_t item_size, int parts = 1) {
  // A smaller part costs more for its bookkeeping than for its bytes.
  constexpr size_t least_part = 256;
  return parts > 0 && item_size <= pipes::piece_bytes &&
         std::max(item_size, least_part) * static_cast<size_t>(parts) <= pipes::piece_bytes;
}

// Data of up to line::inline_bytes travel in the line, larger data in the area, and the largest
// through the pipes, in pieces. Of operations, or of arenas, that have no pieces the other ranks
// read the owner's own memory: that takes one copy less, but system calls, and the owner must wait
// until all have read it.
//
// An operation is carried out once, or, from one restart() to the next end(), many times.
//
// Thread safety: one thread at a time.
class operation {
 public:
  // `most_in_area`: bytes that are offered in the area, and not in pieces or in the rank's own
  // memory; at most arena::area_bytes.
  operation(const ticket& own, size_t most_in_area)
      : where_(*own.where),
        number_(own.number),
        hash_(own.hash),
        most_in_area_(most_in_area),
        most_in_pipe_(own.most_in_pipe) {}
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
  // The arena is told that this rank has ended the operation, once for each beginning. An operation
  // that is not over is broken off.
  void end();

  // Before end(): the operation is broken off because this rank is lost.
  void give_up(int lost_rank) { lost_ = lost_rank; }

  // Goes as far as possible without waiting. Returns whether the operation is over for this rank:
  // its results are there, and its buffers belong to the program again. Throws std::runtime_error
  // if the ranks do not call the same operation or another rank's memory cannot be read; then end()
  // must follow.
  bool advance() {
    if (step()) {
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
           : size <= most_in_area_    ? place::in_area
           : pieces_ != 0             ? place::in_pipe
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
  // For error messages.
  int name_of(int rank) const { return where_.name_of(rank); }

  // Whether offer() may be called: no earlier operation uses this rank's line or area.
  bool may_offer(size_t size) {
    return where_.is_line_free(number_) &&
           (place_of(size) != place::in_area || where_.is_area_free(number_));
  }
  // As may_offer(), where the operation uses its area in any case.
  bool may_use_area() { return where_.is_line_free(number_) && where_.is_area_free(number_); }
  // Once, before the first publish(). What place_of() says is in memory must not change until the
  // other ranks have read it.
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
    own_line().recv_address = reinterpret_cast<uintptr_t>(address);
  }
  // Tells the other ranks that this one has reached the stage. `offered` is the first.
  void publish(uint64_t stage) {
    line& own = own_line();
    if (stage == offered) own.hash.store(hash_, std::memory_order_relaxed);
    own.phase.store(number_ << 8 | stage, std::memory_order_release);  // R1
    if (stage == offered) base::fetch_to_write(&where_.line_of(rank(), number_ + written_ahead));
  }
  bool has_reached(int rank, uint64_t stage) {
    const line& theirs = where_.line_of(rank, number_);
    const uint64_t phase = theirs.phase.load(std::memory_order_acquire);  // A1
    if (phase < (number_ << 8 | stage)) {
      awaited_ = rank;
      return false;
    }
    if (__builtin_expect(theirs.hash.load(std::memory_order_relaxed) != hash_, 0)) {
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
    for (; reached_ + 1 < size(); ++reached_) {
      if (!has_reached(neighbor(reached_ + 1), stage)) return false;
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

  // How data of a size are cut into pieces. `parts`: as of fits_pieces().
  struct division {
    uint64_t count;  // pieces
    size_t bytes;    // in each but the last one; a multiple of the size of an item
  };
  static division divide(size_t size, size_t item_size = 1, int parts = 1) {
    const size_t bytes = pipes::piece_bytes / static_cast<size_t>(parts) / item_size * item_size;
    return {(size + bytes - 1) / bytes, bytes};
  }
  // For constructors: whether that many bytes, which a rank offers, travel in pieces; then
  // use_pieces() must follow.
  bool may_use_pieces(size_t size, size_t item_size = 1, int parts = 1) const {
    return size > most_in_area_ && size <= most_in_pipe_ && fits_pieces(item_size, parts);
  }
  void use_pieces(uint64_t count) {
    pieces_ = count;
    if (number_ != 0) reserve_pieces();
  }
  // A piece's bytes within the data of a size.
  struct piece {
    size_t begin;
    size_t bytes;
  };
  static piece piece_of(uint64_t number, size_t bytes_of_each, size_t size) {
    const size_t begin = std::min(static_cast<size_t>(number) * bytes_of_each, size);
    return {begin, std::min(bytes_of_each, size - begin)};
  }
  enum class part { writes, reads, both };
  // For step(), of data in pieces, after this rank has published its line: goes on as far as
  // possible. Returns whether all pieces are over for this rank.
  //   put(number, slot)  copies the piece of this rank into the slot; false: it can't yet
  //   get(number)        uses the piece of all writers, with slot_of()
  // `writer`: the only rank that writes; -1: all others do. Each piece is read after the one before
  // it, and written after the one before it.
  template <class Put, class Get>
  bool exchange(part own, int writer, const Put& put, const Get& get);
  // For put(): what this rank offers.
  struct block {
    const char* data;
    size_t size;
  };
  static bool put_whole(uint64_t number, size_t bytes_of_each, char* slot, const block& from) {
    const piece each = piece_of(number, bytes_of_each, from.size);
    std::memcpy(slot, from.data + each.begin, each.bytes);
    return true;
  }
  // block_for(rank): for that other rank.
  template <class BlockFor>
  bool put_parts(uint64_t number, size_t bytes_of_each, char* slot, const BlockFor& block_for) {
    for (int distance = 1; distance < size(); ++distance) {
      const int to = neighbor(distance);
      put_whole(number, bytes_of_each, slot + part_for(to, rank()) * bytes_of_each, block_for(to));
    }
    return true;
  }
  const char* slot_of(int rank, uint64_t number) const {
    return where_.pipes().slot(rank, first_piece_ + number);
  }
  // In divided pieces, the place of the part of rank `to` in the slot of rank `from`.
  size_t part_for(int to, int from) const {
    return static_cast<size_t>(to > from ? to - from - 1 : to - from - 1 + size());
  }
  uint64_t pieces_read() const { return read_; }

  // Bytes that a rank which has reached stage 1 offered with offer(.., total), from `offset` on,
  // where they can be read at once: `scratch`, which has room for them, or its line or area.
  const char* view(int rank, size_t total, size_t offset, size_t bytes, char* scratch) const;
  void copy(int rank, size_t total, size_t offset, size_t bytes, void* to) const;
  // Of results at the address that the rank gave to offer_results().
  void copy_results(int rank, size_t offset, size_t bytes, void* to) const {
    where_.read(rank, to, where_.line_of(rank, number_).recv_address + offset, bytes);
  }
  // Of the memory of a rank.
  void read_memory(int rank, uint64_t from, size_t bytes, void* to) const {
    where_.read(rank, to, from, bytes);
  }
  char* own_area() const { return where_.area_of(rank(), number_); }
  const char* area_of(int rank) const { return where_.area_of(rank, number_); }

  // What combine() needs to know.
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
  // The same of pieces: the bytes [offset, offset + bytes), which stand `in_slot` bytes behind the
  // start of the slots of the other ranks; `in_slot(rank)`.
  template <class InSlot>
  void combine_piece(const operands& what, uint64_t number, size_t offset, size_t bytes,
                     const InSlot& in_slot, char* result);

 private:
  void reserve_pieces() {
    if (pieces_ != 0) first_piece_ = where_.pipes().reserve(pieces_);
  }
  // sum = the operands combined. `detour`: null, or room for a part of them, where the result may
  // overwrite this rank's own operand.
  template <class Operand>
  static void combine_operands(const operands& what, size_t bytes, char* result, char* detour,
                               const Operand& operand);
  static char* scratch_of_thread(size_t bytes);
  line& own_line() const { return where_.line_of(rank(), number_); }

  arena& where_;
  uint64_t number_;  // 0: the arena has been told of the end
  uint64_t hash_;
  const size_t most_in_area_;
  const size_t most_in_pipe_;
  uint64_t pieces_ = 0;
  uint64_t first_piece_ = 0;
  uint64_t written_ = 0;  // pieces of this operation
  uint64_t read_ = 0;
  bool has_turn_ = false;
  int reached_ = 0;  // neighbors known to have reached the stage asked for
  int awaited_ = -1;
  int lost_ = -1;
  uint32_t waits_ = 0;
  bool over_ = false;
};

template <class Put, class Get>
bool operation::exchange(part own, int writer, const Put& put, const Get& get) {
  pipes& all = where_.pipes();
  if (!has_turn_) {
    if (!all.is_turn(first_piece_)) return false;
    has_turn_ = true;
    written_ = own == part::reads ? pieces_ : 0;
    read_ = own == part::writes ? pieces_ : 0;
    // Nobody waits for a rank that does not read.
    if (read_ == pieces_) all.release(first_piece_ + pieces_);
  }
  const auto can_read = [&] {
    for (; reached_ + 1 < size(); ++reached_) {
      const int from = neighbor(reached_ + 1);
      if (writer >= 0 && from != writer) continue;
      if (read_ == 0 && !has_reached(from, offered)) return false;
      if (!all.is_written(from, first_piece_ + read_)) {
        awaited_ = from;
        return false;
      }
    }
    reached_ = 0;
    return true;
  };
  const auto can_write = [&] {
    const int holder = all.holder(first_piece_ + written_);
    if (holder >= 0) awaited_ = holder;
    return holder < 0;
  };
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    if (written_ < pieces_ && can_write() && put(written_, all.own_slot(first_piece_ + written_))) {
      all.publish(first_piece_ + ++written_);
      has_moved = true;
    }
    if (read_ < pieces_ && can_read()) {
      get(read_);
      all.release(first_piece_ + ++read_);
      has_moved = true;
    }
  }
  if (written_ < pieces_ || read_ < pieces_) return false;
  all.end_turn(first_piece_ + pieces_);
  return true;
}

template <class Operand>
void operation::combine_operands(const operands& what, size_t bytes, char* result, char* detour,
                                 const Operand& operand) {
  const size_t count = bytes / what.item_size;
  char* const sum = detour != nullptr ? detour : result;
  const char* right = operand(what.ranks - 1);
  if (what.ranks == 1) std::memmove(sum, right, bytes);
  for (int r = what.ranks - 2; r >= 0; --r) {
    what.op(operand(r), right, sum, count);
    right = sum;
  }
  if (detour != nullptr) std::memcpy(result, detour, bytes);
}

template <class InSlot>
void operation::combine_piece(const operands& what, uint64_t number, size_t offset, size_t bytes,
                              const InSlot& in_slot, char* result) {
  char* const detour = what.own_is_result ? scratch_of_thread(bytes) : nullptr;
  combine_operands(what, bytes, result, detour, [&](int r) {
    return r == rank() ? what.own + offset : slot_of(r, number) + in_slot(r);
  });
}

}  // namespace lci::coll

#endif  // LCI_COLL_OPERATION_H_
