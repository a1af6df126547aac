#include "lci/net/ofi/regions.h"

#include "lci/base/reserve.h"

namespace lci::net::ofi {

void region_table::set_key_bytes(size_t bytes) {
  if (bytes < sizeof(uint64_t)) key_mask_ = (uint64_t{1} << 8 * bytes) - 1;
}

uint64_t region_table::next_key() {
  next_key_ = (next_key_ + 1) & key_mask_;
  if (next_key_ == 0) next_key_ = 1;
  return next_key_;
}

uint64_t region_table::take_key() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return next_key();
}

region_table::region& region_table::open(void* address, size_t size) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (free_.empty()) {
    base::reserve_room(&free_, owned_.size() + 1);  // so that close can't fail
    const auto index = static_cast<uint32_t>(owned_.size());
    owned_.push_back(std::make_unique<region>());
    owned_.back()->index = index;
    slots_.set(index, owned_.back().get());
    free_.push_back(index);
  }
  region& opened = *owned_[free_.back()];
  free_.pop_back();
  const std::lock_guard<ds::spinlock> slot(opened.lock);
  opened.address = static_cast<unsigned char*>(address);
  opened.size = size;
  opened.key = next_key();
  return opened;
}

void region_table::refuse(region& refused) {
  const std::lock_guard<ds::spinlock> slot(refused.lock);
  refused.key = 0;
}

void region_table::close(region& closed) {
  const std::lock_guard<std::mutex> guard(mutex_);
  refuse(closed);
  free_.push_back(closed.index);
}

}  // namespace lci::net::ofi
