#include "lci/coll/operations.h"

#include "lci/base/copy.h"

namespace lci::coll {

bool barrier::step() {
  if (stage_ == 0) {
    if (!may_offer(0)) return false;
    publish(offered);
    stage_ = 1;
  }
  return have_all_reached(offered);
}

bool broadcast::step() {
  switch (place_of(size_)) {
    case place::in_pipe:
      return step_in_pieces();
    case place::in_memory:
      return copy_cooperatively(
          root_, direction::from_root, buffer_, size_, [](int) { return size_t{0}; }, [] {});
    case place::in_line:
    case place::in_area:
      break;
  }
  if (rank() == root_) return offer_and_publish(buffer_, size_);
  if (!has_reached(root_, offered)) return false;
  copy(root_, size_, 0, size_, buffer_);
  return true;
}

bool broadcast::step_in_pieces() {
  const size_t bytes = divide(size_).bytes;
  const bool is_root = rank() == root_;
  if (stage_ == 0) {
    if (is_root && !offer_and_publish(nullptr, size_)) return false;
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_whole(number, bytes, slot, {buffer_, size_});
  };
  const auto get = [&](uint64_t number) {
    const piece each = piece_of(number, bytes, size_);
    copy_result(buffer_ + each.begin, slot_of(root_, number), each.bytes);
  };
  return exchange(is_root ? part::writes : part::reads, root_, put, get);
}

operation::operands reduce::all_operands() const {
  const bool is_in_place = rank() == root_ && what_.sendbuf == what_.recvbuf;
  return {what_.size,  what_.item_size, what_.op, static_cast<const char*>(what_.sendbuf),
          is_in_place, size()};
}

bool reduce::step_in_pieces() {
  const size_t bytes = divide(what_.size, what_.item_size).bytes;
  const operands all = all_operands();
  if (stage_ == 0) {
    if (!offer_and_publish(nullptr, what_.size)) return false;
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_whole(number, bytes, slot, {all.own, what_.size});
  };
  const auto get = [&](uint64_t number) {
    combine_whole(all, number, bytes, static_cast<char*>(what_.recvbuf));
  };
  return exchange(rank() == root_ ? part::reads : part::writes, -1, put, get);
}

// Returns false if the root has given up.
bool reduce::combine_shared_pieces() {
  const bool is_root = rank() == root_;
  const operands all = all_operands();
  memory_line& shared = memory_of(root_);
  const ds::shared_pieces pieces(&shared.taken, what_.size, what_.item_size);
  // Fewer pieces cost the root less than other ranks, which have to write the results. (Between far
  // processors, us, by the root alone and by both of two ranks: 64 KiB 8.9 and 10.1, 256 KiB 32 and
  // 31, 400 KiB 54 and 41.)
  constexpr uint64_t least_shared = 8;
  if (pieces.count() < least_shared) {
    if (is_root) combine(all, 0, what_.size, static_cast<char*>(what_.recvbuf));
    return true;
  }
  bool whole = false;
  pieces.take(
      is_root ? ds::shared_pieces::side::front : ds::shared_pieces::side::back,
      [&](size_t at, size_t bytes) {
        if (is_root) {
          combine(all, at, bytes, static_cast<char*>(what_.recvbuf) + at);
          return true;
        }
        char* const result = scratch_of_thread(bytes, scratch_use::result);
        combine(all, at, bytes, result);
        return write_memory(root_, shared.recv_address + at, bytes, result);
      },
      &whole);
  return whole;
}

bool reduce::step_in_memory() {
  switch (stage_) {
    case 0:
      if (!may_offer(0)) return false;
      offer_memory(what_.sendbuf);
      if (rank() == root_) {
        open_memory();
        offer_results(what_.recvbuf);
      }
      publish(offered);
      stage_ = 1;
      [[fallthrough]];
    case 1:
      if (!have_all_reached(offered) || !combine_shared_pieces()) return false;
      publish(read);
      stage_ = 2;
      [[fallthrough]];
    default:
      return have_all_reached(read);
  }
}

bool reduce::step() {
  switch (place_of(what_.size)) {
    case place::in_pipe:
      return step_in_pieces();
    case place::in_memory:
      return step_in_memory();
    case place::in_line:
    case place::in_area:
      break;
  }
  if (stage_ == 0) {
    if (!offer_and_publish(what_.sendbuf, what_.size)) return false;
    stage_ = 1;
  }
  if (rank() != root_) return true;
  if (!have_all_reached(offered)) return false;
  combine(all_operands(), 0, what_.size, static_cast<char*>(what_.recvbuf));
  return true;
}

piped_operation::piece allreduce::part_of(int rank) const {
  const size_t count = what_.size / what_.item_size;
  const auto ranks = static_cast<size_t>(size());
  const auto before = [&](size_t r) { return count * r / ranks * what_.item_size; };
  const auto r = static_cast<size_t>(rank);
  return {before(r), before(r + 1) - before(r)};
}

operation::operands allreduce::all_operands() const {
  return {what_.size,
          what_.item_size,
          what_.op,
          static_cast<const char*>(what_.sendbuf),
          what_.sendbuf == what_.recvbuf,
          size()};
}

// The result of this rank's part takes the place of what it offered of it, which no other rank
// reads.
void allreduce::combine_part() {
  const piece own = part_of(rank());
  char* const result = static_cast<char*>(what_.recvbuf) + own.begin;
  operands all = all_operands();
  if (place_of(what_.size) == place::in_memory) {
    combine(all, own.begin, own.bytes, result);
    return;
  }
  // The program's buffer keeps its bytes until all parts are there.
  all.own_is_result = false;
  combine(all, own.begin, own.bytes, own_area() + own.begin);
}

void allreduce::copy_parts() {
  auto* const result = static_cast<char*>(what_.recvbuf);
  const bool in_memory = place_of(what_.size) == place::in_memory;
  for (int distance = 0; distance < size(); ++distance) {
    const int from = neighbor(distance);
    const piece remote = part_of(from);
    if (remote.bytes == 0) continue;
    if (!in_memory) {
      base::copy_data(result + remote.begin, area_of(from) + remote.begin, remote.bytes);
    } else if (from != rank()) {
      copy_results(from, remote.begin, remote.bytes, result + remote.begin);
    }
  }
}

// Where the buffers are one, the results of other parts overwrite what this rank offers: it has
// written all of that when the first results can be read, since each is made of all operands.
bool allreduce::step_in_pieces() {
  const division sent = operand_pieces();
  const division results = result_pieces();
  auto* const result = static_cast<char*>(what_.recvbuf);
  const char* const own = static_cast<const char*>(what_.sendbuf);
  if (stage_ == 0) {
    if (!offer_and_publish(nullptr, what_.size)) return false;
    stage_ = 1;
  }
  const piece mine = part_of(rank());
  const auto put = [&](uint64_t number, char* slot) {
    if (number >= sent.count) {
      if (pieces_read() < sent.count) return false;
      return put_whole(number - sent.count, results.bytes, slot, {result + mine.begin, mine.bytes});
    }
    return put_parts(number, sent.bytes, slot, [&](int to) {
      const piece remote = part_of(to);
      return block{own + remote.begin, remote.bytes};
    });
  };
  const auto get = [&](uint64_t number) {
    if (number < sent.count) {
      const piece each = piece_of(number, sent.bytes, mine.bytes);
      const size_t at = mine.begin + each.begin;
      const auto in_slot = [&](int from) { return part_for(rank(), from) * sent.bytes; };
      return combine_piece(all_operands(), number, at, each.bytes, in_slot, result + at);
    }
    for (int distance = 1; distance < size(); ++distance) {
      const int from = neighbor(distance);
      const piece remote = part_of(from);
      const piece each = piece_of(number - sent.count, results.bytes, remote.bytes);
      copy_result(result + remote.begin + each.begin, slot_of(from, number), each.bytes);
    }
  };
  return exchange(part::both, -1, put, get);
}

bool allreduce::step() {
  if (place_of(what_.size) == place::in_pipe) return step_in_pieces();
  const bool in_memory = place_of(what_.size) == place::in_memory;
  switch (stage_) {
    case 0:
      if (!may_offer(what_.size)) return false;
      offer(what_.sendbuf, what_.size);
      if (in_memory) offer_results(what_.recvbuf);
      publish(offered);
      stage_ = 1;
      [[fallthrough]];
    case 1:
      if (!have_all_reached(offered)) return false;
      if (combines_all()) {
        combine(all_operands(), 0, what_.size, static_cast<char*>(what_.recvbuf));
        return true;
      }
      combine_part();
      publish(combined);
      stage_ = 2;
      [[fallthrough]];
    case 2:
      if (!have_all_reached(combined)) return false;
      copy_parts();
      if (!in_memory) return true;
      publish(read);
      stage_ = 3;
      [[fallthrough]];
    default:
      return have_all_reached(read);
  }
}

operation::operands reduce_scatter::all_operands() const {
  const char* const own = static_cast<const char*>(what_.sendbuf);
  return {total(), what_.item_size, what_.op, own, own + begin() == what_.recvbuf, size()};
}

bool reduce_scatter::step_in_pieces() {
  const size_t bytes = pieces().bytes;
  const operands all = all_operands();
  if (stage_ == 0) {
    if (!offer_and_publish(nullptr, all.total)) return false;
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_parts(number, bytes, slot, [&](int to) {
      return block{all.own + what_.size * static_cast<size_t>(to), what_.size};
    });
  };
  const auto get = [&](uint64_t number) {
    const piece each = piece_of(number, bytes, what_.size);
    combine_piece(
        all, number, begin() + each.begin, each.bytes,
        [&](int from) { return part_for(rank(), from) * bytes; },
        static_cast<char*>(what_.recvbuf) + each.begin);
  };
  return exchange(part::both, -1, put, get);
}

bool reduce_scatter::step() {
  const operands all = all_operands();
  if (place_of(all.total) == place::in_pipe) return step_in_pieces();
  return offer_and_use(
      what_.sendbuf, all.total, [] {},
      [&] { combine(all, begin(), what_.size, static_cast<char*>(what_.recvbuf)); });
}

void allgather::copy_own() const {
  if (block_of(rank()) != sendbuf_) copy_result(block_of(rank()), sendbuf_, size_);
}

bool allgather::step_in_pieces() {
  const size_t bytes = divide(size_).bytes;
  if (stage_ == 0) {
    if (!offer_and_publish(nullptr, size_)) return false;
    copy_own();
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_whole(number, bytes, slot, {sendbuf_, size_});
  };
  const auto get = [&](uint64_t number) {
    get_blocks(number, bytes, size_, [this](int from) { return block_of(from); });
  };
  return exchange(part::both, -1, put, get);
}

bool allgather::step() {
  if (place_of(size_) == place::in_pipe) return step_in_pieces();
  return offer_and_use(
      sendbuf_, size_, [this] { copy_own(); },
      [this] {
        for (int distance = 1; distance < size(); ++distance) {
          const int from = neighbor(distance);
          copy(from, size_, 0, size_, block_of(from));
        }
      });
}

void alltoall::copy_own() const {
  const size_t own = size_ * static_cast<size_t>(rank());
  copy_result(recvbuf_ + own, sendbuf_ + own, size_);
}

bool alltoall::step_in_pieces() {
  const size_t bytes = pieces().bytes;
  if (stage_ == 0) {
    if (!offer_and_publish(nullptr, total())) return false;
    copy_own();
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_parts(number, bytes, slot, [&](int to) {
      return block{sendbuf_ + size_ * static_cast<size_t>(to), size_};
    });
  };
  const auto get = [&](uint64_t number) {
    const piece each = piece_of(number, bytes, size_);
    for (int distance = 1; distance < size(); ++distance) {
      const int from = neighbor(distance);
      copy_result(recvbuf_ + size_ * static_cast<size_t>(from) + each.begin,
                  slot_of(from, number) + part_for(rank(), from) * bytes, each.bytes);
    }
  };
  return exchange(part::both, -1, put, get);
}

bool alltoall::step() {
  if (place_of(total()) == place::in_pipe) return step_in_pieces();
  const size_t own = size_ * static_cast<size_t>(rank());
  return offer_and_use(
      sendbuf_, total(), [this] { copy_own(); },
      [&] {
        for (int distance = 1; distance < size(); ++distance) {
          const int from = neighbor(distance);
          copy(from, total(), own, size_, recvbuf_ + size_ * static_cast<size_t>(from));
        }
      });
}

}  // namespace lci::coll
