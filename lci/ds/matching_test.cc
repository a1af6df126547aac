// Both matching structures must meet the same expectations.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/ds/matching_queue.h"
#include "lci/ds/matching_table.h"
#include "lci/testing/scenarios/adapters.h"

namespace lci::ds {
namespace {

using type = matching_type;

void* value(uintptr_t n) { return reinterpret_cast<void*>(n); }

// Few buckets, so that many entries wait behind the lines.
struct table_of_one : matching_table {
  table_of_one() : matching_table(1) {}
};
struct table_of_two : matching_table {
  table_of_two() : matching_table(2) {}
};
struct table_of_many : matching_table {
  table_of_many() : matching_table(1024) {}
};

// A table whose values are links: value(n) is the link of number n.
template <class Table, size_t Buckets>
class linked_table {
 public:
  void* insert(uint64_t key, void* added, type kind) {
    return insert(
        key, kind, [](const void*) { return true; }, [added] { return added; });
  }
  template <class Same, class Make>
  void* insert(uint64_t key, type kind, const Same& same, const Make& make) {
    void* found = table_.insert(
        key, kind, [&](const void* link) { return same(value_of(link)); },
        [&]() -> void* { return &links_[reinterpret_cast<uintptr_t>(make())]; });
    return found == nullptr ? nullptr : value_of(found);
  }
  template <class Take>
  void remove_if(const Take& take) {
    table_.remove_if([&](void* link, type kind) {
      if (!take(value_of(link), kind)) return false;
      *static_cast<matching_link*>(link) = {nullptr, nullptr};  // the table no longer uses it
      return true;
    });
  }
  template <class Use>
  void for_each(const Use& use) {
    table_.for_each([&](uint64_t key, void* link, type kind) { use(key, value_of(link), kind); });
  }

 private:
  void* value_of(const void* link) const {
    return value(static_cast<uintptr_t>(static_cast<const matching_link*>(link) - links_.data()));
  }

  std::vector<matching_link> links_ = std::vector<matching_link>(300001);
  Table table_{Buckets};
};
using linked_table_of_two = linked_table<linked_matching_table, 2>;
using short_table_of_two = linked_table<explorer::short_ways<linked_matching_table>, 2>;
using short_table_of_many = linked_table<explorer::short_ways<linked_matching_table>, 1024>;

template <class Matching>
class Matchings : public testing::Test {};
using MatchingTypes = testing::Types<table_of_one, table_of_two, table_of_many, linked_table_of_two,
                                     short_table_of_two, short_table_of_many, matching_queue>;
TYPED_TEST_SUITE(Matchings, MatchingTypes);

TYPED_TEST(Matchings, PairsTheTwoTypes) {
  TypeParam table;
  EXPECT_EQ(table.insert(7, value(1), type::send), nullptr);
  EXPECT_EQ(table.insert(8, value(2), type::recv), nullptr);
  EXPECT_EQ(table.insert(7, value(3), type::recv), value(1));
  EXPECT_EQ(table.insert(7, value(4), type::recv), nullptr);
  EXPECT_EQ(table.insert(8, value(5), type::send), value(2));
  EXPECT_EQ(table.insert(7, value(6), type::send), value(4));
}

// Compares with a model.
TYPED_TEST(Matchings, OldestFirstForEachKey) {
  TypeParam table;
  std::map<uint64_t, std::vector<std::pair<type, void*>>> model;
  uint64_t random = 1;
  for (uintptr_t n = 1; n < 20000; ++n) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t key = random >> 60;
    const type kind = (random >> 50 & 1) != 0 ? type::send : type::recv;
    auto& waiting = model[key];
    void* expected = nullptr;
    if (!waiting.empty() && waiting.front().first != kind) {
      expected = waiting.front().second;
      waiting.erase(waiting.begin());
    } else {
      waiting.emplace_back(kind, value(n));
    }
    ASSERT_EQ(table.insert(key, value(n), kind), expected) << n;
  }
  size_t left = 0;
  table.for_each([&](uint64_t key, void* entry, type kind) {
    ++left;
    bool found = false;
    for (const auto& [model_kind, model_entry] : model[key]) {
      found = found || (model_kind == kind && model_entry == entry);
    }
    EXPECT_TRUE(found);
  });
  size_t expected_left = 0;
  for (const auto& [key, waiting] : model) expected_left += waiting.size();
  EXPECT_EQ(left, expected_left);
}

TYPED_TEST(Matchings, EqualKeysOfDifferentThingsDoNotMatch) {
  TypeParam table;
  const auto parity_of = [](const void* entry) { return reinterpret_cast<uintptr_t>(entry) % 2; };
  const auto insert = [&](uintptr_t n, type kind) {
    return table.insert(
        7, kind, [&, n](const void* other) { return parity_of(other) == n % 2; },
        [n] { return value(n); });
  };
  for (uintptr_t n = 2; n < 22; n += 2) EXPECT_EQ(insert(n, type::send), nullptr);
  EXPECT_EQ(insert(101, type::recv), nullptr) << "odd and even have the same key";
  EXPECT_EQ(insert(103, type::send), value(101));
  for (uintptr_t n = 2; n < 22; n += 2) EXPECT_EQ(insert(n + 200, type::recv), value(n));
}

TYPED_TEST(Matchings, AnEntryThatCantBeMadeChangesNothing) {
  TypeParam table;
  const auto any = [](const void*) { return true; };
  const auto fail = []() -> void* { throw std::bad_alloc(); };
  for (uintptr_t n = 1; n <= 10; ++n) {
    EXPECT_THROW(table.insert(1, type::send, any, fail), std::bad_alloc);
    EXPECT_EQ(table.insert(1, value(n), type::send), nullptr);
  }
  for (uintptr_t n = 1; n <= 10; ++n) EXPECT_EQ(table.insert(1, type::recv, any, fail), value(n));
}

TYPED_TEST(Matchings, RemoveIfTakesOutJustThose) {
  TypeParam table;
  for (uintptr_t n = 1; n <= 20; ++n) table.insert(n % 3, value(n), type::send);
  size_t taken = 0;
  table.remove_if([&](const void* entry, type kind) {
    EXPECT_EQ(kind, type::send);
    const bool even = reinterpret_cast<uintptr_t>(entry) % 2 == 0;
    taken += even ? 1 : 0;
    return even;
  });
  EXPECT_EQ(taken, 10u);
  for (uintptr_t n = 1; n <= 20; n += 2) {
    EXPECT_EQ(table.insert(n % 3, value(100 + n), type::recv), value(n)) << "in the old order";
  }
  table.for_each([](uint64_t, const void*, type) { ADD_FAILURE(); });
}

// With many entries waiting for one key, the next one costs no more: otherwise this test would not
// end.
TYPED_TEST(Matchings, ManyOfOneKey) {
  TypeParam table;
  constexpr uintptr_t many = 300000;
  for (uintptr_t n = 1; n <= many; ++n) ASSERT_EQ(table.insert(7, value(n), type::recv), nullptr);
  for (uintptr_t n = 1; n <= many; ++n) ASSERT_EQ(table.insert(7, value(n), type::send), value(n));
}

// Entries behind a line are found again after other entries were added and removed there. Compares
// with a model.
TYPED_TEST(Matchings, ManyKeysThatComeAndGo) {
  TypeParam table;
  constexpr uint64_t keys = 300;
  std::map<uint64_t, std::pair<type, std::vector<void*>>> model;
  uint64_t random = 7;
  for (uintptr_t n = 1; n < 100000; ++n) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t key = (random >> 40) % keys;
    const type kind = (random >> 33 & 1) != 0 ? type::send : type::recv;
    auto& [waiting_kind, waiting] = model[key];
    void* expected = nullptr;
    if (!waiting.empty() && waiting_kind != kind) {
      expected = waiting.front();
      waiting.erase(waiting.begin());
    } else {
      waiting_kind = kind;
      waiting.push_back(value(n));
    }
    ASSERT_EQ(table.insert(key, value(n), kind), expected) << n;
    if (n % 20000 != 0) continue;
    const auto is_taken = [](const void* entry) {
      return reinterpret_cast<uintptr_t>(entry) % 3 == 0;
    };
    table.remove_if([&](const void* entry, type) { return is_taken(entry); });
    size_t left = 0;
    for (auto& [model_key, entries] : model) {
      auto& list = entries.second;
      list.erase(std::remove_if(list.begin(), list.end(), is_taken), list.end());
      left += list.size();
    }
    table.for_each([&](uint64_t model_key, const void* entry, type model_kind) {
      --left;
      EXPECT_EQ(model[model_key].first, model_kind);
      EXPECT_EQ(std::count(model[model_key].second.begin(), model[model_key].second.end(), entry),
                1);
    });
    ASSERT_EQ(left, 0u);
  }
}

// With many keys waiting, a search meets few of them: the number of steps grows as the logarithm of
// the number of keys, for numbers in sequence and far apart as for random ones.
TEST(MatchingTable, ASearchAmongManyKeysIsShort) {
  constexpr uintptr_t many = 200000;
  const auto random = [](uint64_t n) { return n * 0xbf58476d1ce4e5b9 ^ n << 40; };
  const std::vector<uint64_t (*)(uint64_t)> kinds_of_keys = {
      [](uint64_t n) { return n; },
      [](uint64_t n) { return n << 16; },
      [](uint64_t n) { return n << 44; },
      [](uint64_t n) { return n * 0xc2b2ae3d27d4eb4f; },
      // All in one bucket of a large table: they differ in what the bucket's number leaves out.
      [](uint64_t n) { return (n << 48 | 5) * 0xf1de83e19937733d; },
      random,
  };
  for (size_t kind = 0; kind < kinds_of_keys.size(); ++kind) {
    for (const size_t buckets : {size_t{1}, size_t{64}, size_t{65536}}) {
      matching_table table(buckets);
      const uintptr_t keys = kind == 4 ? 50000 : many;
      for (uintptr_t n = 1; n <= keys; ++n) {
        ASSERT_EQ(table.insert(kinds_of_keys[kind](n), value(n), type::send), nullptr);
      }
      // A tree of 200,000 with four branches has at least 9 levels.
      EXPECT_LE(table.greatest_depth(), 30u) << "keys " << kind << ", buckets " << buckets;
      for (uintptr_t n = 1; n <= keys; n += 2) {
        ASSERT_EQ(table.insert(kinds_of_keys[kind](n), value(n), type::recv), value(n));
      }
      EXPECT_LE(table.greatest_depth(), 30u) << "keys " << kind << ", buckets " << buckets;
      for (uintptr_t n = 2; n <= keys; n += 2) {
        ASSERT_EQ(table.insert(kinds_of_keys[kind](n), value(n), type::recv), value(n));
      }
      EXPECT_EQ(table.greatest_depth(), 0u) << "keys " << kind << ", buckets " << buckets;
    }
  }
}

// Every send is matched with exactly one receive of its key, whichever is inserted last.
TYPED_TEST(Matchings, ManyThreads) {
  TypeParam table;
  constexpr int threads = 8;
  constexpr uintptr_t per_thread = 3000;
  constexpr uint64_t keys = 5;
  std::vector<std::atomic<int>> matched(threads * per_thread + 1);
  std::atomic<int> wrong_key{0};
  const auto key_of = [](uintptr_t n) { return n % keys; };
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      const type kind = t % 2 == 0 ? type::send : type::recv;
      for (uintptr_t i = 0; i < per_thread; ++i) {
        const uintptr_t n = static_cast<uintptr_t>(t) * per_thread + i + 1;
        const uint64_t key = i % keys;
        void* found = table.insert(key, value(n), kind);
        if (found == nullptr) continue;
        const auto other = reinterpret_cast<uintptr_t>(found);
        if (key_of((other - 1) % per_thread) != key) ++wrong_key;
        matched[n].fetch_add(1);
        matched[other].fetch_add(1);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong_key, 0);
  // As many sends as receives of each key: nothing is left.
  for (size_t n = 1; n < matched.size(); ++n) ASSERT_EQ(matched[n].load(), 1) << n;
}

}  // namespace
}  // namespace lci::ds
