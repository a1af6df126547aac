#ifndef LCI_DS_MATCHING_TABLE_H_
#define LCI_DS_MATCHING_TABLE_H_

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "lci/ds/spinlock.h"

namespace lci::ds {

// Pairs entries of two kinds that have the same key: an insertion finds the oldest waiting entry of
// the other kind and takes it out, or waits itself. A hash table of buckets of one cache line with
// a lock each, so that an insertion at low load touches one line (SC'25 paper, section 5.1.3).
//
// Thread safety: insert and for_each by any thread at any time. They block only for another's look
// into the same bucket.
//
// Invariants, for each bucket, under its lock
//   1. Entries stand in the order of their insertion: first the `count` in line, then those in
//   `more`; `more` is empty
//      unless the line is full.
//   2. No two waiting entries of different kinds would match.
class matching_table {
 public:
  enum class entry_type : uint32_t { send, recv };

  // `buckets` is a power of two. Untouched buckets take no memory.
  explicit matching_table(size_t buckets = size_t{1} << 16) : mask_(buckets - 1) {
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    buckets_ = static_cast<bucket*>(memory);  // zero bytes are an empty bucket
  }
  ~matching_table() {
    // Most tables never fill a line, and most pages of them are never touched.
    if (overflowed_) for_each_bucket([](bucket& b) { delete b.more; });
    munmap(buckets_, bytes());
  }
  matching_table(const matching_table&) = delete;
  matching_table& operator=(const matching_table&) = delete;

  // The value of the oldest waiting entry with this key and the other type, which is no longer in
  // the table; or null, and then this entry waits. `value` is not null. May throw std::bad_alloc,
  // having changed nothing.
  void* insert(uint64_t key, void* value, entry_type type) {
    return insert(
        key, type, [](const void*) { return true; }, [value] { return value; });
  }

  // The same for keys that are hashes of something longer: of the entries with this key, only those
  // match for which same(their value) is true. The value of an entry that has to wait is make(),
  // which may throw: then nothing has changed. Neither may call back.
  template <class Same, class Make>
  void* insert(uint64_t key, entry_type type, const Same& same, const Make& make) {
    bucket& b = bucket_of(key);
    const std::lock_guard<spinlock> guard(b.lock);
    for (uint32_t i = 0; i < b.count; ++i) {
      if (b.line[i].key == key && b.type(i) != type && same(b.line[i].value)) {
        void* found = b.line[i].value;
        b.remove_from_line(i);
        return found;
      }
    }
    if (b.more != nullptr) {
      for (size_t i = 0; i < b.more->size(); ++i) {
        const overflow& waiting = (*b.more)[i];
        if (waiting.item.key == key && waiting.type != type && same(waiting.item.value)) {
          void* found = waiting.item.value;
          b.more->erase(b.more->begin() + static_cast<std::ptrdiff_t>(i));
          return found;
        }
      }
    }
    if (b.count < line_entries && (b.more == nullptr || b.more->empty())) {
      b.append({key, make()}, type);
    } else {
      if (b.more == nullptr) {
        b.more = new std::vector<overflow>;
        overflowed_.store(true, std::memory_order_relaxed);
      }
      b.more->emplace_back();  // before make(), which has no way back
      try {
        b.more->back() = {{key, make()}, type};
      } catch (...) {
        b.more->pop_back();
        throw;
      }
    }
    return nullptr;
  }

  // Takes out every waiting entry for which take(value, type) is true, bucket by bucket under its
  // lock: `take` may not call back. Not for fast paths.
  template <class Take>
  void remove_if(const Take& take) {
    for_each_bucket([&take](bucket& b) {
      const std::lock_guard<spinlock> guard(b.lock);
      if (b.more != nullptr) {
        b.more->erase(std::remove_if(b.more->begin(), b.more->end(),
                                     [&take](const overflow& waiting) {
                                       return take(waiting.item.value, waiting.type);
                                     }),
                      b.more->end());
      }
      // From the back, since a removal moves what is behind it.
      for (uint32_t i = b.count; i > 0; --i) {
        if (take(b.line[i - 1].value, b.type(i - 1))) b.remove_from_line(i - 1);
      }
    });
  }

  // Calls use(key, value, type) for every waiting entry, bucket by bucket under its lock: `use` may
  // not call back.
  template <class Use>
  void for_each(Use use) {
    for_each_bucket([&use](bucket& b) {
      const std::lock_guard<spinlock> guard(b.lock);
      for (uint32_t i = 0; i < b.count; ++i) use(b.line[i].key, b.line[i].value, b.type(i));
      if (b.more == nullptr) return;
      for (const overflow& waiting : *b.more) {
        use(waiting.item.key, waiting.item.value, waiting.type);
      }
    });
  }

 private:
  static constexpr uint32_t line_entries = 3;

  struct item {
    uint64_t key;
    void* value;
  };
  struct overflow {
    struct item item;
    entry_type type;
  };

  // 64 bytes. All zero is empty and unlocked.
  struct alignas(64) bucket {
    spinlock lock;
    uint8_t count;
    uint8_t types;  // bit i: the type of line[i]
    std::vector<overflow>* more;
    struct item line[line_entries];

    entry_type type(uint32_t i) const { return static_cast<entry_type>(types >> i & 1u); }

    void append(const struct item& added, entry_type added_type) {
      line[count] = added;
      types = static_cast<uint8_t>((types & ~(1u << count)) |
                                   (static_cast<uint32_t>(added_type) << count));
      ++count;
    }

    void remove_from_line(uint32_t i) {
      const uint8_t old_count = count;
      const uint8_t old_types = types;
      count = static_cast<uint8_t>(i);
      for (uint32_t next = i + 1; next < old_count; ++next) {
        append(line[next], static_cast<entry_type>(old_types >> next & 1u));
      }
      if (more != nullptr && !more->empty()) {
        append(more->front().item, more->front().type);
        more->erase(more->begin());
      }
    }
  };
  static_assert(sizeof(bucket) == 64, "a bucket is a cache line");

  size_t bytes() const { return (mask_ + 1) * sizeof(bucket); }

  // Buckets whose page was never touched are seen as empty (and touched: not for fast paths).
  template <class Use>
  void for_each_bucket(Use use) {
    for (size_t i = 0; i <= mask_; ++i) use(buckets_[i]);
  }

  bucket& bucket_of(uint64_t key) {
    key *= 0x9e3779b97f4a7c15;  // Fibonacci hashing: neighbouring keys go far apart
    return buckets_[(key >> 32) & mask_];
  }

  const size_t mask_;
  bucket* buckets_ = nullptr;
  std::atomic<bool> overflowed_{false};  // some bucket has `more`
};

}  // namespace lci::ds

#endif  // LCI_DS_MATCHING_TABLE_H_
