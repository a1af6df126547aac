// Mistakes of the program: named, and without effect.
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
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
    const size_t negative = ~size_t{0};
    for (const size_t size : {negative, (size_t{1} << 56) + 1}) {
      expect_refused(post_send_x(0, &value, size, 0, self.sync).runtime(self.runtime),
                     "lci: post_send: size is ");
      expect_refused(post_am_x(0, &value, size, self.sync, self.rcomp).runtime(self.runtime),
                     "more than the address space has");
    }
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

TEST(Mistakes, APointerToNoHandleIsNamed) {
  const auto expect_refused = [](const std::string& call, const auto& op) {
    try {
      op();
      ADD_FAILURE() << "nothing was thrown by " << call;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(), "lci: " + call + ": the pointer to the handle is null");
    }
  };
  expect_refused("free_comp", [] { free_comp(nullptr); });
  expect_refused("free_device", [] { free_device_x{nullptr}(); });
  expect_refused("free_endpoint", [] { free_endpoint_x{nullptr}(); });
  expect_refused("free_group", [] { free_group_x{nullptr}(); });
  expect_refused("free_matching_engine", [] { free_matching_engine_x{nullptr}(); });
  expect_refused("free_mr", [] { free_mr_x{nullptr}(); });
  expect_refused("deregister_memory", [] { deregister_memory_x{nullptr}(); });
  expect_refused("free_net_context", [] { free_net_context_x{nullptr}(); });
  expect_refused("free_packet_pool", [] { free_packet_pool_x{nullptr}(); });
  expect_refused("free_persistent_coll", [] { free_persistent_coll_x{nullptr}(); });
  expect_refused("free_plan", [] { free_plan_x{nullptr}(); });
  expect_refused("free_runtime", [] { free_runtime_x{nullptr}(); });
  expect_refused("free_thread_devices", [] { free_thread_devices_x{nullptr}(); });
  expect_refused("free_thread_team", [] { free_thread_team_x{nullptr}(); });
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

TEST(Mistakes, AMessageForAFreedObjectIsDropped) {
  run(1, [](rank_under_test& self) {
    std::vector<unsigned char> bytes(less_if_simulated<size_t>(100000, 9000));
    for (const size_t size : {size_t{8}, bytes.size()}) {
      comp_t handler =
          alloc_handler_x([](status_t) { ADD_FAILURE() << "the handler has been freed"; })
              .lend_am(true)
              .runtime(self.runtime)();
      const rcomp_t first = register_rcomp_x(handler).runtime(self.runtime)();
      const rcomp_t second = register_rcomp_x(handler).runtime(self.runtime)();
      free_comp_x{&handler}.runtime(self.runtime)();
      for (const rcomp_t name : {first, second}) {
        const status_t status =
            accepted(post_am_x(0, bytes.data(), size, self.sync, name).runtime(self.runtime));
        const std::string error = progress_until_throw<std::runtime_error>(self.runtime);
        EXPECT_HAS(error, "for remote completion " + std::to_string(name) + ", which is not");
        EXPECT_EQ(self.end_of(status).is_fatal(), !status.is_done());
        // The name may be used again.
        static_cast<void>(register_rcomp_x(self.queue).rcomp(name).runtime(self.runtime)());
        deregister_rcomp_x(name).runtime(self.runtime)();
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

// Runs body() inside a handler: while the library signals this object.
struct calling_comp final : comp_impl_t {
  explicit calling_comp(std::function<void()> run) : body(std::move(run)) { attr.lend_am = true; }
  void signal(status_t /*status*/) override {
    body();
    has_run = true;
  }
  std::function<void()> body;
  bool has_run = false;
};

void run_in_handler(const rank_under_test& self, std::function<void()> body) {
  calling_comp comp(std::move(body));
  char byte = 0;
  rcomp_t rcomp = register_rcomp_x(comp_t(&comp)).runtime(self.runtime)();
  static_cast<void>(
      post_am_x(self.rank, &byte, 1, self.sync, rcomp).runtime(self.runtime).allow_retry(false)());
  while (!comp.has_run) progress_x().runtime(self.runtime)();
  deregister_rcomp_x(rcomp).runtime(self.runtime)();
}

void expect_no_wait(const char* call, const std::function<void()>& run) {
  EXPECT_EQ(error_of<std::logic_error>(run),
            std::string("lci: ") + call + " would have to wait inside a handler, which it may not");
}

TEST(Mistakes, AHandlerDoesNotWaitForOtherRanksToMakeAResource) {
  run(2, [](rank_under_test& self) {
    const runtime_t runtime = self.runtime;
    run_in_handler(self, [&] {
      expect_no_wait("alloc_device", [&] { alloc_device_x().runtime(runtime)(); });
      expect_no_wait("alloc_device", [&] { alloc_thread_devices_x(2).runtime(runtime)(); });
      expect_no_wait("alloc_net_context", [&] { alloc_net_context_x().runtime(runtime)(); });
    });
    // The ranks have made the same number of devices.
    device_t device = alloc_device_x().runtime(runtime)();
    barrier_x().device(device)();
    free_device_x{&device}();
  });
}

// A poll that it is called in may still use the resource.
TEST(Mistakes, AHandlerDoesNotFreeWhatIsPolled) {
  run(1, [](rank_under_test& self) {
    device_t device = alloc_device_x().runtime(self.runtime)();
    thread_devices_t devices = alloc_thread_devices_x(2).runtime(self.runtime)();
    run_in_handler(self, [&] {
      runtime_t runtime = self.runtime;
      expect_no_wait("free_device", [&] { free_device_x{&device}(); });
      expect_no_wait("free_thread_devices", [&] { free_thread_devices_x{&devices}(); });
      expect_no_wait("free_runtime", [&] { free_runtime_x{&runtime}(); });
    });
    free_device_x{&device}();
    free_thread_devices_x{&devices}();
  });
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Of the messages that one call of progress() takes, several may throw.
TEST(Mistakes, NoExceptionOfAHandlerIsLost) {
  run(1, [](rank_under_test& self) {
    static size_t calls;
    constexpr size_t messages = 10;
    calls = 0;
    comp_t sent = alloc_counter_x().runtime(self.runtime)();
    comp_t handler = alloc_handler_x([](status_t) {
                       ++calls;
                       throw std::runtime_error("of a message");
                     })
                         .lend_am(true)
                         .runtime(self.runtime)();
    const rcomp_t rcomp = register_rcomp_x(handler).runtime(self.runtime)();
    testing::internal::CaptureStderr();
    char byte = 0;
    for (size_t i = 0; i < messages; ++i) {
      static_cast<void>(
          post_am_x(0, &byte, 1, sent, rcomp).runtime(self.runtime).allow_retry(false)());
    }
    size_t thrown = 0;
    while (calls < messages) {
      if (!error_of([&] { progress_x().runtime(self.runtime)(); }).empty()) ++thrown;
    }
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(thrown + occurrences(log, "throws another one: of a message\n"), messages) << log;
    deregister_rcomp_x(rcomp).runtime(self.runtime)();
    free_comp_x{&handler}.runtime(self.runtime)();
    wait_drained_x().runtime(self.runtime)();
    free_comp_x{&sent}.runtime(self.runtime)();
  });
}

// Of an attribute that the network checks.
TEST(Mistakes, AnAttributeOutOfRangeIsAnInvalidArgument) {
  if (simulated()) GTEST_SKIP() << "the simulated network has no lanes";
  run(1, [](rank_under_test& self) {
    const auto make = [&] { alloc_device_x().shm_lanes(1000).runtime(self.runtime)(); };
    EXPECT_EQ(error_of<std::invalid_argument>(make),
              "lci: rank 0 can't make device 1: attribute shm_lanes is 1000, not 0 to 64");
  });
}

// A program that takes no statuses could not tell that the receive has failed.
TEST(Mistakes, AFailureWhoseStatusIsNotTakenIsThrown) {
  run(1, [](rank_under_test& self) {
    uint64_t value = 0;
    const auto fail = [&] {
      EXPECT_TRUE(post_recv_x(0, &value, 4, 1, self.sync).runtime(self.runtime)().is_posted());
      static_cast<void>(post_send_x(0, &value, 8, 1, COMP_NULL).runtime(self.runtime)());
    };
    const auto expect_named = [](const char* call, const std::function<void()>& wait) {
      try {
        wait();
        ADD_FAILURE() << call << " threw nothing";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()),
                  std::string("lci: ") + call +
                      ": an operation with rank 0 has failed; the log of that rank or of this one "
                      "says why");
      }
    };
    fail();
    expect_named("sync_wait", [&] { sync_wait_x(self.sync, nullptr).runtime(self.runtime)(); });
    fail();
    expect_named("sync_test", [&] {
      while (!sync_test_x(self.sync, nullptr).runtime(self.runtime)()) {
        progress_x().runtime(self.runtime)();
      }
    });
    // The synchronizer has begun its next round.
    fail();
    status_t status;
    sync_wait_x(self.sync, &status).runtime(self.runtime)();
    EXPECT_TRUE(status.is_fatal());
  });
}

}  // namespace
}  // namespace lci
