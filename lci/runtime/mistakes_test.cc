// Mistakes of the program: named, and without effect.
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

TEST(Mistakes, AreNamedAndChangeNothing) {
  run(1, [](rank_under_test& self) {
    uint64_t value = 1;
    const auto comm = [&](direction_t direction, int rank, void* buffer) {
      return post_comm_x(direction, rank, buffer, 8, self.sync).runtime(self.runtime);
    };
    const auto expect_refused = [](const auto& op, const std::string& word) {
      try {
        static_cast<void>(op());
        ADD_FAILURE() << "nothing was thrown for " << word;
      } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      }
    };
    constexpr auto out = direction_t::OUT;
    constexpr auto in = direction_t::IN;
    expect_refused(comm(out, 1, &value), "rank is 1, not 0 to 0");
    expect_refused(comm(out, -1, &value), "rank is -1");
    expect_refused(comm(in, 1, &value), "rank is 1");
    expect_refused(comm(in, -2, &value), "rank is -2, not 0 to 0, and not ANY_SOURCE");
    expect_refused(comm(out, ANY_SOURCE, &value).matching_policy(matching_policy_t::tag_only),
                   "rank");
    expect_refused(comm(out, 0, nullptr), "local_buffer");
    expect_refused(comm(in, 0, nullptr), "local_buffer");
    expect_refused(comm(in, 0, &value).remote_comp(self.rcomp), "remote_comp");
    expect_refused(comm(out, 0, &value).tag(ANY_TAG), "ANY_TAG");
    expect_refused(comm(out, 0, &value).matching_policy(matching_policy_t::max), "matching_policy");
    expect_refused(post_am_x(0, &value, 8, self.sync, 0).runtime(self.runtime), "remote_comp");
    expect_refused(post_put_x(0, &value, 8, self.sync, 0, RMR_NULL).runtime(self.runtime), "rmr");
    expect_refused(post_get_x(0, &value, 8, self.sync, 0, RMR_NULL).runtime(self.runtime), "rmr");
    expect_refused(post_recv_x(0, &value, 8, 0, COMP_NULL).runtime(self.runtime).allow_done(false),
                   "completion object");
    EXPECT_TRUE(progress_x().runtime(self.runtime)().is_retry());
    EXPECT_FALSE(sync_test_x(self.sync, nullptr).runtime(self.runtime)());
    // A second runtime's resources do not mix with this one's.
    run(1, [&](rank_under_test& other) {
      const device_t device = get_default_device_x().runtime(other.runtime)();
      const matching_engine_t engine = get_default_matching_engine_x().runtime(other.runtime)();
      expect_refused(comm(out, 0, &value).device(device), "another runtime");
      expect_refused(comm(out, 0, &value).matching_engine(engine), "another runtime");
      mr_t mr = register_memory_x(&value, 8).runtime(other.runtime)();
      expect_refused(comm(out, 0, &value).mr(mr), "another net context");
      EXPECT_THROW(deregister_memory_x{&mr}.runtime(self.runtime)(), std::invalid_argument);
      deregister_memory_x{&mr}.runtime(other.runtime)();
    });
  });
}

TEST(Mistakes, TheCallOfTheProgramIsNamed) {
  run(1, [](rank_under_test& self) {
    reserve_rcomps_x(~rcomp_t{0} - reserve_rcomps_x(1).runtime(self.runtime)() - 1)
        .runtime(self.runtime)();
    const auto text_of = [](const auto& call) -> std::string {
      try {
        static_cast<void>(call());
      } catch (const std::invalid_argument& error) {
        return error.what();
      }
      return "";
    };
    EXPECT_EQ(text_of(register_rcomp_x(self.sync).runtime(self.runtime)),
              "lci: register_rcomp: 1 more than are left");
    EXPECT_EQ(text_of(reserve_rcomps_x(7).runtime(self.runtime)),
              "lci: reserve_rcomps: 7 more than are left");
  });
}

TEST(Mistakes, AnUnknownEngineIsReportedWhereTheMessageArrives) {
  run(1, [](rank_under_test& self) {
    std::vector<unsigned char> bytes(less_if_simulated<size_t>(40000, 9000));
    for (size_t size : {size_t{8}, bytes.size()}) {
      matching_engine_t engine = alloc_matching_engine_x().runtime(self.runtime)();
      const status_t status = accepted(post_send_x(0, bytes.data(), size, 0, self.sync)
                                           .matching_engine(engine)
                                           .runtime(self.runtime));
      const std::string name = "matching engine " + std::to_string(engine.p_impl->id);
      free_matching_engine_x{&engine}.runtime(self.runtime)();
      EXPECT_NE(progress_until_throw<std::runtime_error>(self.runtime).find(name),
                std::string::npos);
      if (size == 8) {
        EXPECT_TRUE(status.is_done());
      } else {
        EXPECT_EQ(self.end_of(status).error.errorcode, errorcode_t::fatal);
      }
    }
  });
}

// A copy of a handle does not know that another copy was freed.
TEST(Mistakes, AFreedHandleIsRefused) {
  run(1, [](rank_under_test& self) {
    const runtime_t runtime = self.runtime;
    uint64_t value = 0;
    const auto send = [&] { return post_send_x(0, &value, 8, 0, self.sync).runtime(runtime); };
    const auto refused = [](const auto& op) {
      EXPECT_THROW(static_cast<void>(op()), std::invalid_argument);
    };

    device_t device = alloc_device_x().runtime(runtime)();
    endpoint_t endpoint = alloc_endpoint_x().device(device)();
    device_t old_device = device;
    endpoint_t old_endpoint = endpoint;
    free_endpoint_x{&endpoint}();
    refused(send().endpoint(old_endpoint));
    refused(free_endpoint_x{&old_endpoint});
    free_device_x{&device}();
    refused(send().device(old_device));
    refused(progress_x().device(old_device));
    refused(barrier_x().device(old_device));
    refused(free_device_x{&old_device});

    matching_engine_t engine = alloc_matching_engine_x().runtime(runtime)();
    matching_engine_t old_engine = engine;
    free_matching_engine_x{&engine}();
    refused(send().matching_engine(old_engine));
    refused(free_matching_engine_x{&old_engine});
    refused(matching_engine_insert_x(old_engine, 1, &value, matching_entry_type_t::send));

    packet_pool_t pool = alloc_packet_pool_x().runtime(runtime)();
    packet_pool_t old_pool = pool;
    free_packet_pool_x{&pool}();
    refused(send().packet_pool(old_pool));
    refused(get_upacket_x().packet_pool(old_pool));
    refused(alloc_device_x().packet_pool(old_pool).runtime(runtime));

    mr_t mr = register_memory_x(&value, 8).runtime(runtime)();
    mr_t old_mr = mr;
    deregister_memory_x{&mr}();
    refused(send().mr(old_mr));
    refused(get_rmr_x(old_mr));
    refused(deregister_memory_x{&old_mr});

    net_context_t context = alloc_net_context_x().runtime(runtime)();
    net_context_t old_context = context;
    free_net_context_x{&context}();
    refused(alloc_device_x().net_context(old_context));
    refused(free_net_context_x{&old_context});

    for (comp_t comp : {alloc_sync_x().runtime(runtime)(), alloc_counter_x().runtime(runtime)(),
                        alloc_cq_x().runtime(runtime)(),
                        alloc_cq_x().cq_type(attr_cq_type_t::array_atomic).runtime(runtime)(),
                        alloc_graph_x().runtime(runtime)(),
                        alloc_handler_x([](status_t) {}).runtime(runtime)()}) {
      comp_t old = comp;
      free_comp_x{&comp}.runtime(runtime)();
      refused(free_comp_x{&old}.runtime(runtime));
      refused(comp_signal_x(old, errorcode_t::done).runtime(runtime));
      refused(register_rcomp_x(old).runtime(runtime));
      refused(post_send_x(0, &value, 8, 0, old).runtime(runtime));
    }
    EXPECT_TRUE(progress_x().runtime(runtime)().is_retry());
  });
}

TEST(Mistakes, AResourceInUseIsNotFreed) {
  run(1, [](rank_under_test& self) {
    matching_engine_t engine = alloc_matching_engine_x().runtime(self.runtime)();
    uint64_t value = 0;
    const status_t waits =
        post_recv_x(0, &value, 8, 1, self.sync).matching_engine(engine).runtime(self.runtime)();
    matching_engine_t copy = engine;
    EXPECT_THROW(free_matching_engine_x{&copy}.runtime(self.runtime)(), std::logic_error);
    uint64_t sent = 5;
    static_cast<void>(
        post_send_x(0, &sent, 8, 1, COMP_NULL).matching_engine(engine).runtime(self.runtime)());
    EXPECT_TRUE(self.end_of(waits).is_done());
    EXPECT_EQ(value, 5u);
    free_matching_engine_x{&copy}.runtime(self.runtime)();

    device_t device = alloc_device_x().runtime(self.runtime)();
    std::vector<unsigned char> large(less_if_simulated<size_t>(100000, 9000));
    EXPECT_TRUE(accepted(post_send_x(0, large.data(), large.size(), 2, self.sync).device(device))
                    .is_posted());
    EXPECT_THROW(free_device_x{&device}(), std::logic_error);
    static_cast<void>(post_recv_x(0, large.data(), large.size(), 2, COMP_NULL).device(device)());
    sync_wait_x(self.sync, nullptr).runtime(self.runtime).device(device)();
    wait_drained_x().device(device)();
    free_device_x{&device}();
    for (auto* handle : {&device}) EXPECT_THROW(free_device_x{handle}(), std::invalid_argument);
    device_t main = get_default_device_x().runtime(self.runtime)();
    EXPECT_THROW(free_device_x{&main}(), std::logic_error);
    matching_engine_t own = get_default_matching_engine_x().runtime(self.runtime)();
    EXPECT_THROW(free_matching_engine_x{&own}(), std::logic_error);
    packet_pool_t pool = get_default_packet_pool_x().runtime(self.runtime)();
    EXPECT_THROW(free_packet_pool_x{&pool}(), std::logic_error);
    net_context_t context = get_default_net_context_x().runtime(self.runtime)();
    EXPECT_THROW(free_net_context_x{&context}(), std::logic_error);
  });
}

}  // namespace
}  // namespace lci
