// How often each k-mer occurred: a concurrent hash map of libcuckoo.
#ifndef EXAMPLES_KMER_KMER_TABLE_H_
#define EXAMPLES_KMER_KMER_TABLE_H_

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

// Where the map keeps its buckets, so that they can be prefetched. Only ever a hint: if the map
// works differently one day, the prefetches are useless, and nothing else.
struct bucket_layout {
  std::atomic<char*> begin{nullptr};
  std::atomic<size_t> mask{0};  // number of buckets, a power of two, less one
  std::atomic<size_t> stride{0};
};

// Gives a map huge pages and remembers where its largest array, the buckets, is.
template <class T>
class table_allocator {
 public:
  using value_type = T;

  explicit table_allocator(bucket_layout* layout) : layout_(layout) {}
  template <class U>
  table_allocator(const table_allocator<U>& other) : layout_(other.layout()) {}  // NOLINT

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    void* memory = huge_allocate(bytes);
    // The other arrays of the map are the locks (64 bytes aligned) and small lists.
    if (alignof(T) < 64 && count > 1 && (count & (count - 1)) == 0 &&
        count > layout_->mask.load(std::memory_order_relaxed)) {
      layout_->begin.store(static_cast<char*>(memory), std::memory_order_relaxed);
      layout_->stride.store(sizeof(T), std::memory_order_relaxed);
      layout_->mask.store(count - 1, std::memory_order_relaxed);
    }
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) noexcept { huge_free(memory, count * sizeof(T)); }

  bucket_layout* layout() const { return layout_; }
  template <class U>
  bool operator==(const table_allocator<U>& other) const {
    return layout_ == other.layout();
  }
  template <class U>
  bool operator!=(const table_allocator<U>& other) const {
    return !(*this == other);
  }

 private:
  bucket_layout* layout_;
};

// Thread-safe; blocking only for moments (libcuckoo's spin locks on single buckets).
template <class Word>
class kmer_table {
 public:
  kmer_table() : kmer_table(0) {}
  // Room for `expected` k-mers; it grows beyond that.
  explicit kmer_table(size_t expected)
      // A cuckoo table that is nearly full moves many keys at each insertion.
      : map_(expected + expected / 4, map_hash(), map_equal(), allocator(layout_.get())) {}

  void prefetch(uint64_t kmer_hash) const {
    const char* bucket = layout_->begin.load(std::memory_order_relaxed) +
                         (table_hash(kmer_hash) & layout_->mask.load(std::memory_order_relaxed)) *
                             layout_->stride.load(std::memory_order_relaxed);
    __builtin_prefetch(bucket, 1);
    __builtin_prefetch(bucket + 64, 1);
  }

  // One more occurrence of `word`.
  void add(Word word) {
    map_.upsert(key::of(word), [](uint64_t& count) { ++count; }, uint64_t{1});
  }

  size_t size() const { return map_.size(); }

  // Calls visit(word, count) for all. Not while other threads use the table.
  template <class Visit>
  void for_each(Visit&& visit) {
    const auto locked = map_.lock_table();
    for (const auto& [stored, count] : locked) visit(stored.word(), count);
  }

 private:
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

  std::unique_ptr<bucket_layout> layout_ = std::make_unique<bucket_layout>();
  libcuckoo::cuckoohash_map<key, uint64_t, map_hash, map_equal, allocator> map_;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_KMER_TABLE_H_
