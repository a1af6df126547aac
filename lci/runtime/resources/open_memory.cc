#include "lci/runtime/resources/open_memory.h"

namespace lci::rt {

void open_memory::add(uint64_t key, const void* address, size_t size) {
  const std::lock_guard<std::mutex> guard(mutex_);
  open_.emplace(std::make_pair(key, reinterpret_cast<uintptr_t>(address)), size);
}

void open_memory::remove(uint64_t key, const void* address, size_t size) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto [first, last] =
      open_.equal_range(std::make_pair(key, uint64_t{reinterpret_cast<uintptr_t>(address)}));
  for (auto at = first; at != last; ++at) {
    if (at->second != size) continue;
    open_.erase(at);
    return;
  }
}

bool open_memory::covers(uint64_t key, uint64_t address, size_t size) const {
  auto at = open_.upper_bound(std::make_pair(key, address));
  while (at != open_.begin()) {
    --at;
    if (at->first.first != key) return false;
    const uint64_t before = address - at->first.second;
    if (before <= at->second && size <= at->second - before) return true;
  }
  return false;
}

}  // namespace lci::rt
