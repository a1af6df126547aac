// Ranks as threads of a test, whose arenas lie in memory of the process.
#ifndef LCI_TESTING_ARENA_RANKS_ARENA_RANKS_H_
#define LCI_TESTING_ARENA_RANKS_ARENA_RANKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "lci/base/backoff.h"
#include "lci/coll/arena.h"
#include "lci/coll/operation.h"
#include "lci/testing/fail_fast/fail_fast.h"

namespace lci::coll {

// One rank: its arena, and the operations that it has begun.
class test_rank {
 public:
  explicit test_rank(arena* own) : arena_(*own) {}

  arena& own_arena() { return arena_; }
  int rank() const { return arena_.rank(); }
  int size() const { return arena_.size(); }

  ticket begin(const signature& called) {
    const uint64_t hash = arena_.begin(++number_, called);
    return {&arena_, number_, hash};
  }
  uint64_t number() const { return number_; }

  static void run(operation* each) {
    base::backoff backoff;
    while (!each->advance()) backoff.idle();
  }

 private:
  arena& arena_;
  uint64_t number_ = 0;
};

enum class reading { possible, impossible };

// Those of a runtime's default attributes, and the same without pipes.
constexpr crossovers default_sizes = {8 << 10, 4 << 10, 2 << 10, size_t{1} << 30};
constexpr crossovers sizes_without_pipes = {8 << 10, 32 << 10, 2 << 10, 0};

// Advances by 1 us with each reading, so that what the ranks measure depends on no other work of the
// machine.
inline int64_t counting_clock() {
  static std::atomic<int64_t> readings{0};
  return 1000 * (readings.fetch_add(1, std::memory_order_relaxed) + 1);
}

// Ranks whose operations the test carries out as it likes.
class test_ranks {
 public:
  explicit test_ranks(int size, reading memory = reading::possible,
                      const crossovers& sizes = default_sizes)
      : test_ranks(size, memory == reading::possible ? copies() : arena::memory_access{}, sizes) {}

  test_ranks(int size, const arena::memory_access& access, const crossovers& sizes)
      : test_ranks(access, std::vector<crossovers>(static_cast<size_t>(size), sizes)) {}

  // `sizes`: by rank.
  test_ranks(const arena::memory_access& access, const std::vector<crossovers>& sizes) {
    std::vector<void*> blocks;
    for (size_t r = 0; r < sizes.size(); ++r) {
      memories_.emplace_back(new page[arena::block_bytes() / sizeof(page)]());
      blocks.push_back(memories_.back().get());
    }
    for (size_t r = 0; r < sizes.size(); ++r) {
      arenas_.push_back(std::make_unique<arena>(static_cast<int>(r), blocks, access, sizes[r],
                                                std::vector<int>{}, /*numbers_per_call=*/1,
                                                counting_clock));
      ranks_.emplace_back(arenas_.back().get());
    }
  }

  // The ranks are of one process.
  static arena::memory_access copies() {
    const auto read = [](int, void* to, uint64_t from, size_t bytes) {
      std::memcpy(to, reinterpret_cast<const void*>(static_cast<uintptr_t>(from)), bytes);
      return true;
    };
    const auto write = [](int, uint64_t to, const void* from, size_t bytes) {
      std::memcpy(reinterpret_cast<void*>(static_cast<uintptr_t>(to)), from, bytes);
      return true;
    };
    return {read, write};
  }

  test_rank& operator[](int rank) { return ranks_[static_cast<size_t>(rank)]; }

 private:
  struct page {
    alignas(4096) unsigned char bytes[4096];
  };
  std::vector<std::unique_ptr<page[]>> memories_;
  std::vector<std::unique_ptr<arena>> arenas_;
  std::vector<test_rank> ranks_;
};

// Calls body(rank) as each of `size` ranks, and returns when all have returned.
inline void run_ranks(int size, const std::function<void(test_rank&)>& body,
                      reading memory = reading::possible, const crossovers& sizes = default_sizes) {
  test_ranks ranks(size, memory, sizes);
  const fail_fast guard;
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&body, &ranks, r] { body(ranks[r]); });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace lci::coll

#endif  // LCI_TESTING_ARENA_RANKS_ARENA_RANKS_H_
