#ifndef LCI_DS_MATCHING_TABLE_H_
#define LCI_DS_MATCHING_TABLE_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>

#include "lci/ds/atomics.h"
#include "lci/ds/matching_type.h"
#include "lci/ds/object_pool.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// Pairs entries of two kinds that have the same key: an insertion finds the oldest waiting entry of
// the other kind and takes it out, or waits itself. A hash table of buckets of one cache line with
// a lock each, so that an insertion at low load touches one line (SC'25 paper, section 5.1.3). What
// does not fit into its line stands behind it, in one queue for each key and kind: any number of
// entries with one key cost no more than one, and the search is over the keys of a bucket.
//
// Thread safety: every member by any thread at any time, construction and destruction excepted.
// They block only for another's look into the same bucket. Nothing is allocated unless more entries
// stand behind the lines than ever before.
//
// Invariants, for each bucket, under its lock
//   1. The entries in line are in the order of insertion. An entry goes there only if none of its
//      key and kind stands behind, so those in line are older.
//   2. No two waiting entries of different kinds would match.
template <class Atomics>
class basic_matching_table {
 public:
  using entry_type = matching_type;

  // `buckets` is a power of two. Untouched buckets take no memory.
  explicit basic_matching_table(size_t buckets = size_t{1} << 16) : mask_(buckets - 1) {
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    buckets_ = static_cast<bucket*>(memory);
    if constexpr (!zero_is_empty) std::uninitialized_value_construct_n(buckets_, buckets);
  }
  ~basic_matching_table() {
    if constexpr (!zero_is_empty) std::destroy_n(buckets_, mask_ + 1);
    munmap(static_cast<void*>(buckets_), bytes());
  }
  basic_matching_table(const basic_matching_table&) = delete;
  basic_matching_table& operator=(const basic_matching_table&) = delete;

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
    const std::lock_guard<basic_spinlock<Atomics>> guard(b.lock);
    for (uint32_t i = 0; i < b.count; ++i) {
      if (b.line[i].key == key && b.type(i) != type && same(b.line[i].value)) {
        void* found = b.line[i].value;
        b.remove_from_line(i);
        return found;
      }
    }
    queue* own = nullptr;
    if (__builtin_expect(b.more != nullptr, 0)) {
      void* found = take_behind(b, key, type, same);
      if (found != nullptr) return found;
      own = b.more;
      while (own != nullptr && (own->key != key || own->type != type)) own = own->next;
    }
    if (own == nullptr && b.count < line_entries) {
      b.append({key, make()}, type);
    } else {
      wait_behind(b, own, key, type, make);
    }
    return nullptr;
  }

  // Takes out every waiting entry for which take(value, type) is true, bucket by bucket under its
  // lock: `take` may not call back. Not for fast paths.
  template <class Take>
  void remove_if(const Take& take) {
    for (size_t index = 0; index <= mask_; ++index) {
      bucket& b = buckets_[index];
      const std::lock_guard<basic_spinlock<Atomics>> guard(b.lock);
      // From the back, since a removal moves what is behind it.
      for (uint32_t i = b.count; i > 0; --i) {
        if (take(b.line[i - 1].value, b.type(i - 1))) b.remove_from_line(i - 1);
      }
      for (queue* q = b.more; q != nullptr;) {
        queue* const next_queue = q->next;
        const entry_type type = q->type;
        node* before = nullptr;
        for (node* n = q->first; n != nullptr;) {
          node* const next = n->next;
          if (take(n->value, type)) {
            remove(b, q, before, n);  // with its last node the queue goes
          } else {
            before = n;
          }
          n = next;
        }
        q = next_queue;
      }
    }
  }

  // Calls use(key, value, type) for every waiting entry, bucket by bucket under its lock: `use` may
  // not call back. Touches every bucket: not for fast paths.
  template <class Use>
  void for_each(const Use& use) {
    for (size_t index = 0; index <= mask_; ++index) {
      bucket& b = buckets_[index];
      const std::lock_guard<basic_spinlock<Atomics>> guard(b.lock);
      for (uint32_t i = 0; i < b.count; ++i) use(b.line[i].key, b.line[i].value, b.type(i));
      for (queue* q = b.more; q != nullptr; q = q->next) {
        for (node* n = q->first; n != nullptr; n = n->next) use(q->key, n->value, q->type);
      }
    }
  }

 private:
  static constexpr uint32_t line_entries = 3;

  // Entries behind a line. A queue is not empty.
  struct node {
    void* value;
    node* next;
  };
  struct queue {
    uint64_t key;
    entry_type type;
    node* first;
    node* last;
    queue* next;
  };

  struct item {
    uint64_t key;
    void* value;
  };

  // 64 bytes. All zero is empty and unlocked.
  struct alignas(64) bucket {
    basic_spinlock<Atomics> lock;
    uint8_t count;
    uint8_t types;  // bit i: the type of line[i]
    queue* more;
    item line[line_entries];

    entry_type type(uint32_t i) const { return static_cast<entry_type>(types >> i & 1u); }

    void append(const item& added, entry_type added_type) {
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
    }
  };
  // With other atomics (tests) buckets are constructed one by one, and may be larger.
  static constexpr bool zero_is_empty = std::is_same_v<Atomics, std_atomics>;
  static_assert(!zero_is_empty || sizeof(bucket) == 64, "a bucket is a cache line");

  size_t bytes() const { return (mask_ + 1) * sizeof(bucket); }

  bucket& bucket_of(uint64_t key) {
    key *= 0x9e3779b97f4a7c15;  // Fibonacci hashing: neighbouring keys go far apart
    return buckets_[(key >> 32) & mask_];
  }

  // The oldest entry behind the line that matches, taken out; or null.
  template <class Same>
  __attribute__((noinline)) void* take_behind(bucket& b, uint64_t key, entry_type type,
                                              const Same& same) {
    for (queue* q = b.more; q != nullptr; q = q->next) {
      if (q->key != key || q->type == type) continue;
      node* before = nullptr;
      for (node* n = q->first; n != nullptr; before = n, n = n->next) {
        if (!same(n->value)) continue;
        void* found = n->value;
        remove(b, q, before, n);
        return found;
      }
      return nullptr;  // there is one queue for each key and type
    }
    return nullptr;
  }

  template <class Make>
  __attribute__((noinline)) void wait_behind(bucket& b, queue* own, uint64_t key, entry_type type,
                                             const Make& make) {
    node* const added = nodes_.make();
    queue* made = nullptr;
    try {
      if (own == nullptr) made = queues_.make();
      *added = {make(), nullptr};
    } catch (...) {
      if (made != nullptr) queues_.recycle(made);
      nodes_.recycle(added);
      throw;
    }
    if (made != nullptr) {
      *made = {key, type, added, added, b.more};
      b.more = made;
    } else {
      own->last->next = added;
      own->last = added;
    }
  }

  // `before` is the node before it, or null. An emptied queue goes.
  void remove(bucket& b, queue* q, node* before, node* removed) {
    (before == nullptr ? q->first : before->next) = removed->next;
    if (q->last == removed) q->last = before;
    nodes_.recycle(removed);
    if (q->first != nullptr) return;
    queue** link = &b.more;
    while (*link != q) link = &(*link)->next;
    *link = q->next;
    queues_.recycle(q);
  }

  const size_t mask_;
  bucket* buckets_ = nullptr;
  object_pool<node, Atomics> nodes_;
  object_pool<queue, Atomics> queues_;
};

using matching_table = basic_matching_table<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_MATCHING_TABLE_H_
