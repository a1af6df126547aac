#include "lci/coll/scan.h"

#include <cstring>

namespace lci::coll {

void scan::combine_own() {
  const int ranks = kind_ == scan_kind::inclusive ? rank() + 1 : rank();
  if (ranks == 0) return;
  const bool in_place = what_.sendbuf == what_.recvbuf;
  const bool in_memory = place_of(what_.size) == place::in_memory;
  char* result = static_cast<char*>(what_.recvbuf);
  if (in_place && in_memory && rank() + 1 < size()) {
    if (result_ == nullptr) result_.reset(new char[what_.size]);
    result = result_.get();
  }
  combine({what_.size, what_.item_size, what_.op, static_cast<const char*>(what_.sendbuf),
           result == what_.sendbuf, ranks},
          0, what_.size, result);
}

bool scan::step() {
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
      if (result_ != nullptr) std::memcpy(what_.recvbuf, result_.get(), what_.size);
      return true;
  }
}

}  // namespace lci::coll
