// How often each k-mer occurred: a concurrent hash map of libcuckoo.
#ifndef EXAMPLES_KMER_KMER_TABLE_H_
#define EXAMPLES_KMER_KMER_TABLE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "examples/kmer/huge_pages.h"
#include "examples/kmer/kmer.h"
#include "libcuckoo/cuckoohash_map.hh"

namespace kmer {

// Where the map keeps its buckets and its locks, so that they can be prefetched. Only ever a hint:
// if the map works differently one day, the prefetches are useless, and nothing else.
struct table_layout {
  struct array {
    std::atomic<char*> begin{nullptr};
    std::atomic<size_t> mask{0};  // number of elements, a power of two, less one
    std::atomic<size_t> stride{0};

    const char* at(size_t index) const {
      return begin.load(std::memory_order_relaxed) +
             (index & mask.load(std::memory_order_relaxed)) *
                 stride.load(std::memory_order_relaxed);
    }
  };
  array buckets;
  array locks;
};

// Gives a map huge pages and remembers where its arrays are.
template <class T>
class table_allocator {
 public:
  using value_type = T;

  explicit table_allocator(table_layout* layout) : layout_(layout) {}
  template <class U>
  table_allocator(const table_allocator<U>& other) : layout_(other.layout()) {}  // NOLINT

  T* allocate(size_t count) {
    auto* memory = static_cast<char*>(huge_allocate(count * sizeof(T)));
    // A lock has a cache line of its own. The map has small lists too.
    table_layout::array& known = alignof(T) == 64 ? layout_->locks : layout_->buckets;
    if ((count & (count - 1)) == 0 && count - 1 > known.mask.load(std::memory_order_relaxed)) {
      known.begin.store(memory, std::memory_order_relaxed);
      known.stride.store(sizeof(T), std::memory_order_relaxed);
      known.mask.store(count - 1, std::memory_order_relaxed);
    }
    return reinterpret_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) noexcept { huge_free(memory, count * sizeof(T)); }

  table_layout* layout() const { return layout_; }
  template <class U>
  bool operator==(const table_allocator<U>& other) const {
    return layout_ == other.layout();
  }
  template <class U>
  bool operator!=(const table_allocator<U>& other) const {
    return !(*this == other);
  }

 private:
  table_layout* layout_;
};

// Thread-safe; blocking only for moments (libcuckoo's spin locks on single buckets).
template <class Word>
class kmer_table {
 public:
  // Room for `expected` k-mers; it grows beyond that.
  explicit kmer_table(size_t expected)
      // A cuckoo table that is nearly full moves many keys at each insertion.
      : map_(std::max(expected + expected / 4, least_room), map_hash(), map_equal(),
             allocator(layout_.get())) {}

  // Brings what add() of this k-mer will touch nearer: its two locks, and the first of its two
  // buckets, where most k-mers are.
  void prefetch(uint64_t kmer_hash) const {
    const size_t first = table_hash(kmer_hash);
    // libcuckoo's other bucket: the first one's index and a number made of the hash folded to eight
    // bits.
    uint64_t folded = first ^ first >> 32;
    folded ^= folded >> 16;
    folded = (folded ^ folded >> 8) & 0xff;
    const size_t second = first ^ ((folded + 1) * 0xc6a4a7935bd1e995);
    const char* bucket = layout_->buckets.at(first);
    kmer::prefetch(layout_->locks.at(first));
    kmer::prefetch(layout_->locks.at(second));
    kmer::prefetch(bucket);
    kmer::prefetch(bucket + 64);
    kmer::prefetch(bucket + layout_->buckets.stride.load(std::memory_order_relaxed) - 1);
  }

  // One more occurrence of `word`.
  void add(Word word) {
    map_.upsert(
        key::of(word), [](uint64_t& count) { ++count; }, uint64_t{1});
  }

  size_t size() const { return map_.size(); }

  // Calls visit(word, count) for all. Not while other threads use the table.
  template <class Visit>
  void for_each(Visit&& visit) {
    const auto locked = map_.lock_table();
    for (const auto& [stored, count] : locked) visit(stored.word(), count);
  }

 private:
  // The map's own default, and not less: below it (65536 buckets), growing is not safe in libcuckoo
  // 0.3. There the array of locks grows with the buckets, and a thread that waits for a lock of an
  // array before the last is not kept out by the next doubling, which for a moment shows a number
  // of buckets that this thread takes for unchanged; then it follows a null pointer. From here on
  // the array of locks is the same for ever.
  static constexpr size_t least_room = libcuckoo::DEFAULT_SIZE;

  // A uint128_t would be aligned to 16 bytes and make each entry 8 bytes larger.
  struct key {
    static key of(Word value) {
      key made;
      std::memcpy(made.parts, &value, sizeof(value));
      return made;
    }
    Word word() const {
      Word value;
      std::memcpy(&value, parts, sizeof(value));
      return value;
    }
    uint64_t parts[sizeof(Word) / 8];
  };
  // The map takes the lowest bits first.
  static size_t table_hash(uint64_t kmer_hash) { return kmer_hash >> 32 | kmer_hash << 32; }
  struct map_hash {
    size_t operator()(const key& stored) const { return table_hash(hash(stored.word())); }
  };
  struct map_equal {
    bool operator()(const key& a, const key& b) const { return a.word() == b.word(); }
  };
  using allocator = table_allocator<std::pair<const key, uint64_t>>;

  std::unique_ptr<table_layout> layout_ = std::make_unique<table_layout>();
  libcuckoo::cuckoohash_map<key, uint64_t, map_hash, map_equal, allocator> map_;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_KMER_TABLE_H_
