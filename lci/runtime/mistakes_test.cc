// Mistakes of the program: named, and without effect.
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/runtime.h"
#include "lci/runtime/test_ranks.h"

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
        op();
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
    expect_refused(comm(in, ANY_SOURCE, &value), "ANY_SOURCE");
    expect_refused(comm(in, ANY_SOURCE, &value).matching_policy(matching_policy_t::rank_only),
                   "ANY_SOURCE");
    expect_refused(comm(out, ANY_SOURCE, &value).matching_policy(matching_policy_t::tag_only),
                   "rank");
    expect_refused(comm(out, 0, nullptr), "local_buffer");
    expect_refused(comm(in, 0, nullptr), "local_buffer");
    expect_refused(comm(in, 0, &value).remote_comp(self.rcomp), "remote_comp");
    expect_refused(comm(in, 0, &value).tag(ANY_TAG), "ANY_TAG");
    expect_refused(comm(out, 0, &value).tag(ANY_TAG), "ANY_TAG");
    expect_refused(comm(out, 0, &value).matching_policy(matching_policy_t::max), "matching_policy");
    expect_refused(post_am_x(0, &value, 8, self.sync, 0).runtime(self.runtime), "remote_comp");
    expect_refused(post_put_x(0, &value, 8, self.sync, 0, RMR_NULL).runtime(self.runtime), "rmr");
    expect_refused(post_get_x(0, &value, 8, self.sync, 0, RMR_NULL).runtime(self.runtime), "rmr");
    expect_refused(post_recv_x(0, &value, 8, 0, COMP_NULL).runtime(self.runtime).allow_done(false),
                   "completion object");
    EXPECT_EQ(progress_x().runtime(self.runtime)().errorcode, errorcode_t::retry);
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

TEST(Mistakes, AnUnknownEngineIsReportedWhereTheMessageArrives) {
  run(1, [](rank_under_test& self) {
    std::vector<unsigned char> bytes(20000);
    for (size_t size : {size_t{8}, bytes.size()}) {
      matching_engine_t engine = alloc_matching_engine_x().runtime(self.runtime)();
      const status_t status = post_send_x(0, bytes.data(), size, 0, self.sync)
                                  .matching_engine(engine)
                                  .runtime(self.runtime)();
      const std::string name = "matching engine " + std::to_string(engine.get_impl()->id);
      free_matching_engine_x{&engine}.runtime(self.runtime)();
      try {
        progress_x().runtime(self.runtime)();
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
      if (size == 8) {
        EXPECT_TRUE(status.is_done());
      } else {
        EXPECT_EQ(self.end_of(status).error.errorcode, errorcode_t::fatal);
      }
    }
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
    post_send_x(0, &sent, 8, 1, COMP_NULL).matching_engine(engine).runtime(self.runtime)();
    EXPECT_TRUE(self.end_of(waits).is_done());
    EXPECT_EQ(value, 5u);
    free_matching_engine_x{&copy}.runtime(self.runtime)();

    device_t device = alloc_device_x().runtime(self.runtime)();
    std::vector<unsigned char> large(100000);
    EXPECT_TRUE(
        post_send_x(0, large.data(), large.size(), 2, self.sync).device(device)().is_posted());
    EXPECT_THROW(free_device_x{&device}(), std::logic_error);
    post_recv_x(0, large.data(), large.size(), 2, COMP_NULL).device(device)();
    self.end_of(errorcode_t::posted);
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
