// Information that ranks exchange through the arena: the ranks that share memory, and calls that
// differ.
#include "lci/coll/arena.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/coll/operations.h"
#include "lci/testing/arena_ranks/arena_ranks.h"

namespace lci::coll {
namespace {

// The message of the std::runtime_error that run() throws; empty: none.
template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Signature, TextsNameWhatWasCalled) {
  EXPECT_EQ(to_text({operation_kind::barrier}), "barrier");
  EXPECT_EQ(to_text({operation_kind::broadcast, 1, 80000}), "broadcast of 80000 bytes from rank 1");
  EXPECT_EQ(to_text({operation_kind::reduce, 2, 80, 8}),
            "reduce of 80 bytes in items of 8 bytes to rank 2");
  EXPECT_EQ(to_text({operation_kind::alltoall, -1, 64}), "alltoall of 64 bytes");
  EXPECT_EQ(to_text({operation_kind::finalization}), "free_runtime");
  EXPECT_EQ(to_text({operation_kind::gather, 2, 80}), "gather of 80 bytes to rank 2");
  EXPECT_EQ(to_text({operation_kind::scatter, 2, 80}), "scatter of 80 bytes from rank 2");
  EXPECT_EQ(to_text({operation_kind::alltoallv}), "alltoallv");
  const size_t sizes[] = {30, 50};
  EXPECT_NE(to_text({operation_kind::allgatherv, -1, 80, 0, hash_of(sizes, 2)})
                .find("allgatherv of 80 bytes in all (hash of the ranks' sizes: "),
            std::string::npos);
}

TEST(Signature, NamesTellOperationsOfGroups) {
  EXPECT_STREQ(name_in_group(operation_kind::barrier), "barrier of a group");
  EXPECT_STREQ(name_in_group(operation_kind::free_group), "free_group of a group");
}

TEST(Signature, EveryFieldChangesTheHash) {
  const signature one{operation_kind::reduce, 2, 80, 8};
  const uint64_t hash = extend_hash(7, one);
  EXPECT_EQ(hash, extend_hash(7, one));
  EXPECT_NE(hash, extend_hash(8, one));
  EXPECT_NE(hash, extend_hash(7, {operation_kind::broadcast, 2, 80, 8}));
  EXPECT_NE(hash, extend_hash(7, {operation_kind::reduce, 1, 80, 8}));
  EXPECT_NE(hash, extend_hash(7, {operation_kind::reduce, 2, 81, 8}));
  EXPECT_NE(hash, extend_hash(7, {operation_kind::reduce, 2, 80, 4}));
  EXPECT_NE(hash, extend_hash(7, {operation_kind::reduce, 2, 80, 8, 1}));
}

TEST(Signature, TheSizesOfAllBlocksChangeTheHash) {
  const size_t sizes[] = {30, 50, 0};
  const size_t others[] = {50, 30, 0};
  EXPECT_EQ(hash_of(sizes, 3), hash_of(sizes, 3));
  EXPECT_NE(hash_of(sizes, 3), hash_of(sizes, 2));
  EXPECT_NE(hash_of(sizes, 3), hash_of(others, 3));
  EXPECT_NE(hash_of(sizes, 0), 0U);
}

TEST(Arena, AllRanksCanDoWhatTheLeastOfThemCan) {
  run_ranks(3, [](test_rank& rank) {
    EXPECT_EQ(rank.own_arena().joined(), arena::join_state::readable);
  });
  run_ranks(
      3, [](test_rank& rank) { EXPECT_EQ(rank.own_arena().joined(), arena::join_state::mapped); },
      reading::impossible);

  std::vector<unsigned char> memory(2 * arena::block_bytes() + 128);
  auto* first = memory.data() + 128 - reinterpret_cast<uintptr_t>(memory.data()) % 128;
  void* second = first + arena::block_bytes();
  arena blind(0, {first, nullptr}, {}, default_sizes);
  // The other rank has not made its arena, and rank 0 cannot see that.
  EXPECT_EQ(blind.joined(), arena::join_state::failed);
  arena seeing(1, {first, second}, {}, default_sizes);
  EXPECT_EQ(seeing.joined(), arena::join_state::failed);
}

// Its operations go by messages.
TEST(Arena, ARankWithoutMemoryOfItsOwnComparesNothing) {
  std::vector<unsigned char> memory(arena::block_bytes() + 128);
  auto* first = memory.data() + 128 - reinterpret_cast<uintptr_t>(memory.data()) % 128;
  arena other(0, {first, nullptr}, {}, default_sizes);
  arena without(1, {first, nullptr}, {}, default_sizes);
  EXPECT_EQ(without.joined(), arena::join_state::failed);
  without.begin(1, {operation_kind::barrier});
  EXPECT_EQ(error_of([&without] { without.check_agreement(1); }), "");
}

TEST(Arena, ARankThatHasNotMadeItsArenaIsWaitedFor) {
  std::vector<unsigned char> memory(2 * arena::block_bytes() + 128);
  auto* first = memory.data() + 128 - reinterpret_cast<uintptr_t>(memory.data()) % 128;
  void* second = first + arena::block_bytes();
  arena early(0, {first, second}, {}, default_sizes);
  EXPECT_EQ(early.joined(), arena::join_state::unknown);
  EXPECT_EQ(early.missing(), 1);
  arena late(1, {first, second}, {}, default_sizes);
  EXPECT_EQ(early.joined(), arena::join_state::mapped);
  EXPECT_EQ(early.missing(), -1);
}

// Both ranks learn of it, by the operation and by its number.
TEST(Arena, DifferentOperationsAreAnError) {
  run_ranks(2, [](test_rank& rank) {
    barrier common(rank.begin({operation_kind::barrier}));
    test_rank::run(&common);
    const std::string error = error_of([&rank] {
      if (rank.rank() == 0) {
        barrier each(rank.begin({operation_kind::barrier}));
        test_rank::run(&each);
      } else {
        char byte = 0;
        broadcast each(rank.begin({operation_kind::broadcast, 0, 1}), &byte, 1, 0);
        test_rank::run(&each);
      }
    });
    EXPECT_NE(error.find("as number 2, rank "), std::string::npos) << error;
    EXPECT_NE(error.find("rank 0 calls barrier"), std::string::npos) << error;
    EXPECT_NE(error.find("rank 1 calls broadcast of 1 bytes from rank 0"), std::string::npos)
        << error;
  });
}

// Each rank waits for the other one, and neither publishes anything.
TEST(Arena, RanksThatWaitForEachOtherAsRootAreAnError) {
  run_ranks(2, [](test_rank& rank) {
    const std::string error = error_of([&rank] {
      char byte = 0;
      const int root = 1 - rank.rank();
      broadcast each(rank.begin({operation_kind::broadcast, root, 1}), &byte, 1, root);
      test_rank::run(&each);
    });
    EXPECT_NE(error.find("rank 0 calls broadcast of 1 bytes from rank 1"), std::string::npos)
        << error;
    EXPECT_NE(error.find("rank 1 calls broadcast of 1 bytes from rank 0"), std::string::npos)
        << error;
  });
}

// Two roots need no other rank: the next operation names the one before.
TEST(Arena, TwoRootsAreAnErrorOfTheNextOperation) {
  run_ranks(2, [](test_rank& rank) {
    char byte = 0;
    broadcast each(rank.begin({operation_kind::broadcast, rank.rank(), 1}), &byte, 1, rank.rank());
    test_rank::run(&each);
    const std::string error = error_of([&rank] {
      barrier next(rank.begin({operation_kind::barrier}));
      test_rank::run(&next);
    });
    EXPECT_NE(error.find("as number 1, rank "), std::string::npos) << error;
    EXPECT_NE(error.find("rank 1 calls broadcast of 1 bytes from rank 1"), std::string::npos)
        << error;
  });
}

TEST(Arena, DifferentSizesAreAnError) {
  run_ranks(3, [](test_rank& rank) {
    const std::string error = error_of([&rank] {
      // More than the root could leave behind.
      const size_t bytes = rank.rank() == 2 ? 800000 : 400000;
      std::vector<char> buffer(bytes);
      broadcast each(rank.begin({operation_kind::broadcast, 0, bytes}), buffer.data(), bytes, 0);
      test_rank::run(&each);
    });
    if (rank.rank() == 1) return;  // rank 1 may have heard that rank 2 broke off
    EXPECT_NE(error.find("rank 2 calls broadcast of 800000 bytes"), std::string::npos) << error;
  });
}

// A rank that has broken off an operation calls what it likes next, while the others may have
// finished that operation.
TEST(Arena, ALossIsNoDisagreementOnWhatFollows) {
  test_ranks ranks(2);
  ranks[0].begin({operation_kind::broadcast, 0, 5});
  ranks[1].begin({operation_kind::broadcast, 0, 5});
  ranks[0].own_arena().break_off(1, /*lost=*/7);
  ranks[0].begin({operation_kind::finalization});
  ranks[1].begin({operation_kind::allgather, -1, 5});
  for (int r = 0; r < 2; ++r) {
    try {
      ranks[r].own_arena().check_agreement(2);
      ADD_FAILURE() << "no error";
    } catch (const peer_failure_error& error) {
      EXPECT_EQ(error.failed_rank(), 7);
    }
  }
  for (uint64_t number : {1, 2}) {
    ranks[0].own_arena().finish(number);
    ranks[1].own_arena().finish(number);
  }
}

// Of a group, the ranks have other names.
TEST(Arena, ErrorsNameTheRanks) {
  std::vector<unsigned char> memory(2 * arena::block_bytes() + 128);
  auto* first = memory.data() + 128 - reinterpret_cast<uintptr_t>(memory.data()) % 128;
  void* second = first + arena::block_bytes();
  arena low(0, {first, second}, {}, default_sizes, {12, 17});
  arena high(1, {first, second}, {}, default_sizes, {12, 17});
  low.begin(1, {operation_kind::barrier});
  high.begin(1, {operation_kind::broadcast, 1, 5});
  const std::string error = error_of([&low] { low.check_agreement(1); });
  EXPECT_NE(error.find("rank 12 calls barrier"), std::string::npos) << error;
  EXPECT_NE(error.find("rank 17 calls broadcast of 5 bytes from rank 1"), std::string::npos)
      << error;
  low.finish(1);
  high.finish(1);
}

// Lines are free again when all operations up to theirs have finished, as published by the ranks in
// any order, also over more operations than there are lines.
TEST(Arena, OperationsFinishInAnyOrder) {
  const auto published = [](uint64_t number) {
    return number / arena::publish_interval * arena::publish_interval;
  };
  run_ranks(1, [&published](test_rank& rank) {
    arena& own = rank.own_arena();
    uint64_t first = 1;
    for (const uint64_t count : {uint64_t{3}, arena::lines, uint64_t{200}, uint64_t{5}}) {
      for (uint64_t i = 0; i < count; ++i) rank.begin({operation_kind::barrier});
      const uint64_t last = first + count - 1;
      const uint64_t middle = first + count / 2;
      for (uint64_t each = last; each > first; --each) {
        if (each != middle) own.finish(each);
      }
      EXPECT_FALSE(own.is_line_free(first + arena::lines));
      own.finish(first);
      EXPECT_TRUE(own.is_line_free(published(middle - 1) + arena::lines));
      EXPECT_FALSE(own.is_line_free(middle + arena::lines));
      own.finish(middle);
      EXPECT_TRUE(own.is_line_free(published(last) + arena::lines));
      EXPECT_FALSE(own.is_line_free(last + 1 + arena::lines));
      first = last + 1;
    }
  });
}

// A rank that gives up is not waited for.
TEST(Arena, AnOperationThatWasBrokenOffEndsOnAllRanks) {
  run_ranks(3, [](test_rank& rank) {
    if (rank.rank() == 1) {
      barrier given_up(rank.begin({operation_kind::barrier}));
      return;
    }
    const std::string error = error_of([&rank] {
      barrier each(rank.begin({operation_kind::barrier}));
      test_rank::run(&each);
    });
    EXPECT_NE(error.find("broke off collective operation 1"), std::string::npos) << error;
  });
}

TEST(Arena, TheLossOfARankIsNamedByWhoGaveUp) {
  run_ranks(3, [](test_rank& rank) {
    // Rank 2 is lost, and rank 1 finds it.
    if (rank.rank() == 2) return;
    barrier each(rank.begin({operation_kind::barrier}));
    if (rank.rank() == 1) {
      each.give_up(2);
      return;
    }
    try {
      test_rank::run(&each);
      ADD_FAILURE() << "no error";
    } catch (const peer_failure_error& error) {
      EXPECT_EQ(error.failed_rank(), 2);
    }
  });
}

}  // namespace
}  // namespace lci::coll
