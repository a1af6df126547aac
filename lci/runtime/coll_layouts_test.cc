// Collective operations on blocks with gaps.
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/collectives.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

using bytes = std::vector<unsigned char>;

class Layouts : public Collectives {};
INSTANTIATE_TEST_SUITE_P(OneToFiveRanks, Layouts, testing::ValuesIn(one_to(5)));

constexpr unsigned char gap = 0xee;

// A block: some pieces, at odd distances. Those of groups of one block are interleaved.
struct shape {
  size_t length;
  size_t count;
  size_t stride;
  size_t count2;
  size_t stride2;

  size_t size() const { return length * count * count2; }
  // Bytes from the first to behind the last.
  size_t extent() const {
    return size() == 0 ? 0 : (count - 1) * stride + (count2 - 1) * stride2 + length;
  }
  layout_t at(size_t offset) const { return {offset, length, count, stride, count2, stride2}; }
};

// In lines, in areas, and in the ranks' own memory; eager, and by rendezvous. All blocks of a row
// have one size.
const std::vector<std::vector<shape>> shapes = {
    {{0, 3, 7, 1, 0}, {5, 0, 9, 2, 11}, {0, 1, 0, 1, 0}},
    {{1, 6, 5, 1, 0}, {3, 2, 3, 1, 0}, {1, 2, 13, 3, 3}, {6, 1, 0, 1, 0}},
    {{8, 13, 21, 9, 277}, {8, 9, 117, 13, 9}, {104, 9, 105, 1, 0}, {936, 1, 0, 1, 0}},
    {{16, 5, 17, 37, 101}, {80, 37, 81, 1, 0}, {4, 20, 149, 37, 4}},
    {{100, 300, 101, 1, 0}, {8, 75, 403, 50, 8}, {30000, 1, 0, 1, 0}},
};

// The layouts of the blocks of all ranks, one behind the other with gaps.
std::vector<layout_t> spread(const shape& each, int ranks) {
  std::vector<layout_t> made;
  for (size_t r = 0; r < static_cast<size_t>(ranks); ++r) {
    made.push_back(each.at(3 + r * (each.extent() + 5)));
  }
  return made;
}
size_t room(const shape& each, int ranks) {
  return 3 + static_cast<size_t>(ranks) * (each.extent() + 5);
}

// Writes the bytes of a block to their places.
void place(const layout_t& layout, const bytes& block, bytes* to) {
  ASSERT_EQ(block.size(), layout.size());
  auto next = block.begin();
  for (size_t j = 0; j < layout.count2; ++j) {
    for (size_t i = 0; i < layout.count; ++i) {
      for (size_t k = 0; k < layout.length; ++k) {
        (*to)[layout.offset + i * layout.stride + j * layout.stride2 + k] = *next++;
      }
    }
  }
}

// block(r): the block of rank r.
template <class Block>
bytes placed(const shape& each, int ranks, const Block& block) {
  bytes made(room(each, ranks), gap);
  const std::vector<layout_t> layouts = spread(each, ranks);
  for (int r = 0; r < ranks; ++r) place(layouts[static_cast<size_t>(r)], block(r), &made);
  return made;
}

// body(sent, received, same): a shape for the blocks that this rank sends, and one for those that
// it receives, both of one size. Different from rank to rank.
template <class Body>
void for_shapes(int rank, const Body& body) {
  for (const std::vector<shape>& row : shapes) {
    if (row.front().size() > greatest_size()) continue;
    for (size_t i = 0; i < row.size(); ++i) {
      const auto shift = static_cast<size_t>(rank);
      const shape& sent = row[(i + shift) % row.size()];
      const shape& received = row[(2 * i + 1 + shift) % row.size()];
      SCOPED_TRACE(testing::Message() << "pieces of " << sent.length << " to pieces of "
                                      << received.length << " bytes, rank " << rank);
      body(sent, received);
    }
  }
}

TEST_P(Layouts, Alltoall) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int me = rank_of(runtime);
    for_shapes(me, [&](const shape& out, const shape& in) {
      const size_t size = out.size();
      const auto block = [size](int from, int to) {
        return make_message(from, static_cast<tag_t>(to), size);
      };
      const bytes sent = placed(out, n, [&](int r) { return block(me, r); });
      const bytes expected = placed(in, n, [&](int r) { return block(r, me); });
      const auto out_layouts = spread(out, n);
      const auto in_layouts = spread(in, n);
      bytes received(room(in, n), gap);
      call(alltoall_x(sent.data(), received.data(), size)
               .sendlayouts(out_layouts.data())
               .recvlayouts(in_layouts.data()));
      ASSERT_EQ(received, expected);
      const std::vector<size_t> sizes(static_cast<size_t>(n), size);
      received.assign(received.size(), gap);
      call(alltoallv_x(sent.data(), sizes.data(), received.data(), sizes.data())
               .sendlayouts(out_layouts.data())
               .recvlayouts(in_layouts.data()));
      ASSERT_EQ(received, expected);
      // One side of some ranks alone has gaps.
      bytes whole;
      for (int r = 0; r < n; ++r) {
        const bytes each = block(me, r);
        whole.insert(whole.end(), each.begin(), each.end());
      }
      received.assign(received.size(), gap);
      alltoall_x some(me % 2 == 0 ? whole.data() : sent.data(), received.data(), size);
      some.recvlayouts(in_layouts.data());
      call(me % 2 == 0 ? some : alltoall_x(some).sendlayouts(out_layouts.data()));
      ASSERT_EQ(received, expected);
    });
  });
}

TEST_P(Layouts, BlocksOfDifferentSizes) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int me = rank_of(runtime);
    // From rank `from` to rank `to`, in pieces of 7 and of 3 bytes.
    const size_t unit = greatest_size() < 10000 ? 4 : 40;
    const auto units = [unit](int from, int to) {
      return static_cast<size_t>((3 * from + to) % 5) * unit;
    };
    const auto block = [&](int from, int to) {
      return make_message(from, static_cast<tag_t>(to), 21 * units(from, to));
    };
    std::vector<size_t> out_sizes, in_sizes, all_sizes;
    std::vector<layout_t> out_layouts, in_layouts, all_layouts;
    size_t out_end = 0, in_end = 0, all_end = 0;
    for (int r = 0; r < n; ++r) {
      out_sizes.push_back(21 * units(me, r));
      out_layouts.push_back({out_end, 7, 3 * units(me, r), 9, 1, 0});
      out_end += 27 * units(me, r);
      in_sizes.push_back(21 * units(r, me));
      in_layouts.push_back({in_end, 3, 7, 4, units(r, me), 29});
      in_end += 29 * units(r, me);
      all_sizes.push_back(21 * units(r, 0));
      all_layouts.push_back({all_end, 3, 7, 4, units(r, 0), 29});
      all_end += 29 * units(r, 0);
    }
    bytes sent(out_end, gap), expected(in_end, gap), received(in_end, gap);
    bytes expected_of_all(all_end, gap), gathered(all_end, gap);
    for (int r = 0; r < n; ++r) {
      const auto i = static_cast<size_t>(r);
      place(out_layouts[i], block(me, r), &sent);
      place(in_layouts[i], block(r, me), &expected);
      place(all_layouts[i], block(r, 0), &expected_of_all);
    }
    call(alltoallv_x(sent.data(), out_sizes.data(), received.data(), in_sizes.data())
             .sendlayouts(out_layouts.data())
             .recvlayouts(in_layouts.data()));
    ASSERT_EQ(received, expected);
    // The block for rank 0 is the one that each rank contributes.
    call(allgatherv_x(sent.data(), gathered.data(), all_sizes.data())
             .sendlayout(out_layouts.data())
             .recvlayouts(all_layouts.data()));
    ASSERT_EQ(gathered, expected_of_all);
  });
}

TEST_P(Layouts, GatherScatterAndAllgather) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int me = rank_of(runtime);
    for_shapes(me, [&](const shape& one, const shape& many) {
      const size_t size = one.size();
      const auto block = [size](int r) { return make_message(r, 5, size); };
      bytes own(room(one, 1), gap);
      const layout_t layout = one.at(2);
      place(layout, block(me), &own);
      const bytes all = placed(many, n, block);
      const auto layouts = spread(many, n);
      for (const int root : {0, n - 1}) {
        const bool is_root = me == root;
        bytes gathered(room(many, n), gap);
        call(gather_x(own.data(), gathered.data(), size, root)
                 .sendlayout(&layout)
                 .recvlayouts(is_root ? layouts.data() : nullptr));
        ASSERT_EQ(gathered, is_root ? all : bytes(all.size(), gap));
        bytes mine(own.size(), gap);
        call(scatter_x(is_root ? all.data() : nullptr, mine.data(), size, root)
                 .sendlayouts(is_root ? layouts.data() : nullptr)
                 .recvlayout(&layout));
        ASSERT_EQ(mine, own);
      }
      bytes gathered(room(many, n), gap);
      call(allgather_x(own.data(), gathered.data(), size)
               .sendlayout(&layout)
               .recvlayouts(layouts.data()));
      ASSERT_EQ(gathered, all);
    });
  });
}

TEST_P(Layouts, Broadcast) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int me = rank_of(runtime);
    for_shapes(me, [&](const shape& one, const shape&) {
      const layout_t layout = one.at(1);
      for (const auto algorithm : {broadcast_algorithm_t::none, broadcast_algorithm_t::tree,
                                   broadcast_algorithm_t::ring}) {
        const int root = n / 2;
        bytes expected(room(one, 1), gap);
        place(layout, make_message(root, 2, one.size()), &expected);
        bytes buffer = me == root ? expected : bytes(expected.size(), gap);
        call(broadcast_x(buffer.data(), one.size(), root).layout(&layout).algorithm(algorithm));
        ASSERT_EQ(buffer, expected);
      }
    });
  });
}

// Blocks that stand one behind the other are used where they are: a large one is not copied.
TEST_P(Layouts, WithoutGapsTheyMayBeAnywhere) {
  run([](runtime_t runtime, const auto& call) {
    const int n = size_of(runtime);
    const int me = rank_of(runtime);
    constexpr size_t size = 600;
    std::vector<layout_t> layouts;
    for (size_t r = 0; r < static_cast<size_t>(n); ++r) {
      layouts.push_back({40 + r * size, 20, 10, 20, 3, 200});
    }
    bytes expected(40 + size * static_cast<size_t>(n), gap);
    for (int r = 0; r < n; ++r) {
      place(layouts[static_cast<size_t>(r)], make_message(r, 1, size), &expected);
    }
    const bytes own = make_message(me, 1, size);
    bytes all(expected.size(), gap);
    call(allgather_x(own.data(), all.data(), size).recvlayouts(layouts.data()));
    ASSERT_EQ(all, expected);
  });
}

// Each rank has some rows of a square matrix, and gets some columns of it as rows.
TEST_P(Layouts, AMatrixIsTransposed) {
  run([](runtime_t runtime, const auto& call) {
    const auto n = static_cast<size_t>(size_of(runtime));
    const auto me = static_cast<size_t>(rank_of(runtime));
    for (const size_t rows : {size_t{1}, size_t{3}, size_t{40}}) {
      const size_t order = rows * n;
      if (rows * order * sizeof(double) > greatest_size()) continue;
      std::vector<double> matrix(rows * order), result(rows * order), expected(rows * order);
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < order; ++j) {
          const size_t row = me * rows + i;
          matrix[i * order + j] = static_cast<double>(row * order + j);
          expected[i * order + j] = static_cast<double>(j * order + row);
        }
      }
      const size_t row = order * sizeof(double);
      const size_t part = rows * sizeof(double);
      std::vector<layout_t> columns, transposed;
      for (size_t r = 0; r < n; ++r) {
        columns.push_back({r * part, part, rows, row, 1, 0});
        transposed.push_back({r * part, sizeof(double), rows, row, rows, sizeof(double)});
      }
      call(alltoall_x(matrix.data(), result.data(), rows * part)
               .sendlayouts(columns.data())
               .recvlayouts(transposed.data()));
      ASSERT_EQ(result, expected) << rows << " rows of each rank";
    }
  });
}

// The layouts are the program's again when the call returns, and each start packs anew.
TEST_P(Layouts, PersistentCollectivesHaveThem) {
  run_job(ranks(), [](runtime_t runtime) {
    const int n = size_of(runtime);
    const int me = rank_of(runtime);
    comp_t sync = alloc_sync_x().runtime(runtime)();
    for (const bool blocks : {true, false}) {
      for (const auto algorithm : {broadcast_algorithm_t::none, broadcast_algorithm_t::tree}) {
        const shape one = {3, 400, 5, 1, 0};
        if (one.size() * static_cast<size_t>(n) > greatest_size()) continue;
        auto layouts = spread(one, n);
        layout_t layout = one.at(0);
        bytes own(one.extent(), gap), all(room(one, n), gap);
        allgather_x gather(own.data(), all.data(), one.size());
        gather.sendlayout(&layout).recvlayouts(layouts.data()).runtime(runtime);
        broadcast_x cast(own.data(), one.size(), n - 1);
        cast.layout(&layout).algorithm(algorithm).runtime(runtime);
        if (!blocks) {
          gather.comp(sync);
          cast.comp(sync);
        }
        persistent_coll_t recorded[] = {alloc_persistent_coll(gather), alloc_persistent_coll(cast)};
        layout = layout_t();
        layouts.assign(layouts.size(), layout_t());
        const auto start = [&](persistent_coll_t each) {
          persistent_coll_start(each);
          if (blocks) return;
          status_t status;
          sync_wait_x(sync, &status).runtime(runtime)();
          ASSERT_TRUE(status.is_done());
        };
        for (tag_t round = 0; round < 3; ++round) {
          const auto block = [&](int r) { return make_message(r, round, one.size()); };
          place(one.at(0), block(me), &own);
          start(recorded[0]);
          ASSERT_EQ(all, placed(one, n, block));
          start(recorded[1]);
          bytes expected(own.size(), gap);
          place(one.at(0), block(n - 1), &expected);
          ASSERT_EQ(own, expected);
        }
        for (persistent_coll_t& each : recorded) free_persistent_coll(&each);
      }
    }
    free_comp_x{&sync}.runtime(runtime)();
  });
}

TEST(LayoutMistakes, AreNamed) {
  run_job(1, [](runtime_t runtime) {
    unsigned char in[64], out[64] = {};
    const size_t size = 8;
    const size_t offset = 0;
    const auto received = [&](layout_t layout) {
      return error_of<std::invalid_argument>(
          [&] { alltoall_x(out, in, layout.size()).recvlayouts(&layout).runtime(runtime)(); });
    };
    EXPECT_EQ(received({0, 4, 2, 4, 1, 0}), "");
    EXPECT_EQ(received({0, 1, 4, 8, 8, 1}), "");
    // Groups that are farther apart than the pieces of a group, and nearer.
    EXPECT_EQ(received({0, 2, 3, 5, 2, 2}), "");
    EXPECT_HAS(received({0, 4, 2, 3, 1, 0}),
               "alltoall: recvlayouts[0] has pieces that overlap: 2 of 4 bytes with stride 3");
    EXPECT_HAS(received({0, 4, 2, 0, 1, 0}), "overlap");
    EXPECT_HAS(received({0, 4, 1, 0, 2, 0}), "overlap");
    EXPECT_HAS(received({0, 2, 3, 4, 2, 3}), "overlap");   // pieces at 4 and 3
    EXPECT_HAS(received({0, 2, 2, 3, 3, 2}), "overlap");   // at 3 and 2
    EXPECT_HAS(received({0, 2, 2, 12, 3, 5}), "");         // 0 5 10 12 17 22
    EXPECT_HAS(received({0, 3, 2, 12, 3, 5}), "overlap");  // at 10 and 12
    // The send buffer may be read twice.
    const layout_t twice{0, 4, 2, 0, 1, 0};
    out[0] = 7;
    EXPECT_EQ(error_of<std::invalid_argument>([&] {
                broadcast_x(out, size, 0).layout(&twice).runtime(runtime)();
                gather_x(out, in, size, 0).sendlayout(&twice).runtime(runtime)();
              }),
              "");
    EXPECT_EQ(in[0], 7);
    EXPECT_EQ(in[4], 7);
    const layout_t seven{0, 7, 1, 0, 1, 0};
    EXPECT_HAS(error_of<std::invalid_argument>(
                   [&] { gather_x(out, in, size, 0).sendlayout(&seven).runtime(runtime)(); }),
               "gather: sendlayout has 7 bytes, and its block 8");
    EXPECT_HAS(error_of<std::invalid_argument>(
                   [&] { scatter_x(out, in, size, 0).sendlayouts(&seven).runtime(runtime)(); }),
               "scatter: sendlayouts[0] has 7 bytes, and its block 8");
    const layout_t huge{0, 8, size_t{1} << 61, 8, 1, 0};
    EXPECT_HAS(error_of<std::invalid_argument>(
                   [&] { broadcast_x(out, 0, 0).layout(&huge).runtime(runtime)(); }),
               "broadcast: layout exceeds the address space");
    EXPECT_HAS(error_of<std::invalid_argument>([&] {
                 alltoallv_x(out, &size, in, &size)
                     .sendlayouts(&twice)
                     .sendoffsets(&offset)
                     .runtime(runtime)();
               }),
               "alltoallv: sendlayouts and sendoffsets are both given");
    EXPECT_HAS(
        error_of<std::invalid_argument>([&] {
          allgatherv_x(out, in, &size).recvlayouts(&twice).recvoffsets(&offset).runtime(runtime)();
        }),
        "allgatherv: recvlayouts and recvoffsets are both given");
    thread_team_t team = alloc_thread_team_x(1).runtime(runtime)();
    EXPECT_HAS(error_of<std::invalid_argument>([&] {
                 broadcast_x(out, size, 0).layout(&twice).thread_team(team).runtime(runtime)();
               }),
               "broadcast: the option layout is given together with a thread team");
    free_thread_team_x(&team).runtime(runtime)();
    barrier_x().runtime(runtime)();
  });
}

}  // namespace
}  // namespace lci
