#ifndef LCI_RUNTIME_RESOURCES_OPEN_MEMORY_H_
#define LCI_RUNTIME_RESOURCES_OPEN_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace lci::rt {

// The memory that the program has opened to other ranks in a net context, by the key of each
// registration, which peers know. For operations that a peer names by message and this rank carries
// out: what the message says is checked here.
//
// Thread safety: every member by any thread at any time; they wait for each other.
class open_memory {
 public:
  // `size` bytes from `address` on. Registrations may have equal keys, and may overlap.
  void add(uint64_t key, const void* address, size_t size);
  // Of what was added. When it returns, no use() of the memory is under way.
  void remove(uint64_t key, const void* address, size_t size);

  // Calls use(pointer to the bytes) if a registration of that key covers all of them; false if none
  // does. `use` is short and does not call back.
  template <class Use>
  bool use(uint64_t key, uint64_t address, size_t size, const Use& use) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!covers(key, address, size)) return false;
    use(reinterpret_cast<void*>(static_cast<uintptr_t>(address)));
    return true;
  }

 private:
  bool covers(uint64_t key, uint64_t address, size_t size) const;  // with the lock

  mutable std::mutex mutex_;
  // By key and address: the size. Mostly one registration has a key; where many do (on-demand
  // paging of all memory), a look-up visits those that begin before the bytes.
  std::multimap<std::pair<uint64_t, uint64_t>, size_t> open_;  // guarded by mutex_
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_RESOURCES_OPEN_MEMORY_H_
