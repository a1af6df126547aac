#include "lci/coll/scan.h"

namespace lci::coll {

void scan::combine_own() {
  if (ranks() == 0) return;
  const bool in_place = what_.sendbuf == what_.recvbuf;
  const bool in_memory = place_of(what_.size) == place::in_memory;
  char* result = static_cast<char*>(what_.recvbuf);
  if (in_place && in_memory && rank() + 1 < size()) {
    if (result_ == nullptr) result_.reset(new char[what_.size]);
    result = result_.get();
  }
  combine({what_.size, what_.item_size, what_.op, static_cast<const char*>(what_.sendbuf),
           result == what_.sendbuf, ranks()},
          0, what_.size, result);
}

// Rank 0 only writes, the last rank only reads.
bool scan::step_in_pieces() {
  const size_t bytes = pieces().bytes;
  const char* const own = static_cast<const char*>(what_.sendbuf);
  char* const result = static_cast<char*>(what_.recvbuf);
  if (stage_ == 0) {
    if (!offer_and_publish(nullptr, what_.size)) return false;
    if (rank() == 0 && ranks() == 1 && result != own) copy_result(result, own, what_.size);
    stage_ = 1;
  }
  const auto put = [&](uint64_t number, char* slot) {
    return put_whole(number, bytes, slot, {own, what_.size});
  };
  const auto get = [&](uint64_t number) {
    // The own items are the last operand, if they are one, and may be overwritten.
    combine_whole({what_.size, what_.item_size, what_.op, own, false, ranks()}, number, bytes,
                  result);
  };
  const part does = rank() == 0 ? part::writes : rank() + 1 == size() ? part::reads : part::both;
  return exchange_some(
      does, [this](int from) { return from < rank(); }, put, get);
}

bool scan::step() {
  if (place_of(what_.size) == place::in_pipe) return step_in_pieces();
  switch (stage_) {
    case 0:
      if (!offer_and_publish(what_.sendbuf, what_.size)) return false;
      stage_ = 1;
      [[fallthrough]];
    case 1:
      if (!have_reached(0, rank(), offered)) return false;
      combine_own();
      if (place_of(what_.size) != place::in_memory) return true;
      publish(read);
      stage_ = 2;
      [[fallthrough]];
    default:
      if (!have_reached(rank() + 1, size(), read)) return false;
      if (result_ != nullptr) copy_result(what_.recvbuf, result_.get(), what_.size);
      return true;
  }
}

}  // namespace lci::coll
