// Failures that end starts of persistent collectives, and calls that persistent collectives refuse.
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/observe/rank_report.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

// In shared memory, and by messages.
const broadcast_algorithm_t both_ways[] = {broadcast_algorithm_t::none,
                                           broadcast_algorithm_t::tree};

TEST(PersistentCollFailures, WrongArgumentsAreRefusedWhenItIsRecorded) {
  run_job(2, [](runtime_t runtime) {
    const auto refused = [runtime](auto op) {
      const std::string error = error_of<std::invalid_argument>(
          [&] { static_cast<void>(alloc_persistent_coll(op.runtime(runtime))); });
      EXPECT_EQ(runtime.p_impl->left_over(), "");
      return error;
    };
    uint64_t value = 0;
    EXPECT_HAS(refused(broadcast_x(&value, 8, 2)), "broadcast: root is 2, not 0 to 1");
    EXPECT_HAS(refused(allgather_x(nullptr, &value, 8)), "allgather: sendbuf is null");
    EXPECT_HAS(refused(allreduce_x(&value, &value, 1, 8, nullptr)), "op is null");
    EXPECT_HAS(refused(barrier_x().comp(COMP_NULL_RETRY)), "comp is COMP_NULL_RETRY");
    comp_t freed = alloc_cq_x().runtime(runtime)();
    const comp_t copy = freed;
    free_comp_x{&freed}.runtime(runtime)();
    EXPECT_HAS(refused(barrier_x().comp(copy)), "the completion object has been freed");
    // They have taken no number.
    barrier_x().runtime(runtime)();
  });
}

TEST(PersistentCollFailures, HandlesAreChecked) {
  run_job(2, [](runtime_t runtime) {
    persistent_coll_t none;
    EXPECT_THROW(persistent_coll_start(none), std::invalid_argument);
    EXPECT_THROW(free_persistent_coll(&none), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(none.get_attr_name()), std::invalid_argument);

    int context = 0;
    persistent_coll_t recorded = alloc_persistent_coll_x(barrier_x().runtime(runtime))
                                     .name("my barrier")
                                     .user_context(&context)();
    EXPECT_STREQ(recorded.get_attr_name(), "my barrier");
    EXPECT_EQ(recorded.get_attr_user_context(), &context);
    EXPECT_EQ(runtime.p_impl->left_over(), "1 persistent collective");
    const persistent_coll_t copy = recorded;
    free_persistent_coll(&recorded);
    EXPECT_EQ(runtime.p_impl->left_over(), "");
    EXPECT_HAS(error_of<std::invalid_argument>([&] { persistent_coll_start(copy); }),
               "persistent_coll_start: the persistent collective has been freed");
  });
}

TEST(PersistentCollFailures, WhatItUsesMustNotBeFreedBefore) {
  run_job(2, [](runtime_t runtime) {
    comp_t queue = alloc_cq_x().runtime(runtime)();
    persistent_coll_t with_comp = alloc_persistent_coll(barrier_x().comp(queue).runtime(runtime));
    free_comp_x{&queue}.runtime(runtime)();
    EXPECT_HAS(error_of<std::invalid_argument>([&] { persistent_coll_start(with_comp); }),
               "the completion object has been freed");
    free_persistent_coll(&with_comp);

    device_t device = alloc_device_x().runtime(runtime)();
    persistent_coll_t on_device =
        alloc_persistent_coll(barrier_x().device(device).runtime(runtime));
    persistent_coll_start(on_device);
    wait_drained_x().runtime(runtime).device(device)();
    barrier_x().runtime(runtime)();
    free_device_x{&device}.runtime(runtime)();
    EXPECT_THROW(persistent_coll_start(on_device), std::invalid_argument);
    free_persistent_coll(&on_device);

    matching_engine_t engine = alloc_matching_engine_x().runtime(runtime)();
    persistent_coll_t on_engine =
        alloc_persistent_coll(barrier_x().matching_engine(engine).runtime(runtime));
    barrier_x().runtime(runtime)();  // the other rank has the engine, too
    persistent_coll_start(on_engine);
    wait_drained_x().runtime(runtime)();
    barrier_x().runtime(runtime)();
    free_matching_engine_x{&engine}.runtime(runtime)();
    EXPECT_HAS(error_of<std::invalid_argument>([&] { persistent_coll_start(on_engine); }),
               "matching engine has been freed");
    free_persistent_coll(&on_engine);

    group_t group = split_group_x(0, rank_of(runtime)).runtime(runtime)();
    persistent_coll_t of_group = alloc_persistent_coll(barrier_x().group(group).runtime(runtime));
    EXPECT_HAS(error_of<std::logic_error>([&] { free_group_x{&group}.runtime(runtime)(); }),
               "1 persistent collectives of group");
    free_persistent_coll(&of_group);
    free_group_x{&group}.runtime(runtime)();
  });
}

TEST(PersistentCollFailures, OneInProgressIsNeitherStartedNorFreed) {
  run_job(2, [](runtime_t runtime) {
    comp_t queue = alloc_cq_x().runtime(runtime)();
    for (const auto algorithm : both_ways) {
      uint64_t value = 0;
      const int root = 0;
      persistent_coll_t recorded =
          alloc_persistent_coll_x(
              broadcast_x(&value, 8, root).algorithm(algorithm).comp(queue).runtime(runtime))
              .name("mine")();
      for (int round = 0; round < 3; ++round) {
        if (rank_of(runtime) != root) {
          // Its root starts it after the barrier.
          persistent_coll_start(recorded);
          EXPECT_HAS(error_of<std::logic_error>([&] { persistent_coll_start(recorded); }),
                     "persistent collective \"mine\" (broadcast) is in progress");
          EXPECT_HAS(error_of<std::logic_error>([&] { free_persistent_coll(&recorded); }),
                     "persistent collective \"mine\" (broadcast) is in progress");
          EXPECT_FALSE(recorded.is_empty());
          static_cast<void>(
              accepted(post_send_x(root, &value, 0, 1, COMP_NULL_RETRY).runtime(runtime)));
        } else {
          comp_t sync = alloc_sync_x().runtime(runtime)();
          char byte = 0;
          const status_t posted = post_recv_x(1, &byte, 0, 1, sync).runtime(runtime)();
          if (posted.is_posted()) sync_wait_x(sync, nullptr).runtime(runtime)();
          free_comp_x{&sync}.runtime(runtime)();
          value = static_cast<uint64_t>(round + 5);
          persistent_coll_start(recorded);
        }
        EXPECT_TRUE(pop_from(runtime, queue).is_done());
        EXPECT_EQ(value, static_cast<uint64_t>(round + 5));
      }
      free_persistent_coll(&recorded);
    }
    free_comp_x{&queue}.runtime(runtime)();
  });
}

TEST(PersistentCollFailures, ABlockingStartInAHandlerIsRefused) {
  static thread_local persistent_coll_t recorded;
  static thread_local int refused;
  run_job(2, [](runtime_t runtime) {
    recorded = alloc_persistent_coll(barrier_x().runtime(runtime));
    refused = 0;
    comp_t handler = alloc_handler_x([](status_t) {
                       const std::string error =
                           error_of<std::logic_error>([] { persistent_coll_start(recorded); });
                       EXPECT_HAS(error, "barrier would have to wait inside a handler");
                       ++refused;
                     }).runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(handler).runtime(runtime)();
    barrier_x().runtime(runtime)();
    static_cast<void>(accepted(
        post_am_x(1 - rank_of(runtime), nullptr, 0, COMP_NULL_RETRY, rcomp).runtime(runtime)));
    while (refused == 0) progress_x().runtime(runtime)();
    // Nothing has happened.
    persistent_coll_start(recorded);
    free_persistent_coll(&recorded);
    free_comp_x{&handler}.runtime(runtime)();
  });
}

TEST(PersistentCollFailures, ALostRankEndsStarts) {
  run_apart(3, [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    uint64_t value = 0;
    comp_t queue = alloc_cq_x().runtime(runtime)();
    std::vector<persistent_coll_t> blocking, other;
    for (const auto algorithm : both_ways) {
      const auto call = broadcast_x(&value, 8, 2).algorithm(algorithm).runtime(runtime);
      blocking.push_back(alloc_persistent_coll(call));
      other.push_back(alloc_persistent_coll(broadcast_x(call).comp(queue)));
    }
    for (const auto& each : blocking) persistent_coll_start(each);
    barrier_x().runtime(runtime)();
    if (rank == 2) return;  // the victim
    for (const auto& each : other) persistent_coll_start(each);
    runtime.p_impl->engines().fail_peer(2);
    for (size_t i = 0; i < other.size(); ++i) {
      EXPECT_EQ(pop_from(runtime, queue).error.errorcode, errorcode_t::fatal);
    }
    // Later starts end in the same way.
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < other.size(); ++i) {
        EXPECT_THROW(persistent_coll_start(blocking[i]), peer_failure_error);
        persistent_coll_start(other[i]);
        EXPECT_EQ(pop_from(runtime, queue).error.errorcode, errorcode_t::fatal);
      }
    }
    for (size_t i = 0; i < other.size(); ++i) {
      free_persistent_coll(&blocking[i]);
      free_persistent_coll(&other[i]);
    }
    EXPECT_EQ(runtime.p_impl->left_over(), "");
    free_comp_x{&queue}.runtime(runtime)();
  });
}

// By messages. The network reports the loss before the messages have ended, which are awaited.
TEST(PersistentCollFailures, ALossIsReportedOnceTheMessagesHaveEnded) {
  std::atomic<bool> ended{false};
  run_apart(2, [&ended](runtime_t runtime) {
    if (rank_of(runtime) == 1) {
      while (!ended) progress_x().runtime(runtime)();
      return;
    }
    uint64_t value = 0;
    persistent_coll_t recorded = alloc_persistent_coll(
        broadcast_x(&value, 8, 1).algorithm(broadcast_algorithm_t::tree).runtime(runtime));
    runtime.p_impl->defer_failure(peer_failure_error(1, "rank 1 is gone"));
    std::thread network([runtime] {
      // The waiting thread has met the first report.
      while (runtime.p_impl->collective_engine()->waiting_receives() == 0 ||
             runtime.p_impl->has_pending_collectives()) {
        std::this_thread::yield();
      }
      runtime.p_impl->engines().fail_peer(1);
    });
    for (int round = 0; round < 2; ++round) {
      EXPECT_HAS(error_of<peer_failure_error>([&] { persistent_coll_start(recorded); }),
                 "rank 1 is gone");
      if (round == 0) network.join();
    }
    ended = true;
    free_persistent_coll(&recorded);
  });
}

// In shared memory: rank 1, which does not know of the loss, learns of it from rank 0. The start
// before has ended well.
TEST(PersistentCollFailures, ARankThatBreaksOffAStartTellsTheOthers) {
  std::atomic<int> ended{0};
  run_apart(3, [&ended](runtime_t runtime) {
    const int rank = rank_of(runtime);
    if (runtime.p_impl->shared_memory() == nullptr) return wait_drained_x().runtime(runtime)();
    persistent_coll_t recorded = alloc_persistent_coll(barrier_x().runtime(runtime));
    persistent_coll_start(recorded);
    if (rank == 2) {
      while (ended < 2) progress_x().runtime(runtime)();
    } else {
      if (rank == 0) runtime.p_impl->engines().fail_peer(2);
      try {
        persistent_coll_start(recorded);
        ADD_FAILURE() << "rank " << rank << " has left the barrier";
      } catch (const peer_failure_error& failure) {
        EXPECT_EQ(failure.failed_rank(), 2);
      }
      ++ended;
      while (ended < 2) progress_x().runtime(runtime)();
    }
    free_persistent_coll(&recorded);
  });
}

// A start in shared memory, and one by messages of ranks that share memory.
TEST(PersistentCollFailures, StartsOfDifferentOperationsAreAnError) {
  for (const auto algorithm : both_ways) {
    run_apart(2, [algorithm](runtime_t runtime) {
      // By messages alone, the ranks wait, and the hang report names them.
      if (runtime.p_impl->shared_memory() == nullptr) return wait_drained_x().runtime(runtime)();
      uint64_t value = 0;
      const int root = rank_of(runtime);
      persistent_coll_t same =
          alloc_persistent_coll(broadcast_x(&value, 8, 0).algorithm(algorithm).runtime(runtime));
      for (int round = 0; round < 3; ++round) persistent_coll_start(same);
      persistent_coll_t recorded = alloc_persistent_coll(
          broadcast_x(&value, 8, 1 - root).algorithm(algorithm).runtime(runtime));
      const std::string error =
          error_of<std::runtime_error>([&] { persistent_coll_start(recorded); });
      EXPECT_HAS(error, "rank 0 calls broadcast of 8 bytes from rank 1");
      EXPECT_HAS(error, "rank 1 calls broadcast of 8 bytes from rank 0");
      if (algorithm != broadcast_algorithm_t::none) {
        EXPECT_HAS(error_of<std::logic_error>([&] { persistent_coll_start(recorded); }),
                   "was broken off by an error, and its messages have not ended");
        // Rank 0 starts it after the end of the messages, rank 1 frees it before.
        if (root == 0) {
          runtime.p_impl->engines().fail_peer(1);
          EXPECT_THROW(persistent_coll_start(recorded), peer_failure_error);
        }
      }
      free_persistent_coll(&recorded);
      free_persistent_coll(&same);
      EXPECT_EQ(runtime.p_impl->left_over(), "");
    });
  }
}

// A message of another size ends the operation, by messages.
TEST(PersistentCollFailures, ABlockOfAnotherSizeIsAnError) {
  run_apart(2, [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    const std::vector<char> sent(100);
    std::vector<char> received(100);
    // Rank 1 expects 7 bytes of rank 0, which sends 5.
    const std::vector<size_t> out{5, 5};
    const std::vector<size_t> in{rank == 0 ? size_t{5} : size_t{7}, 5};
    persistent_coll_t recorded = alloc_persistent_coll(
        alltoallv_x(sent.data(), out.data(), received.data(), in.data()).runtime(runtime));
    const std::string error =
        error_of<std::runtime_error>([&] { persistent_coll_start(recorded); });
    wait_drained_x().runtime(runtime)();
    EXPECT_EQ(error.empty(), rank == 0) << error;
    free_persistent_coll(&recorded);
  });
}

// The same of a message that is there before the start.
TEST(PersistentCollFailures, ABlockOfAnotherSizeThatHasArrivedIsAnError) {
  run_apart(2, [](runtime_t runtime) {
    const int rank = rank_of(runtime);
    comp_t queue = alloc_cq_x().runtime(runtime)();
    const std::vector<char> sent(100);
    std::vector<char> received(100);
    const std::vector<size_t> out{5, 5};
    const std::vector<size_t> in{rank == 0 ? size_t{5} : size_t{7}, 5};
    persistent_coll_t recorded =
        alloc_persistent_coll(alltoallv_x(sent.data(), out.data(), received.data(), in.data())
                                  .comp(queue)
                                  .runtime(runtime));
    if (rank == 0) {
      persistent_coll_start(recorded);
      static_cast<void>(accepted(post_send_x(1, nullptr, 0, 1, COMP_NULL_RETRY).runtime(runtime)));
    } else {
      comp_t sync = alloc_sync_x().runtime(runtime)();
      char byte = 0;
      const status_t posted = post_recv_x(0, &byte, 0, 1, sync).runtime(runtime)();
      if (posted.is_posted()) sync_wait_x(sync, nullptr).runtime(runtime)();
      free_comp_x{&sync}.runtime(runtime)();
      persistent_coll_start(recorded);
    }
    EXPECT_EQ(pop_from(runtime, queue).is_done(), rank == 0);
    wait_drained_x().runtime(runtime)();
    free_persistent_coll(&recorded);
    free_comp_x{&queue}.runtime(runtime)();
  });
}

// The parts of the hang report name the operation and its number.
TEST(PersistentCollFailures, ReportsNameTheOperation) {
  run_job(2, [](runtime_t runtime) {
    comp_t queue = alloc_cq_x().runtime(runtime)();
    for (const auto algorithm : both_ways) {
      uint64_t value = 0;
      persistent_coll_t recorded = alloc_persistent_coll(
          broadcast_x(&value, 8, 1).algorithm(algorithm).comp(queue).runtime(runtime));
      barrier_x().runtime(runtime)();
      if (rank_of(runtime) == 0) {
        persistent_coll_start(recorded);
        observe::rank_report report;
        runtime.p_impl->collective_engine()->describe(&report);
        if (runtime.p_impl->shared_memory() != nullptr) {
          runtime.p_impl->shared_memory()->describe(&report);
        }
        const uint64_t number = algorithm == broadcast_algorithm_t::none ? 2 : 4;
        bool is_awaited = false;
        for (const auto& each : report.messages) {
          is_awaited = is_awaited || (each.collective == number && each.peer == 1);
        }
        EXPECT_TRUE(is_awaited);
        bool is_named = false;
        for (const auto& each : report.engines) {
          is_named = is_named || (each.last == number && each.last_kind == "broadcast");
        }
        EXPECT_TRUE(is_named);
        static_cast<void>(accepted(post_send_x(1, &value, 0, 1, COMP_NULL_RETRY).runtime(runtime)));
      } else {
        char byte = 0;
        static_cast<void>(post_recv_x(0, &byte, 0, 1, COMP_NULL).runtime(runtime)());
        persistent_coll_start(recorded);
      }
      EXPECT_TRUE(pop_from(runtime, queue).is_done());
      free_persistent_coll(&recorded);
    }
    free_comp_x{&queue}.runtime(runtime)();
  });
}

}  // namespace
}  // namespace lci
