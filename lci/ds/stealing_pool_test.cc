#include "lci/ds/stealing_pool.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/backoff.h"

// Counts every allocation of this program.
static std::atomic<size_t> allocations{0};
void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace lci::ds {
namespace {

struct element {
  uint32_t owner = 0;
  std::atomic<int> users{0};
};
struct owner_of {
  uint32_t operator()(const element& e) const { return e.owner; }
};
using pool_type = stealing_pool<element, owner_of>;

constexpr size_t keep_all = 4096;

// Elements of the calling thread, put into the pool.
std::unique_ptr<element[]> fill(pool_type* pool, size_t count) {
  std::unique_ptr<element[]> made(new element[count]);
  pool->reserve(count);
  for (size_t i = 0; i < count; ++i) {
    made[i].owner = base::thread_number();
    pool->put(&made[i]);
  }
  return made;
}

template <class F>
void in_another_thread(const F& f) {
  std::thread thread(f);
  thread.join();
}

// Returns all elements in the pool, and checks that none occurs twice.
std::vector<element*> drain(pool_type* pool) {
  std::vector<element*> all;
  while (element* e = pool->get()) all.push_back(e);
  EXPECT_EQ(std::set<element*>(all.begin(), all.end()).size(), all.size());
  return all;
}

TEST(StealingPool, GivesBackTheNewestFirst) {
  const auto owned = std::make_unique<pool_type>(keep_all);
  EXPECT_EQ(owned->get(), nullptr);
  const auto elements = fill(owned.get(), 1000);
  EXPECT_EQ(owned->size(), 1000u);
  element* last = owned->get();
  EXPECT_EQ(last, &elements[999]);
  owned->put(last);
  EXPECT_EQ(owned->get(), last);
  EXPECT_EQ(drain(owned.get()).size(), 999u);
  EXPECT_EQ(owned->size(), 0u);
}

// Any thread gets all elements, for any number of them, and whether their thread lives or has
// ended.
TEST(StealingPool, NothingIsOutOfReach) {
  for (const size_t count : {1u, 2u, 31u, 32u, 33u, 500u}) {
    const auto owned = std::make_unique<pool_type>(keep_all);
    const auto elements = fill(owned.get(), count);
    in_another_thread([&] {
      EXPECT_EQ(drain(owned.get()).size(), count);
      for (size_t i = 0; i < count; ++i) owned->put(&elements[i]);
    });
    // The thread that put them has ended.
    EXPECT_EQ(drain(owned.get()).size(), count);
  }
}

TEST(StealingPool, StealsHalf) {
  const auto owned = std::make_unique<pool_type>(keep_all);
  const auto few = fill(owned.get(), 8);
  const auto first = base::thread_number();
  in_another_thread([&] {
    ASSERT_NE(owned->get(), nullptr);
    EXPECT_EQ(owned->size_of(first), 4u);
    EXPECT_EQ(owned->size_of(base::thread_number()), 3u);
  });
}

TEST(StealingPool, SendsBackWhatIsTooMuch) {
  constexpr size_t threshold = 64;
  const auto owned = std::make_unique<pool_type>(threshold);
  const auto elements = fill(owned.get(), 1000);
  const auto first = base::thread_number();
  const auto all = drain(owned.get());
  ASSERT_EQ(all.size(), 1000u);
  in_another_thread([&] {
    for (element* e : all) owned->put(e);
    EXPECT_LE(owned->size_of(base::thread_number()), threshold + pool_type::magazine);
    EXPECT_GE(owned->size_of(first), 1000 - threshold - pool_type::magazine);
    EXPECT_EQ(owned->size(), 1000u);
  });
  EXPECT_EQ(drain(owned.get()).size(), 1000u);
}

TEST(StealingPool, KeepsNoneOfOthersIfTold) {
  const auto owned = std::make_unique<pool_type>(0);
  const auto elements = fill(owned.get(), 200);
  const auto all = drain(owned.get());
  in_another_thread([&] {
    for (element* e : all) owned->put(e);
    EXPECT_LE(owned->size_of(base::thread_number()), pool_type::magazine);
    EXPECT_EQ(owned->size(), 200u);
  });
}

TEST(StealingPool, AllocatesNothingOnceWarm) {
  const auto owned = std::make_unique<pool_type>(16);
  const auto elements = fill(owned.get(), 300);
  size_t allocated = 1;
  in_another_thread([&] {
    element* held[300];
    for (int round = 0; round < 3; ++round) {
      if (round == 1) allocated = allocations.load();
      for (element*& e : held) ASSERT_NE(e = owned->get(), nullptr);
      for (element* e : held) owned->put(e);
    }
    allocated = allocations.load() - allocated;
  });
  EXPECT_EQ(allocated, 0u);
}

// No two threads ever hold the same element, and no element is lost. Threads come and go, and want
// more elements than there are.
TEST(StealingPool, ManyThreads) {
  constexpr int threads = 8;
  constexpr int generations = 4;
  constexpr size_t count = 100;
  const auto owned = std::make_unique<pool_type>(8);
  const auto elements = fill(owned.get(), count);
  std::atomic<int> shared{0};
  std::atomic<int> served{0};
  for (int generation = 0; generation < generations; ++generation) {
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        std::vector<element*> held;
        base::backoff wait;
        for (int i = 0; i < 3000; ++i) {
          // Some threads hold few elements, some many.
          if (held.size() <= static_cast<size_t>(t) * 3) {
            element* e = owned->get();
            if (e != nullptr) {
              if (e->users.fetch_add(1) != 0) ++shared;
              held.push_back(e);
              ++served;
              continue;
            }
            if (held.empty()) {
              wait.idle();
              continue;
            }
          }
          const size_t one = static_cast<size_t>(i) % held.size();
          std::swap(held[one], held.back());
          held.back()->users.fetch_sub(1);
          owned->put(held.back());
          held.pop_back();
        }
        for (element* e : held) {
          e->users.fetch_sub(1);
          owned->put(e);
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(owned->size(), count);
  }
  EXPECT_EQ(shared, 0);
  EXPECT_GT(served, 0);
  EXPECT_EQ(drain(owned.get()).size(), count);
}

// One thread gets, the other puts: elements return to the first.
TEST(StealingPool, GottenHerePutThere) {
  constexpr int rounds = 20000;
  constexpr size_t count = 64;
  const auto owned = std::make_unique<pool_type>(8);
  const auto elements = fill(owned.get(), count);
  std::atomic<element*> passed{nullptr};
  std::thread putter([&] {
    base::backoff wait;
    for (int i = 0; i < rounds; ++i) {
      element* e = nullptr;
      while ((e = passed.exchange(nullptr)) == nullptr) wait.idle();
      wait.reset();
      owned->put(e);
    }
  });
  base::backoff wait;
  for (int i = 0; i < rounds; ++i) {
    element* e = nullptr;
    while ((e = owned->get()) == nullptr) wait.idle();
    while (passed.load() != nullptr) wait.idle();
    wait.reset();
    passed.store(e);
  }
  putter.join();
  EXPECT_EQ(owned->size(), count);
}

}  // namespace
}  // namespace lci::ds
