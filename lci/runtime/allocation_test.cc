// Nothing is allocated per message once everything has been used once: design decision 6.
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/allocations/allocations.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

// Where active messages arrive: one buffer, used again.
struct counting_allocator : allocator_base_t {
  void* allocate(size_t) override {
    ++calls;
    return buffer.data();
  }
  void deallocate(void*) override {}
  std::vector<char> buffer = std::vector<char>(100000);
  long calls = 0;
};

// Allocations of `rounds` rounds after some that warm up.
template <class Round>
long allocations_of(const Round& round) {
  for (int i = 0; i < 200; ++i) round();
  const long before = allocations();
  for (int i = 0; i < 1000; ++i) round();
  return allocations() - before;
}

TEST(Allocation, NonePerMessage) {
  run_job(1, [](runtime_t runtime) {
    counting_allocator allocator;
    set_allocator_x{&allocator}.runtime(runtime)();
    comp_t queue = alloc_cq_x().runtime(runtime)();
    comp_t packets = alloc_cq_x().zero_copy_am(true).runtime(runtime)();
    comp_t sync = alloc_sync_x().runtime(runtime)();
    const rcomp_t rcomp = register_rcomp_x(queue).runtime(runtime)();
    const rcomp_t packet_rcomp = register_rcomp_x(packets).runtime(runtime)();
    std::vector<char> out(50000), in(50000);
    mr_t mr = register_memory_x(in.data(), in.size()).runtime(runtime)();
    const rmr_t rmr = get_rmr_x(mr).runtime(runtime)();
    const auto pop = [runtime](comp_t from) {
      status_t status;
      while ((status = cq_pop_x(from).runtime(runtime)()).is_retry()) {
        progress_x().runtime(runtime)();
      }
      return status;
    };
    const auto wait = [runtime, sync](const status_t& posted) {
      if (posted.is_posted()) sync_wait_x(sync, nullptr).runtime(runtime)();
    };
    // Eager, and by rendezvous.
    for (size_t size : {size_t{8}, size_t{8192}, size_t{50000}}) {
      EXPECT_EQ(0, allocations_of([&] {
                  wait(post_am_x(0, out.data(), size, sync, rcomp).runtime(runtime)());
                  static_cast<void>(pop(queue));
                }))
          << "active message of " << size;
      EXPECT_EQ(
          0, allocations_of([&] {
            const status_t sent = post_send_x(0, out.data(), size, 1, sync).runtime(runtime)();
            static_cast<void>(post_recv_x(0, in.data(), size, 1, COMP_NULL).runtime(runtime)());
            wait(sent);
          }))
          << "send of " << size << " that nobody expects";
      EXPECT_EQ(
          0, allocations_of([&] {
            const status_t received = post_recv_x(0, in.data(), size, 1, sync).runtime(runtime)();
            static_cast<void>(post_send_x(0, out.data(), size, 1, COMP_NULL).runtime(runtime)());
            wait(received);
          }))
          << "send of " << size << " that is expected";
      EXPECT_EQ(0, allocations_of([&] {
                  wait(post_put_x(0, out.data(), size, sync, 0, rmr)
                           .remote_comp(rcomp)
                           .runtime(runtime)());
                  static_cast<void>(pop(queue));
                  wait(post_get_x(0, out.data(), size, sync, 0, rmr).runtime(runtime)());
                }))
          << "put and get of " << size;
    }
    EXPECT_EQ(0, allocations_of([&] {
                static_cast<void>(
                    post_am_x(0, out.data(), 5000, COMP_NULL, packet_rcomp).runtime(runtime)());
                put_upacket_x{pop(packets).buffer}.runtime(runtime)();
                static_cast<void>(
                    post_am_x(0, get_upacket_x().runtime(runtime)(), 5000, COMP_NULL, packet_rcomp)
                        .runtime(runtime)());
                put_upacket_x{pop(packets).buffer}.runtime(runtime)();
              }))
        << "packets";
    EXPECT_GT(allocator.calls, 0);
    deregister_memory_x{&mr}.runtime(runtime)();
    for (comp_t* comp : {&queue, &packets, &sync}) free_comp_x{comp}.runtime(runtime)();
    set_allocator_x{&g_allocator_default}.runtime(runtime)();
  });
}

// Puts and gets of blocks, alone and as a plan, at every support level.
TEST(Allocation, NonePerStartOfAPlan) {
  for (int level = -1; level <= 4; ++level) {
    global_attr_t defaults;
    defaults.signal_level = level;
    run_job(
        1,
        [](runtime_t runtime) {
          std::vector<char> out(50000), in(50000);
          mr_t out_mr = register_memory_x(out.data(), out.size()).runtime(runtime)();
          mr_t in_mr = register_memory_x(in.data(), in.size()).runtime(runtime)();
          comp_t sent = alloc_signal_x(1).runtime(runtime)();
          comp_t arrived = alloc_signal_x(3).runtime(runtime)();
          plan_t plan = alloc_plan_x().runtime(runtime).comp(sent)();
          for (size_t size : {size_t{8}, size_t{8192}, size_t{50000}}) {
            const block_t from = make_block_x(out_mr, 0, size).runtime(runtime)();
            const block_t to = make_block_x(in_mr, 0, size).runtime(runtime).recv_signal(arrived)();
            plan_put(plan, from, to);
            plan_get(plan, make_block_x(in_mr, 0, size).runtime(runtime)(), from);
          }
          const block_t from = make_block_x(out_mr, 0, 100).runtime(runtime).send_signal(sent)();
          const block_t to = make_block_x(in_mr, 0, 100).runtime(runtime)();
          EXPECT_EQ(0, allocations_of([&] {
                      plan_start(plan);
                      for (comp_t each : {sent, arrived}) {
                        signal_wait_x(each).runtime(runtime)();
                        signal_reset_x(each).runtime(runtime)();
                      }
                      static_cast<void>(post_put_block_x(from, to).runtime(runtime)());
                      signal_wait_x(sent).runtime(runtime)();
                      signal_reset_x(sent).runtime(runtime)();
                    }));
          free_plan(&plan);
          for (mr_t* mr : {&out_mr, &in_mr}) deregister_memory_x{mr}.runtime(runtime)();
          for (comp_t* comp : {&sent, &arrived}) free_comp_x{comp}.runtime(runtime)();
        },
        runtime_attr_t(), defaults);
  }
}

}  // namespace
}  // namespace lci
