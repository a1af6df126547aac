// All ranks use the same path for an operation, whenever the path of its class changes.
#include "lci/coll/path_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "lci/coll/arena.h"
#include "lci/coll/operations.h"
#include "lci/testing/arena_ranks/arena_ranks.h"

namespace lci::coll {
namespace {

constexpr crossovers choosing = {8 << 10, 4 << 10, 2 << 10, size_t{1} << 30, true};
constexpr size_t bytes = size_t{20} << 10;
constexpr size_t small = 8;  // bytes that have no path
// Enough for a trial and the decision after it.
constexpr int many = 200;

// A broadcast that records its path.
class watched_broadcast final : public broadcast {
 public:
  watched_broadcast(test_rank& own, void* buffer, size_t size, int root)
      : broadcast(own.begin({operation_kind::broadcast, root, size, 0}), buffer, size, root),
        size_(size) {}

  copy_path used = copy_path::pipes;

 private:
  const size_t size_;
  bool step() override {
    if (size_ == small) return broadcast::step();
    used = path();
    EXPECT_EQ(is_in_pieces(), used == copy_path::pipes_past_caches ||
                                  (used == copy_path::pipes && size_ > choosing.copied_in_area));
    return broadcast::step();
  }
};

// A rank that does broadcasts, of which every fourth one is large: those with the number n and with
// n + arena::areas are.
class broadcasting_rank {
 public:
  broadcasting_rank(test_rank& own, int root, size_t large = bytes)
      : own_(own), root_(root), large_(large) {}

  // Does at most so many, as far as it can without waiting.
  void go(int most) {
    for (; most > 0 && paths.size() < many; --most) {
      const size_t size = own_.number() % 4 == (under_way_ == nullptr ? 0 : 1) ? large_ : small;
      if (under_way_ == nullptr) {
        std::fill(buffer_.begin(), buffer_.end(), own_.rank() == root_ ? content() : 0);
        under_way_ = std::make_unique<watched_broadcast>(own_, buffer_.data(), size, root_);
      }
      if (!under_way_->advance()) return;
      under_way_->end();
      const auto end = buffer_.begin() + static_cast<ptrdiff_t>(size);
      ASSERT_EQ(std::count(buffer_.begin(), end, content()), static_cast<ptrdiff_t>(size));
      if (size == large_) paths.push_back(under_way_->used);
      under_way_.reset();
    }
  }
  static constexpr int all = 4 * many;

  std::vector<copy_path> paths;  // of the large broadcasts that have ended

 private:
  unsigned char content() const { return static_cast<unsigned char>(paths.size() % 251 + 1); }

  test_rank& own_;
  const int root_;
  const size_t large_;
  std::vector<unsigned char> buffer_ = std::vector<unsigned char>(large_);
  std::unique_ptr<watched_broadcast> under_way_;
};

// The paths of large broadcasts of three ranks, which are equal on all. Rank 1 is as far ahead of
// rank 0, which decides, as it can be.
std::vector<copy_path> paths_with_a_rank_ahead(size_t large,
                                               const std::vector<crossovers>& sizes = {3,
                                                                                       choosing}) {
  test_ranks ranks(test_ranks::copies(), sizes);
  broadcasting_rank deciding(ranks[0], 1, large);
  broadcasting_rank ahead(ranks[1], 1, large);
  broadcasting_rank other(ranks[2], 1, large);
  for (int turn = 0; turn < 20 * many && other.paths.size() < many; ++turn) {
    ahead.go(broadcasting_rank::all);
    other.go(1);
    deciding.go(1);
  }
  EXPECT_EQ(other.paths.size(), static_cast<size_t>(many));
  EXPECT_EQ(ahead.paths, deciding.paths);
  EXPECT_EQ(other.paths, deciding.paths);
  return other.paths;
}

TEST(PathTable, ARankThatIsAheadOfTheOneThatDecidesUsesTheSamePath) {
  const std::vector<copy_path> paths = paths_with_a_rank_ahead(bytes);
  EXPECT_GE(std::count(paths.begin(), paths.end(), copy_path::pipes),
            static_cast<ptrdiff_t>(path_selector::samples));
  EXPECT_GE(std::count(paths.begin(), paths.end(), copy_path::kernel),
            static_cast<ptrdiff_t>(path_selector::samples));
}

TEST(PathTable, LargeOperationsUseTheKernelAsSoonAsAllRanksKnowThatItCanCopy) {
  std::vector<copy_path> paths = paths_with_a_rank_ahead(path_table::kernel_first_bytes);
  // The ranks look up the first eight operations, of which two are large, without one another.
  std::vector<copy_path> expected(10, copy_path::kernel);
  expected[0] = expected[1] = copy_path::pipes;
  paths.resize(expected.size());
  EXPECT_EQ(paths, expected);
}

TEST(PathTable, LargeOperationsBeginWithPipesIfTheCachesOfTheFirstRankAreTooSmall) {
  constexpr size_t large = size_t{256} << 10;  // the largest of its class, whose buffers count
  constexpr size_t all = 3 * large;            // of the buffers of all ranks
  const auto begins_with = [&](const std::vector<size_t>& in_caches) {
    std::vector<crossovers> sizes(3, choosing);
    for (size_t r = 0; r < sizes.size(); ++r) sizes[r].in_caches = in_caches[r];
    // The kernel is allowed when the third one begins, and measured later.
    return paths_with_a_rank_ahead(large, sizes)[2];
  };
  EXPECT_EQ(begins_with({all, 0, 0}), copy_path::kernel);
  EXPECT_EQ(begins_with({all - 1, all, all}), copy_path::pipes);
}

// Without the kernel, as is the choice for data that fit into an area.
void expect_pipes_of_both_kinds(reading access, size_t large) {
  test_ranks ranks(2, access, choosing);
  broadcasting_rank first(ranks[0], 0, large);
  broadcasting_rank second(ranks[1], 0, large);
  for (int turn = 0; turn < 20 * many && second.paths.size() < many; ++turn) {
    first.go(broadcasting_rank::all);
    second.go(broadcasting_rank::all);
  }
  EXPECT_EQ(first.paths, second.paths);
  const auto used = [&second](copy_path path) {
    return static_cast<size_t>(std::count(second.paths.begin(), second.paths.end(), path));
  };
  EXPECT_EQ(second.paths.size(), static_cast<size_t>(many));
  EXPECT_EQ(used(copy_path::kernel), 0u);
  EXPECT_GE(used(copy_path::pipes), path_selector::samples);
  EXPECT_GE(used(copy_path::pipes_past_caches), path_selector::samples);
}

TEST(PathTable, WithoutTheKernelOperationsUsePipesOfBothKinds) {
  expect_pipes_of_both_kinds(reading::impossible, bytes);
}

TEST(PathTable, DataThatFitIntoTheAreaMayGoPastTheCaches) {
  for (const reading access : {reading::impossible, reading::possible}) {
    expect_pipes_of_both_kinds(access, choosing.copied_in_area);
    expect_pipes_of_both_kinds(access, size_t{1025});
  }
}

void add(const void* left, const void* right, void* sum, size_t count) {
  const auto* const a = static_cast<const uint32_t*>(left);
  const auto* const b = static_cast<const uint32_t*>(right);
  auto* const to = static_cast<uint32_t*>(sum);
  for (size_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

// Three concurrent operations of three kinds, whose paths change at different times.
TEST(PathTable, ConcurrentOperationsChangeTheirPaths) {
  for (const int size : {2, 3, 4}) {
    run_ranks(
        size,
        [size](test_rank& rank) {
          const auto ranks = static_cast<size_t>(size);
          constexpr size_t count = bytes / sizeof(uint32_t);
          const auto own = static_cast<uint32_t>(rank.rank());
          std::vector<uint32_t> cast(count);
          std::vector<uint32_t> sent(count);
          std::vector<uint32_t> gathered(count * ranks);
          std::vector<uint32_t> sums(count);
          for (uint32_t round = 0; round < many; ++round) {
            const int root = static_cast<int>(round % ranks);
            for (size_t i = 0; i < count; ++i) {
              sent[i] = 1000 * own + round + static_cast<uint32_t>(i);
              cast[i] = rank.rank() == root ? sent[i] : 0;
            }
            broadcast first(rank.begin({operation_kind::broadcast, root, bytes, 0}), cast.data(),
                            bytes, root);
            allgather second(rank.begin({operation_kind::allgather, -1, bytes, 0}), sent.data(),
                             gathered.data(), bytes);
            allreduce third(rank.begin({operation_kind::allreduce, -1, bytes, sizeof(uint32_t)}),
                            {sent.data(), sums.data(), bytes, sizeof(uint32_t), add});
            operation* open[] = {&third, &first, &second};
            base::backoff backoff;
            for (bool are_over = false; !are_over;) {
              are_over = true;
              for (operation*& each : open) {
                if (each == nullptr) continue;
                if (each->advance()) {
                  each->end();
                  each = nullptr;
                } else {
                  are_over = false;
                }
              }
              if (!are_over) backoff.idle();
            }
            for (size_t i = 0; i < count; i += 97) {
              const uint32_t at = round + static_cast<uint32_t>(i);
              ASSERT_EQ(cast[i], 1000 * static_cast<uint32_t>(root) + at);
              uint32_t sum = 0;
              for (uint32_t r = 0; r < ranks; ++r) {
                ASSERT_EQ(gathered[r * count + i], 1000 * r + at);
                sum += 1000 * r + at;
              }
              ASSERT_EQ(sums[i], sum);
            }
          }
        },
        reading::possible, choosing);
  }
}

}  // namespace
}  // namespace lci::coll
