#include "lci/coll/rooted.h"

namespace lci::coll {

void gather::copy_own() const {
  if (block_of(rank()) != sendbuf_) copy_result(block_of(rank()), sendbuf_, size_);
}

bool gather::step_in_pieces() {
  const size_t bytes = divide(size_).bytes;
  const bool is_root = rank() == root_;
  if (stage_ == 0) {
    if (!offer_and_publish(nullptr, size_)) return false;
    if (is_root) copy_own();
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_whole(number, bytes, slot, {sendbuf_, size_});
  };
  const auto get = [&](uint64_t number) {
    get_blocks(number, bytes, size_, [this](int from) { return block_of(from); });
  };
  return exchange(is_root ? part::reads : part::writes, -1, put, get);
}

bool gather::step() {
  const bool is_root = rank() == root_;
  switch (place_of(size_)) {
    case place::in_pipe:
      return step_in_pieces();
    case place::in_memory:
      return copy_cooperatively(
          root_, direction::to_root, is_root ? recvbuf_ : const_cast<char*>(sendbuf_), size_,
          [this](int of) { return size_ * static_cast<size_t>(of); }, [this] { copy_own(); });
    case place::in_line:
    case place::in_area:
      break;
  }
  if (stage_ == 0) {
    if (!may_offer(is_root ? 0 : size_)) return false;
    if (!is_root) offer(sendbuf_, size_);
    publish(offered);
    if (!is_root) return true;
    stage_ = 1;
  }
  if (!have_all_reached(offered)) return false;
  copy_own();
  for (int distance = 1; distance < size(); ++distance) {
    const int from = neighbor(distance);
    copy(from, size_, 0, size_, block_of(from));
  }
  return true;
}

void scatter::copy_own() const {
  const char* const own = sendbuf_ + size_ * static_cast<size_t>(rank());
  if (own != recvbuf_) copy_result(recvbuf_, own, size_);
}

bool scatter::step_in_pieces() {
  const size_t bytes = pieces().bytes;
  const bool is_root = rank() == root_;
  if (stage_ == 0) {
    if (is_root) {
      if (!offer_and_publish(nullptr, total())) return false;
      copy_own();
    }
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_parts(number, bytes, slot, [&](int to) {
      return block{sendbuf_ + size_ * static_cast<size_t>(to), size_};
    });
  };
  const auto get = [&](uint64_t number) {
    const piece each = piece_of(number, bytes, size_);
    copy_result(recvbuf_ + each.begin, slot_of(root_, number) + part_for(rank(), root_) * bytes,
                each.bytes);
  };
  return exchange(is_root ? part::writes : part::reads, root_, put, get);
}

bool scatter::step() {
  if (place_of(total()) == place::in_pipe) return step_in_pieces();
  if (rank() == root_) return step_as_root();
  const bool in_memory = place_of(total()) == place::in_memory;
  // The line is needed only to say that the root's memory has been read.
  if (in_memory && !may_offer(0)) return false;
  if (!has_reached(root_, offered)) return false;
  copy(root_, total(), size_ * static_cast<size_t>(rank()), size_, recvbuf_);
  if (in_memory) publish(offered);
  return true;
}

bool scatter::step_as_root() {
  if (stage_ == 0) {
    if (!offer_and_publish(sendbuf_, total())) return false;
    copy_own();
    if (place_of(total()) != place::in_memory) return true;
    stage_ = 1;
  }
  return have_all_reached(offered);
}

}  // namespace lci::coll
