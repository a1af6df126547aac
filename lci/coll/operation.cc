#include "lci/coll/operation.h"

#include <algorithm>
#include <array>
#include <vector>

#include "lci/base/copy.h"
#include "lci/base/thread_object.h"

namespace lci::coll {
namespace {

struct scratch {
  std::array<std::vector<char>, 2> rooms;
};

}  // namespace

// It stays with the thread, as it would take longer to allocate than to use.
char* operation::scratch_of_thread(size_t bytes, scratch_use use) {
  std::vector<char>& room = base::thread_object<scratch>::get().rooms[static_cast<size_t>(use)];
  if (room.size() < bytes) room.resize(bytes);
  return room.data();
}

operation::~operation() { end(); }

void operation::restart(uint64_t number, uint64_t hash) {
  number_ = number;
  hash_ = hash;
  stage_ = 0;
  reached_ = 0;
  awaited_ = -1;
  lost_ = -1;
  waits_ = 0;
  over_ = false;
  is_memory_open_ = false;
  reserve_pieces();
}

void operation::reserve_pieces() {
  if (pieces_ == 0) return;
  first_piece_ = where_.pipes().reserve(pieces_);
  transfer_.number = number_;
  transfer_.entry = where_.paths().enter();
  has_path_ = false;
  is_in_pieces_ = false;
}

bool operation::find_path() {
  if (!where_.is_area_free(number_) || !where_.pipes().is_turn(first_piece_)) {
    awaited_ = -1;
    return false;
  }
  where_.paths().look_up(&transfer_);
  has_path_ = true;
  is_in_pieces_ = transfer_.path == copy_path::pipes_past_caches ||
                  (transfer_.path == copy_path::pipes && !transfer_.fits_area);
  if (!is_in_pieces_) where_.pipes().skip(first_piece_ + pieces_);
  return true;
}

void operation::end() {
  if (number_ == 0) return;
  if (!over_) {
    where_.break_off(number_, lost_);
    if (is_memory_open_) where_.close_memory(number_);
  } else if (pieces_ != 0) {
    where_.paths().ended(transfer_, where_);
  }
  where_.finish(number_);
  number_ = 0;
}

void operation::offer(const void* data, size_t size) {
  switch (place_of(size)) {
    case place::in_line:
      base::copy_bytes(own_line().bytes, data, size);
      break;
    case place::in_area:
      base::copy_data(own_area(), data, size);
      break;
    case place::in_pipe:
      break;
    case place::in_memory:
      offer_memory(data);
      break;
  }
}

const char* operation::view(int rank, size_t total, size_t offset, size_t bytes,
                            char* scratch) const {
  switch (place_of(total)) {
    case place::in_line:
      return reinterpret_cast<const char*>(where_.line_of(rank, number_).bytes) + offset;
    case place::in_area:
      return area_of(rank) + offset;
    case place::in_pipe:
    case place::in_memory:
      break;
  }
  copy(rank, total, offset, bytes, scratch);
  return scratch;
}

void operation::copy(int rank, size_t total, size_t offset, size_t bytes, void* to) const {
  switch (place_of(total)) {
    case place::in_line:
      base::copy_bytes(to, where_.line_of(rank, number_).bytes + offset, bytes);
      return;
    case place::in_area:
      base::copy_data(to, area_of(rank) + offset, bytes);
      return;
    case place::in_pipe:
    case place::in_memory:
      where_.read(rank, to, where_.line_of(rank, number_).send_address + offset, bytes);
      return;
  }
}

void operation::combine(const operands& what, size_t offset, size_t bytes, char* result) {
  const place kind = place_of(what.total);
  const bool needs_scratch = kind == place::in_memory;
  const size_t most =
      std::max((needs_scratch ? read_piece_bytes : piece_bytes) / what.item_size, size_t{1}) *
      what.item_size;
  char* const scratch = needs_scratch ? scratch_of_thread(3 * most) : nullptr;
  char* const left_room = scratch;
  char* const right_room = needs_scratch ? scratch + most : nullptr;
  // This rank's own bytes are still needed when the first results are written.
  const bool is_detour = needs_scratch && what.own_is_result;
  for (size_t at = offset; at < offset + bytes; at += most) {
    const size_t now = std::min(most, offset + bytes - at);
    char* const target = result + (at - offset);
    const auto operand = [&](int r, char* room) {
      if (r != rank()) return view(r, what.total, at, now, room);
      // Where the results overwrite the program's buffer, the copy in the line or area remains.
      return what.own_is_result && !needs_scratch ? view(r, what.total, at, now, room)
                                                  : what.own + at;
    };
    combine_operands(what, now, target, is_detour ? scratch + 2 * most : nullptr, [&](int r) {
      return operand(r, r == what.ranks - 1 ? right_room : left_room);
    });
  }
}

}  // namespace lci::coll
