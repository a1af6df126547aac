#ifndef LCI_DS_MATCHING_TABLE_H_
#define LCI_DS_MATCHING_TABLE_H_

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "lci/ds/atomics.h"
#include "lci/ds/lock_bypass.h"
#include "lci/ds/matching_links.h"
#include "lci/ds/matching_type.h"
#include "lci/ds/object_pool.h"
#include "lci/ds/spinlock.h"

namespace lci::ds {

// Pairs entries of two kinds that have the same key: an insertion finds and removes the oldest
// waiting entry of the other kind, or waits itself. A hash table whose buckets are one cache line
// each with their own lock, so that an insertion at low load touches one line (SC'25 paper, section
// 5.1.3). Entries that do not fit into their line wait behind it, in one queue for each key and
// kind: any number of entries with one key costs no more than one entry. The keys behind a line
// form a digital search tree over the digits of their hashes, with four branches at each node. A
// tree needs no table that would have to grow under the bucket's lock, and its depth is bounded by
// the digits of a hash, and by the logarithm of the number of keys as long as these are spread.
//
// Thread safety: every member by any thread at any time, except construction and destruction. They
// block only for an operation of another thread in the same bucket. A thread that mostly uses a part
// of the buckets alone takes no locks in the short ways, try_take and try_wait (lock_bypass.h). Nothing is allocated unless
// more keys, or (with pooled_links) more entries, wait behind the lines than ever before.
//
// Invariants, for each bucket, under its lock
//   1. The entries in line are in the order of insertion. An entry goes there only if none of its
//      key and kind waits behind, so those in line are older. With own_links there is one list for
//      each key and kind, in line or behind.
//   2. No two waiting entries of different kinds would match.
//   3. A node of the tree has an entry of either kind. The keys of the branch i of a node at depth
//      d have i as the digit d of their hashes, as do those of all deeper nodes.
template <class Atomics, class Links = pooled_links<Atomics>,
          class Bypass = basic_lock_bypass<Atomics>>
class basic_matching_table {
  struct bucket;

 public:
  using entry_type = matching_type;

  // `buckets` is a power of two. Untouched buckets use no memory.
  explicit basic_matching_table(size_t buckets = size_t{1} << 16) : mask_(buckets - 1) {
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    auto* const bypasses = static_cast<apart_bypass*>(memory);
    std::uninitialized_default_construct_n(bypasses, bypass_count);
    buckets_ = reinterpret_cast<bucket*>(bypasses + bypass_count);
    if constexpr (!zero_is_empty) std::uninitialized_value_construct_n(buckets_, buckets);
  }
  ~basic_matching_table() {
    if constexpr (!zero_is_empty) std::destroy_n(buckets_, mask_ + 1);
    std::destroy_n(bypasses(), bypass_count);
    munmap(static_cast<void*>(bypasses()), bytes());
  }
  basic_matching_table(const basic_matching_table&) = delete;
  basic_matching_table& operator=(const basic_matching_table&) = delete;

  // Returns the value of the oldest waiting entry with this key and the other type, and removes
  // that entry. If there is none, this entry waits and null is returned. `value` is not null. If
  // the call throws std::bad_alloc, nothing has changed.
  void* insert(uint64_t key, void* value, entry_type type) {
    return insert(
        key, type, [](const void*) { return true; }, [value] { return value; });
  }

  // For keys that are hashes of longer keys: of the entries with this key, only those match for
  // which same(value) is true. make() returns the value of an entry that has to wait. If make()
  // throws, nothing has changed. Neither function may call back.
  template <class Same, class Make>
  void* insert(uint64_t key, entry_type type, const Same& same, const Make& make) {
    bucket& b = bucket_of(key);
    const typename Bypass::section mine(bypass_of(b), b.lock);
    matching_link** own = nullptr;  // list that this entry would join
    for (uint32_t i = 0; i < b.count; ++i) {
      if (b.line[i].key != key) continue;
      if (b.type(i) != type) {
        void* const found = take_from_line(b, i, same);
        if (__builtin_expect(found != nullptr, 1)) return found;
      } else if constexpr (Links::in_values) {
        own = &b.line[i].value;
      }
    }
    if (__builtin_expect(b.more != nullptr, 0)) {
      void* const found = take_from_behind(b, key, type, same, &own);
      if (found != nullptr) return found;
    }
    if (own != nullptr) {
      append_link(own, links_.make(make));
    } else if (__builtin_expect(b.count < line_entries, 1)) {
      b.append({key, value_in_line(make)}, type);
    } else {
      begin_queue(b, key, type, make);
    }
    return nullptr;
  }

  // The most frequent insertions, in few instructions: while all entries of a bucket have one key,
  // one type and their place in its line. Otherwise, or while another thread uses the bucket, these
  // do nothing, and insert() must follow. With own_links only.

  // Returns the oldest waiting entry, removed, if it has this key and the other type, and same(entry)
  // is true; else null.
  template <class Same>
  [[gnu::always_inline]] matching_link* try_take(uint64_t key, entry_type type, const Same& same) {
    static_assert(Links::in_values);
    bucket& b = bucket_of(key);
    const typename Bypass::try_section mine(bypass_of(b), b.lock);
    return mine ? take_only(b, key, type, same) : nullptr;
  }

  // Several try_take() in a row, for a thread that takes no locks, with less work for each. Other
  // threads may wait while it lives.
  class takes {
   public:
    [[gnu::always_inline]] explicit takes(basic_matching_table& table) : table_(table) {}

    // As that of the table; also null if the calling thread would need a lock.
    template <class Same>
    [[gnu::always_inline]] matching_link* try_take(uint64_t key, entry_type type,
                                                   const Same& same) {
      static_assert(Links::in_values);
      // Mostly the messages of a run have one key.
      if (last_ == nullptr || key != last_key_) {
        last_ = &table_.bucket_of(key);
        last_key_ = key;
        if (!walk_.enter(table_.bypass_of(*last_))) last_ = nullptr;
      }
      const bool may_use = last_ != nullptr && walk_.may_use(last_->lock);
      return may_use ? take_only(*last_, key, type, same) : nullptr;
    }

   private:
    basic_matching_table& table_;
    typename Bypass::owner_walk walk_;
    bucket* last_ = nullptr;  // that of the last key, if this thread is the owner of its bypass
    uint64_t last_key_ = 0;
  };

  // Whether an entry waits: the one that try_make() returned, unless that was null. It does not
  // throw.
  template <class TryMake>
  [[gnu::always_inline]] bool try_wait(uint64_t key, entry_type type, const TryMake& try_make) {
    static_assert(Links::in_values);
    bucket& b = bucket_of(key);
    const typename Bypass::try_section mine(bypass_of(b), b.lock);
    if (!mine || __builtin_expect(b.more != nullptr, 0)) return false;
    matching_link* first = nullptr;  // of the list of this key and type
    if (__builtin_expect(b.count != 0, 0)) {
      if (b.count != 1 || b.line[0].key != key || b.type(0) != type) return false;
      first = b.line[0].value;
    }
    matching_link* const added = try_make();
    if (__builtin_expect(added == nullptr, 0)) return false;
    added->next = nullptr;
    if (__builtin_expect(first != nullptr, 0)) {
      first->last->next = added;
      first->last = added;
      return true;
    }
    added->last = added;
    b.line[0] = {key, added};
    b.count = 1;
    b.types = static_cast<uint8_t>(type);
    return true;
  }

  // Removes every waiting entry for which take(value, type) is true, bucket by bucket under its
  // lock: `take` may not call back or throw. Not for fast paths.
  template <class Take>
  void remove_if(const Take& take) {
    for (size_t index = 0; index <= mask_; ++index) {
      bucket& b = buckets_[index];
      const typename Bypass::section mine(bypass_of(b), b.lock);
      // From the back, as a removal moves the items behind it.
      for (uint32_t i = b.count; i > 0; --i) {
        auto& value = b.line[i - 1].value;
        const entry_type type = b.type(i - 1);
        if constexpr (Links::in_values) {
          filter(&value, type, take);
          if (value == nullptr) b.remove_from_line(i - 1);
        } else {
          if (take(value, type)) b.remove_from_line(i - 1);
        }
      }
      remove_behind(&b.more, take);
    }
  }

  // Calls use(key, value, type) for every waiting entry, bucket by bucket under its lock: `use` may
  // not call back. Touches every bucket: not for fast paths.
  template <class Use>
  void for_each(const Use& use) {
    for (size_t index = 0; index <= mask_; ++index) {
      bucket& b = buckets_[index];
      const typename Bypass::section mine(bypass_of(b), b.lock);
      for (uint32_t i = 0; i < b.count; ++i) {
        const item& at = b.line[i];
        if constexpr (Links::in_values) {
          for (matching_link* l = at.value; l != nullptr; l = l->next) use(at.key, l, b.type(i));
        } else {
          use(at.key, at.value, b.type(i));
        }
      }
      for_each_behind(b.more, use);
    }
  }

  // The greatest number of nodes that a search for a key meets behind a line. Touches every bucket:
  // for tests and reports.
  size_t greatest_depth() {
    size_t greatest = 0;
    for (size_t index = 0; index <= mask_; ++index) {
      bucket& b = buckets_[index];
      const typename Bypass::section mine(bypass_of(b), b.lock);
      greatest = std::max(greatest, depth(b.more));
    }
    return greatest;
  }

 private:
  static constexpr uint32_t line_entries = 3;
  static constexpr uint32_t digit_bits = 2;
  static constexpr uint32_t digits = 1u << digit_bits;

  // Entries of one key behind a line, a list of either type.
  struct node {
    uint64_t key;
    matching_link* first[2];  // by type
    node* branches[digits];

    matching_link** list(entry_type type) { return &first[static_cast<size_t>(type)]; }
    bool is_empty() const { return first[0] == nullptr && first[1] == nullptr; }
  };

  // With own_links, the first entry of a list.
  using line_value = std::conditional_t<Links::in_values, matching_link*, void*>;
  struct item {
    uint64_t key;
    line_value value;
  };

  // 64 bytes. All zero is empty and unlocked.
  struct alignas(64) bucket {
    basic_spinlock<Atomics> lock;
    uint8_t count;
    uint8_t types;  // bit i: the type of line[i]; 0 from bit `count` on
    node* more;
    item line[line_entries];

    entry_type type(uint32_t i) const { return static_cast<entry_type>(types >> i & 1u); }

    void append(const item& added, entry_type added_type) {
      line[count] = added;
      types = static_cast<uint8_t>(types | static_cast<uint32_t>(added_type) << count);
      ++count;
    }

    void remove_from_line(uint32_t i) {
      const uint32_t before = types & ((1u << i) - 1);
      types = static_cast<uint8_t>(before | (types >> (i + 1) << i));
      --count;
      for (; i < count; ++i) line[i] = line[i + 1];
    }
  };

  // With other atomics (tests) buckets are constructed one by one, and may be larger.
  static constexpr bool zero_is_empty = std::is_same_v<Atomics, std_atomics>;
  static_assert(!zero_is_empty || sizeof(bucket) == 64, "a bucket is a cache line");

  size_t bytes() const {
    return bypass_count * sizeof(apart_bypass) + (mask_ + 1) * sizeof(bucket);
  }

  // Each is of the locks of a part of the buckets. Threads with keys of their own mostly use
  // different ones, so each of them is an owner. (Eight threads with one key each: in nine of ten
  // cases at most one pair shares one.)
  static constexpr size_t bypass_count = zero_is_empty ? 64 : 1;
  // (A power of two, so that the address takes no multiplication.)
  struct alignas(4 * contention_distance) apart_bypass {
    Bypass bypass;
  };
  [[gnu::always_inline]] Bypass& bypass_of(const bucket& b) {
    return bypasses()[static_cast<size_t>(&b - buckets_) % bypass_count].bypass;
  }
  // Before the buckets, so that their address is that of the buckets.
  apart_bypass* bypasses() const {
    return reinterpret_cast<apart_bypass*>(buckets_) - bypass_count;
  }

  bucket& bucket_of(uint64_t key) {
    key *= 0x9e3779b97f4a7c15;  // Fibonacci hashing: neighboring keys are spread far apart
    return buckets_[(key >> 32) & mask_];
  }

  template <class Make>
  static line_value value_in_line(const Make& make) {
    if constexpr (Links::in_values) {
      matching_link* first = nullptr;
      append_link(&first, own_links::make(make));
      return first;
    } else {
      return make();
    }
  }

  // The first entry, removed, if all entries of the bucket are of this key and the other type, and
  // same(entry) is true; else null.
  template <class Same>
  [[gnu::always_inline]] static matching_link* take_only(bucket& b, uint64_t key, entry_type type,
                                                         const Same& same) {
    matching_link* const first = b.line[0].value;
    const bool is_there = b.count == 1 && b.line[0].key == key && b.type(0) != type;
    if (__builtin_expect(!is_there || !same(first), 0)) return nullptr;
    matching_link* const next = first->next;
    if (__builtin_expect(next == nullptr, 1)) {
      b.count = 0;
      b.types = 0;
    } else {
      next->last = first->last;
      b.line[0].value = next;
    }
    return first;
  }

  // Removes and returns the oldest matching entry of line[i]; null if there is none.
  template <class Same>
  static void* take_from_line(bucket& b, uint32_t i, const Same& same) {
    void* found = nullptr;
    bool empty = true;
    if constexpr (Links::in_values) {
      found = take_link(&b.line[i].value, same);
      empty = b.line[i].value == nullptr;
    } else if (same(b.line[i].value)) {
      found = b.line[i].value;
    }
    if (found != nullptr && empty) b.remove_from_line(i);
    return found;
  }

  // Where the node of a key is, or would be (then it is null).
  static node** find(node** root, uint64_t key) {
    // The bits of the bucket's number are equal for all keys here: mixed once more, and one to one,
    // so that different keys differ in a digit.
    uint64_t hash = key * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
    while (*root != nullptr && (*root)->key != key) {
      root = &(*root)->branches[hash % digits];
      hash >>= digit_bits;
    }
    return root;
  }

  // Removes and returns the oldest matching entry behind the line. If there is none, returns null
  // and sets *own to the list of this key and type, if that has entries.
  template <class Same>
  __attribute__((noinline)) void* take_from_behind(bucket& b, uint64_t key, entry_type type,
                                                   const Same& same, matching_link*** own) {
    node** const at = find(&b.more, key);
    node* const n = *at;
    if (n == nullptr) return nullptr;
    const entry_type other = type == entry_type::send ? entry_type::recv : entry_type::send;
    matching_link* const found =
        take_link(n->list(other), [&same](matching_link* l) { return same(Links::value_of(l)); });
    if (found == nullptr) {
      if (*n->list(type) != nullptr) *own = n->list(type);
      return nullptr;
    }
    void* const value = Links::value_of(found);
    links_.recycle(found);
    if (n->is_empty()) remove_node(at);
    return value;
  }

  // The entry is the first one of its key and type behind the line.
  template <class Make>
  __attribute__((noinline)) void begin_queue(bucket& b, uint64_t key, entry_type type,
                                             const Make& make) {
    node** const at = find(&b.more, key);
    if (*at != nullptr) return append_link((*at)->list(type), links_.make(make));
    node* const made = nodes_.make();
    *made = node{key, {}, {}};
    try {
      append_link(made->list(type), links_.make(make));
    } catch (...) {
      nodes_.recycle(made);
      throw;
    }
    *at = made;
  }

  // Removes an empty node. A leaf below it takes its place, which has the same digits up to there.
  void remove_node(node** at) {
    node* const finished = *at;
    node** leaf = at;
    for (node** below = at; below != nullptr;) {
      leaf = below;
      below = nullptr;
      for (node*& branch : (*leaf)->branches) {
        if (branch != nullptr) below = &branch;
      }
    }
    node* const moved = *leaf;
    *leaf = nullptr;
    if (moved != finished) {
      std::copy_n(finished->branches, digits, moved->branches);
      *at = moved;
    }
    nodes_.recycle(finished);
  }

  // Keeps only the entries for which take(value, type) is false.
  template <class Take>
  void filter(matching_link** list, entry_type type, const Take& take) {
    filter_links(
        list, [&](matching_link* l) { return take(Links::value_of(l), type); },
        [this](matching_link* l) { links_.recycle(l); });
  }

  template <class Take>
  void remove_behind(node** at, const Take& take) {
    node* const n = *at;
    if (n == nullptr) return;
    for (node*& branch : n->branches) remove_behind(&branch, take);
    for (const entry_type type : {entry_type::send, entry_type::recv}) {
      filter(n->list(type), type, take);
    }
    if (n->is_empty()) remove_node(at);
  }

  template <class Use>
  static void for_each_behind(node* n, const Use& use) {
    if (n == nullptr) return;
    for (const entry_type type : {entry_type::send, entry_type::recv}) {
      for (matching_link* l = *n->list(type); l != nullptr; l = l->next) {
        use(n->key, Links::value_of(l), type);
      }
    }
    for (node* branch : n->branches) for_each_behind(branch, use);
  }

  static size_t depth(const node* n) {
    if (n == nullptr) return 0;
    size_t deepest = 0;
    for (const node* branch : n->branches) deepest = std::max(deepest, depth(branch));
    return deepest + 1;
  }

  const size_t mask_;
  bucket* buckets_ = nullptr;
  Links links_;
  object_pool<node, Atomics> nodes_;
};

using matching_table = basic_matching_table<std_atomics>;
using linked_matching_table = basic_matching_table<std_atomics, own_links>;

}  // namespace lci::ds

#endif  // LCI_DS_MATCHING_TABLE_H_
