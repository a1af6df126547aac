// Gather, scatter, scans, and the operations on blocks of different sizes: any number of ranks,
// blocking and not.
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/testing/ranks/collectives.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

using bytes = std::vector<unsigned char>;

void append(bytes* to, const bytes& more) { to->insert(to->end(), more.begin(), more.end()); }

class Blocks : public Collectives {};
INSTANTIATE_TEST_SUITE_P(OneToNineRanks, Blocks, testing::ValuesIn(one_to(9)));
INSTANTIATE_TEST_SUITE_P(SeventeenRanks, Blocks, testing::Values(std::pair<int, int>(17, 17)));

// In lines, in areas, in the ranks' own memory; as messages along trees and directly.
const size_t sizes[] = {0, 1, 96, 97, 1000, 2049, 8193, 100000};

TEST_P(Blocks, GatherAndScatter) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int rank = rank_of(runtime);
    for (const size_t size : sizes) {
      if (size > greatest_size()) continue;
      for (const int root : {0, n / 2, n - 1}) {
        const bool is_root = rank == root;
        const bytes own = make_message(rank, 3, size);
        bytes blocks;
        for (int r = 0; r < n; ++r) append(&blocks, make_message(r, 3, size));
        const size_t at = static_cast<size_t>(rank) * size;

        bytes gathered(is_root ? blocks.size() : 0);
        call(gather_x(own.data(), gathered.data(), size, root));
        ASSERT_EQ(gathered, is_root ? blocks : bytes()) << size << " bytes to " << root;
        bytes place(blocks.size());
        std::copy(own.begin(), own.end(), place.begin() + static_cast<std::ptrdiff_t>(at));
        call(gather_x(place.data() + at, is_root ? place.data() : nullptr, size, root));
        if (is_root) {
          ASSERT_EQ(place, blocks) << "in place";
        }

        bytes received(size);
        call(scatter_x(is_root ? blocks.data() : nullptr, received.data(), size, root));
        ASSERT_EQ(received, own) << size << " bytes from " << root;
        bytes kept = blocks;
        received.assign(size, 0);
        call(scatter_x(kept.data(), is_root ? kept.data() + at : received.data(), size, root));
        ASSERT_EQ(is_root ? kept : received, is_root ? blocks : own) << "in place";
      }
    }
  });
}

const size_t counts[] = {0, 1, 12, 13, 1000, 5000, 20000};

// The items of the ranks up to this one, and of those before it.
TEST_P(Blocks, Scans) {
  run([](runtime_t runtime, const auto& call) {
    const int rank = rank_of(runtime);
    for (const size_t count : counts) {
      if (count * sizeof(affine) > greatest_size()) continue;
      const auto own = items_of(rank, count);
      const auto inclusive = all_reduced(rank + 1, count);
      const auto exclusive = rank == 0 ? own : all_reduced(rank, count);

      std::vector<affine> out(count);
      call(scan_x(own.data(), out.data(), count, sizeof(affine), compose));
      ASSERT_EQ(out, inclusive) << count;
      out = own;
      call(exscan_x(own.data(), out.data(), count, sizeof(affine), compose));
      ASSERT_EQ(out, exclusive) << count;
      auto place = own;
      call(scan_x(place.data(), place.data(), count, sizeof(affine), compose));
      ASSERT_EQ(place, inclusive) << "in place";
      place = own;
      call(exscan_x(place.data(), place.data(), count, sizeof(affine), compose));
      ASSERT_EQ(place, exclusive) << "in place";
    }
  });
}

// Of rank r; some are 0, and one of three is larger.
size_t share_of(int rank, size_t unit) {
  return static_cast<size_t>((rank * 5 + 2) % 4) * unit + (rank % 3 == 1 ? 3 * unit : 0);
}

TEST_P(Blocks, ReduceScatterv) {
  run([](runtime_t runtime, const auto& call) {
    const auto n = static_cast<size_t>(size_of(runtime));
    const int rank = rank_of(runtime);
    for (const size_t unit : {size_t{0}, size_t{1}, size_t{50}, size_t{3000}}) {
      std::vector<size_t> shares;
      size_t all = 0;
      size_t begin = 0;
      for (size_t r = 0; r < n; ++r) {
        if (r == static_cast<size_t>(rank)) begin = all;
        shares.push_back(share_of(static_cast<int>(r), unit));
        all += shares.back();
      }
      if (all * sizeof(affine) > greatest_size()) continue;
      const size_t own = shares[static_cast<size_t>(rank)];
      const auto result = all_reduced(size_of(runtime), all);
      const auto first = result.begin() + static_cast<std::ptrdiff_t>(begin);
      const std::vector<affine> expected(first, first + static_cast<std::ptrdiff_t>(own));
      auto mine = items_of(rank, all);
      std::vector<affine> out(own);
      call(reduce_scatterv_x(mine.data(), out.data(), shares.data(), sizeof(affine), compose));
      ASSERT_EQ(out, expected) << unit;
      ASSERT_EQ(mine, items_of(rank, all));
      call(reduce_scatterv_x(mine.data(), mine.data() + begin, shares.data(), sizeof(affine),
                             compose));
      const auto place = mine.begin() + static_cast<std::ptrdiff_t>(begin);
      ASSERT_EQ(std::vector<affine>(place, place + static_cast<std::ptrdiff_t>(own)), expected)
          << "in place";
    }
  });
}

const size_t units[] = {0, 1, 30, 2000, 70000};

TEST_P(Blocks, Allgatherv) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int rank = rank_of(runtime);
    for (const size_t unit : units) {
      std::vector<size_t> lengths;
      std::vector<size_t> offsets;  // from the last rank to the first, with gaps
      bytes expected;
      for (int r = 0; r < n; ++r) {
        lengths.push_back(share_of(r, unit));
        append(&expected, make_message(r, 1, lengths.back()));
      }
      if (expected.size() > greatest_size()) continue;
      const bytes own = make_message(rank, 1, lengths[static_cast<size_t>(rank)]);
      bytes all(expected.size());
      call(allgatherv_x(own.data(), all.data(), lengths.data()));
      ASSERT_EQ(all, expected) << unit;

      size_t end = expected.size() + 10 * static_cast<size_t>(n);
      bytes spread(end, 0xee);
      bytes sparse(end, 0xee);
      for (int r = 0; r < n; ++r) {
        const bytes theirs = make_message(r, 1, lengths[static_cast<size_t>(r)]);
        end -= theirs.size() + 10;
        offsets.push_back(end);
        std::copy(theirs.begin(), theirs.end(), sparse.begin() + static_cast<std::ptrdiff_t>(end));
      }
      unsigned char* const place = spread.data() + offsets[static_cast<size_t>(rank)];
      std::copy(own.begin(), own.end(), place);
      call(allgatherv_x(place, spread.data(), lengths.data()).recvoffsets(offsets.data()));
      ASSERT_EQ(spread, sparse) << "in place, " << unit;
    }
  });
}

TEST_P(Blocks, Alltoallv) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int rank = rank_of(runtime);
    const auto length = [](int from, int to, size_t unit) { return share_of(from + 2 * to, unit); };
    const auto text = [&](int from, int to, size_t unit) {
      return make_message(from, static_cast<tag_t>(to), length(from, to, unit));
    };
    for (const size_t unit : units) {
      if (4 * unit * static_cast<size_t>(n) > greatest_size()) continue;
      std::vector<size_t> sent_sizes;
      std::vector<size_t> received_sizes;
      bytes sent;
      bytes expected;
      for (int r = 0; r < n; ++r) {
        append(&sent, text(rank, r, unit));
        append(&expected, text(r, rank, unit));
        sent_sizes.push_back(length(rank, r, unit));
        received_sizes.push_back(length(r, rank, unit));
      }
      bytes received(expected.size());
      call(alltoallv_x(sent.data(), sent_sizes.data(), received.data(), received_sizes.data()));
      ASSERT_EQ(received, expected) << unit;

      // From the last block to the first, in both buffers.
      std::vector<size_t> sent_offsets;
      std::vector<size_t> received_offsets;
      size_t sent_end = sent.size();
      size_t received_end = expected.size();
      for (int r = 0; r < n; ++r) {
        const bytes out = text(rank, r, unit);
        const bytes in = text(r, rank, unit);
        sent_offsets.push_back(sent_end -= out.size());
        received_offsets.push_back(received_end -= in.size());
        std::copy(out.begin(), out.end(), sent.begin() + static_cast<std::ptrdiff_t>(sent_end));
        std::copy(in.begin(), in.end(),
                  expected.begin() + static_cast<std::ptrdiff_t>(received_end));
      }
      received.assign(received.size(), 0);
      call(alltoallv_x(sent.data(), sent_sizes.data(), received.data(), received_sizes.data())
               .sendoffsets(sent_offsets.data())
               .recvoffsets(received_offsets.data()));
      ASSERT_EQ(received, expected) << "with offsets, " << unit;
    }
  });
}

TEST_P(Blocks, ReadyMadeOperators) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int rank = rank_of(runtime);
    for (const size_t count : {size_t{1}, size_t{100}, size_t{30000}}) {
      if (count * sizeof(double) > greatest_size()) continue;
      std::vector<double> own(count);
      std::vector<double> sums(count);
      for (size_t i = 0; i < count; ++i) own[i] = rank + 1.0;
      call(allreduce_x(own.data(), sums.data(), count, sizeof(double), reduce_sum<double>));
      ASSERT_EQ(sums, std::vector<double>(count, n * (n + 1) / 2.0));
      call(scan_x(own.data(), sums.data(), count, sizeof(double), reduce_max<double>));
      ASSERT_EQ(sums, own);
    }
    const uint32_t bit = uint32_t{1} << rank;
    uint32_t all = 0;
    call(allreduce_x(&bit, &all, 1, sizeof(bit), reduce_bit_or<uint32_t>));
    ASSERT_EQ(all, (uint32_t{1} << n) - 1);
  });
}

// Many operations of all kinds in parallel.
TEST_P(Blocks, ManyAreUnderWayAtATime) {
  run_job(ranks(), [](runtime_t runtime) {
    const auto many = less_if_simulated<size_t>(60, 6);
    const int n = size_of(runtime);
    const auto rank = static_cast<uint64_t>(rank_of(runtime));
    comp_t counter = alloc_counter_x().runtime(runtime)();
    std::vector<uint64_t> own(many);
    std::vector<uint64_t> scanned(many);
    std::vector<std::vector<uint64_t>> gathered(many, std::vector<uint64_t>(own.size()));
    for (size_t i = 0; i < many; ++i) {
      own[i] = rank + i;
      gathered[i].resize(static_cast<size_t>(n));
      scan_x(&own[i], &scanned[i], 1, sizeof(uint64_t), reduce_sum<uint64_t>)
          .comp(counter)
          .runtime(runtime)();
      gather_x(&own[i], gathered[i].data(), sizeof(uint64_t), 0).comp(counter).runtime(runtime)();
    }
    while (counter_get_x(counter).runtime(runtime)() < static_cast<int64_t>(2 * many)) {
      progress_x().runtime(runtime)();
    }
    for (size_t i = 0; i < many; ++i) {
      EXPECT_EQ(scanned[i], (rank + 1) * i + rank * (rank + 1) / 2);
      for (size_t r = 0; rank == 0 && r < gathered[i].size(); ++r) EXPECT_EQ(gathered[i][r], r + i);
    }
    free_comp_x{&counter}.runtime(runtime)();
  });
}

TEST(BlocksOnce, MistakesAreNamed) {
  run_job(1, [](runtime_t runtime) {
    uint64_t a = 0, b = 0;
    const size_t eight = 8;
    const size_t nine = 9;
    EXPECT_THROW(gather_x(&a, &b, 8, 1).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(gather_x(&a, nullptr, 8, 0).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(scatter_x(nullptr, &b, 8, 0).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(scatter_x(&a, &b, 8, -1).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(scan_x(&a, &b, 1, 8, nullptr).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(exscan_x(nullptr, &b, 1, 8, compose).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(reduce_scatterv_x(&a, &b, nullptr, 8, compose).runtime(runtime)(),
                 std::invalid_argument);
    EXPECT_THROW(allgatherv_x(&a, nullptr, &eight).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(allgatherv_x(&a, &b, nullptr).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(alltoallv_x(&a, nullptr, &b, &eight).runtime(runtime)(), std::invalid_argument);
    EXPECT_THROW(alltoallv_x(&a, &eight, &b, &nine).runtime(runtime)(), std::invalid_argument);
    barrier_x().runtime(runtime)();
  });
}

}  // namespace
}  // namespace lci
