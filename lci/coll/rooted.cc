#include "lci/coll/rooted.h"

#include "lci/base/copy.h"

namespace lci::coll {

bool gather::step() {
  const bool in_memory = place_of(size_) == place::in_memory;
  const bool is_root = rank() == root_;
  if (stage_ == 0) {
    if (!may_offer(is_root ? 0 : size_)) return false;
    if (!is_root) offer(sendbuf_, size_);
    publish(offered);
    if (!is_root && !in_memory) return true;
    stage_ = 1;
  }
  if (!is_root) return has_reached(root_, read);
  if (!have_all_reached(offered)) return false;
  char* const own = recvbuf_ + size_ * static_cast<size_t>(rank());
  if (own != sendbuf_) base::copy_bytes(own, sendbuf_, size_);
  for (int distance = 1; distance < size(); ++distance) {
    const int from = neighbor(distance);
    copy(from, size_, 0, size_, recvbuf_ + size_ * static_cast<size_t>(from));
  }
  if (in_memory) publish(read);
  return true;
}

bool scatter::step() {
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
    const char* const own = sendbuf_ + size_ * static_cast<size_t>(rank());
    if (own != recvbuf_) base::copy_bytes(recvbuf_, own, size_);
    if (place_of(total()) != place::in_memory) return true;
    stage_ = 1;
  }
  return have_all_reached(offered);
}

}  // namespace lci::coll
