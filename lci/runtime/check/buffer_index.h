#ifndef LCI_RUNTIME_CHECK_BUFFER_INDEX_H_
#define LCI_RUNTIME_CHECK_BUFFER_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace lci::rt {

// Buffers by address. Finds one that overlaps another in O(log n) steps for each size class, if
// those of the index do not overlap each other; otherwise as many more as overlap.
//
// Thread safety: none.
template <class Owner>
class buffer_index {
 public:
  // Nothing for a size of 0.
  void add(const void* buffer, size_t size, Owner* owner) {
    if (size > 0) class_of(size).emplace(begin_of(buffer), entry{size, owner});
  }
  void remove(const void* buffer, size_t size, const Owner* owner) {
    if (size == 0) return;
    auto& of_size = class_of(size);
    const auto [first, last] = of_size.equal_range(begin_of(buffer));
    for (auto each = first; each != last; ++each) {
      if (each->second.owner != owner) continue;
      of_size.erase(each);
      return;
    }
  }
  // Null: none overlaps.
  Owner* find(const void* buffer, size_t size) const {
    if (size == 0) return nullptr;
    const uintptr_t begin = begin_of(buffer);
    for (size_t log = 0; log < classes_.size(); ++log) {
      if (classes_[log].empty()) continue;
      // None of this class that begins before this reaches `begin`.
      const uintptr_t longest = (uintptr_t{2} << log) - 1;
      auto each = classes_[log].lower_bound(begin > longest ? begin - longest : 0);
      for (; each != classes_[log].end(); ++each) {
        const uintptr_t at = each->first;
        if (at >= begin && at - begin >= size) break;
        if (at >= begin || begin - at < each->second.size) return each->second.owner;
      }
    }
    return nullptr;
  }

 private:
  struct entry {
    size_t size;
    Owner* owner;
  };
  using by_address = std::multimap<uintptr_t, entry>;

  static uintptr_t begin_of(const void* buffer) { return reinterpret_cast<uintptr_t>(buffer); }
  by_address& class_of(size_t size) {
    return classes_[static_cast<size_t>(63 - __builtin_clzll(size))];
  }

  std::array<by_address, 64> classes_;  // by the logarithm of the size, rounded down
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CHECK_BUFFER_INDEX_H_
