#include "lci/coll/operations.h"

#include <algorithm>
#include <cstring>

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
  if (rank() == root_) return step_as_root();
  if (stage_ == 0) {
    // The line is needed only to say that the root's memory has been read.
    const bool waits = place_of(size_) == place::in_memory;
    if (waits && !may_offer(0)) return false;
    if (!has_reached(root_, offered)) return false;
    copy(root_, size_, 0, size_, buffer_);
    if (waits) publish(offered);
  }
  return true;
}

bool broadcast::step_as_root() {
  if (stage_ == 0) {
    if (!offer_and_publish(buffer_, size_)) return false;
    if (place_of(size_) != place::in_memory) return true;
    stage_ = 1;
  }
  return have_all_reached(offered);
}

bool reduce::step() {
  const bool in_memory = place_of(what_.size) == place::in_memory;
  switch (stage_) {
    case 0:
      if (!offer_and_publish(what_.sendbuf, what_.size)) return false;
      if (rank() != root_ && !in_memory) return true;
      stage_ = 1;
      [[fallthrough]];
    default:
      if (rank() != root_) return has_reached(root_, read);
      if (!have_all_reached(offered)) return false;
      combine({what_.size, what_.item_size, what_.op, static_cast<const char*>(what_.sendbuf),
               what_.sendbuf == what_.recvbuf, size()},
              0, what_.size, static_cast<char*>(what_.recvbuf));
      if (in_memory) publish(read);
      return true;
  }
}

allreduce::part allreduce::part_of(int rank) const {
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
  const part own = part_of(rank());
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
    const part theirs = part_of(from);
    if (theirs.bytes == 0) continue;
    if (!in_memory) {
      std::memcpy(result + theirs.begin, area_of(from) + theirs.begin, theirs.bytes);
    } else if (from != rank()) {
      copy_results(from, theirs.begin, theirs.bytes, result + theirs.begin);
    }
  }
}

bool allreduce::step() {
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
      if (what_.size < least_parts_bytes) {
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

bool reduce_scatter::step() {
  return offer_and_use(
      what_.sendbuf, total_, [] {},
      [this] {
        const char* const own = static_cast<const char*>(what_.sendbuf);
        combine({total_, what_.item_size, what_.op, own, own + begin_ == what_.recvbuf, size()},
                begin_, what_.size, static_cast<char*>(what_.recvbuf));
      });
}

bool allgather::step() {
  const auto block_of = [this](int rank) { return recvbuf_ + size_ * static_cast<size_t>(rank); };
  const auto copy_own = [&] {
    if (block_of(rank()) != sendbuf_) base::copy_bytes(block_of(rank()), sendbuf_, size_);
  };
  return offer_and_use(sendbuf_, size_, copy_own, [&] {
    for (int distance = 1; distance < size(); ++distance) {
      const int from = neighbor(distance);
      copy(from, size_, 0, size_, block_of(from));
    }
  });
}

bool alltoall::step() {
  const size_t own = size_ * static_cast<size_t>(rank());
  const auto copy_own = [&] { base::copy_bytes(recvbuf_ + own, sendbuf_ + own, size_); };
  return offer_and_use(sendbuf_, total(), copy_own, [&] {
    for (int distance = 1; distance < size(); ++distance) {
      const int from = neighbor(distance);
      copy(from, total(), own, size_, recvbuf_ + size_ * static_cast<size_t>(from));
    }
  });
}

}  // namespace lci::coll
