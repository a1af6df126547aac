// The three conditions of "On the Conditions for Efficient Interoperability with Threads" (ICS'14),
// but for separability, which has a test of its own, and the help that threads get to keep them.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int polls = 3000;  // that find what is there, also over the simulated network

class Domains : public rank_test {};
INSTANTIATE_TEST_SUITE_P(Ranks, Domains, testing::ValuesIn(one_to(3)));

// Addressability.

TEST_P(Domains, AMessageNamesTheDeviceItIsFor) {
  run(ranks(), [](rank_under_test& self) {
    std::vector<device_t> devices;
    for (int i = 0; i < 3; ++i) {
      devices.push_back(alloc_device_x().runtime(self.runtime).am_poll_mask(-1)());
    }
    self.meet();
    uint32_t value = 17;
    const auto post = [&] {
      return post_am_x(self.to, &value, sizeof(value), COMP_NULL_RETRY, self.rcomp)
          .runtime(self.runtime)
          .device(devices[1])();
    };
    while (post().is_retry()) progress_x().runtime(self.runtime)();
    self.meet();
    for (int i = 0; i < polls; ++i) {
      progress_x().runtime(self.runtime)();
      progress_x().device(devices[0])();
      progress_x().device(devices[2])();
    }
    EXPECT_TRUE(cq_pop_x(self.queue).runtime(self.runtime)().is_retry());
    status_t status;
    while ((status = cq_pop_x(self.queue).runtime(self.runtime)()).is_retry()) {
      progress_x().device(devices[1])();
    }
    EXPECT_EQ(status.rank, self.from);
    std::free(status.buffer);
    wait_drained_x().runtime(self.runtime).device(devices[1])();
    self.meet();
    for (device_t& each : devices) free_device_x{&each}();
  });
}

TEST_P(Domains, AMessageNamesTheMatchingEngineItIsFor) {
  run(ranks(), [](rank_under_test& self) {
    matching_engine_t engines[2];
    for (auto& each : engines) each = alloc_matching_engine_x().runtime(self.runtime)();
    self.meet();
    uint32_t received[2] = {0, 0};
    comp_t counter = alloc_counter_x().runtime(self.runtime)();
    for (uint32_t i = 0; i < 2; ++i) {
      static_cast<void>(post_recv_x(self.from, &received[i], sizeof(uint32_t), 5, counter)
                            .runtime(self.runtime)
                            .matching_engine(engines[i])
                            .allow_done(false)());
    }
    for (uint32_t i = 2; i-- > 0;) {
      uint32_t value = 100 + i;
      static_cast<void>(accepted(post_send_x(self.to, &value, sizeof(value), 5, COMP_NULL)
                                     .runtime(self.runtime)
                                     .matching_engine(engines[i])));
    }
    while (counter_get_x(counter).runtime(self.runtime)() < 2) progress_x().runtime(self.runtime)();
    EXPECT_EQ(received[0], 100u);
    EXPECT_EQ(received[1], 101u);
    self.meet();
    free_comp_x{&counter}.runtime(self.runtime)();
    for (auto& each : engines) free_matching_engine_x{&each}();
  });
}

// Reachability.

TEST_P(Domains, MemoryIsReachedThroughEveryDeviceAlsoOfThoseMadeLater) {
  run(ranks(), [](rank_under_test& self) {
    device_t earlier = alloc_device_x().runtime(self.runtime)();
    std::vector<uint64_t> memory(3);
    const size_t before = count_registrations_x().runtime(self.runtime)();
    mr_t mr =
        register_memory_x(memory.data(), memory.size() * sizeof(uint64_t)).runtime(self.runtime)();
    EXPECT_GT(count_registrations_x().runtime(self.runtime)(), before);
    device_t later = alloc_device_x().runtime(self.runtime)();
    const std::vector<rmr_t> all = self.exchange(mr);
    const device_t devices[] = {get_default_device_x().runtime(self.runtime)(), earlier, later};
    for (uint64_t i = 0; i < 3; ++i) {
      uint64_t value = 1000 + i;
      comp_t sync = alloc_sync_x().runtime(self.runtime)();
      const status_t posted =
          accepted(post_put_x(self.to, &value, sizeof(value), sync, i * sizeof(value),
                              all[static_cast<size_t>(self.to)])
                       .runtime(self.runtime)
                       .device(devices[i]));
      if (posted.is_posted()) {
        while (!sync_test_x(sync, nullptr).runtime(self.runtime)()) {
          progress_x().device(devices[i])();
        }
      }
      // The target may have to help.
      wait_drained_x().runtime(self.runtime).device(devices[i])();
      barrier_x().runtime(self.runtime).device(devices[i])();
      EXPECT_EQ(memory[i], value);
      uint64_t read = 0;
      const status_t asked =
          accepted(post_get_x(self.to, &read, sizeof(read), sync, i * sizeof(value),
                              all[static_cast<size_t>(self.to)])
                       .runtime(self.runtime)
                       .device(devices[i]));
      if (asked.is_posted()) {
        while (!sync_test_x(sync, nullptr).runtime(self.runtime)()) {
          progress_x().device(devices[i])();
        }
      }
      EXPECT_EQ(read, value);
      barrier_x().runtime(self.runtime).device(devices[i])();
      wait_drained_x().runtime(self.runtime).device(devices[i])();
      free_comp_x{&sync}.runtime(self.runtime)();
    }
    deregister_memory_x{&mr}.runtime(self.runtime)();
    self.meet();
    free_device_x{&later}();
    free_device_x{&earlier}();
    EXPECT_EQ(count_registrations_x().runtime(self.runtime)(), before);
  });
}

TEST_P(Domains, RegistrationsAreLimitedByAnAttribute) {
  run_job(ranks(), [](runtime_t runtime) {
    net_context_t context = alloc_net_context_x().runtime(runtime).max_registrations(2)();
    device_t device = alloc_device_x().runtime(runtime).net_context(context)();
    const size_t before = count_registrations_x().net_context(context)();
    EXPECT_EQ(context.get_attr_max_registrations(), 2u);
    std::vector<char> memory(100);
    std::vector<mr_t> made;
    const auto one_more = [&] {
      made.push_back(register_memory_x(memory.data(), memory.size()).device(device)());
    };
    for (size_t i = before; i < 2; ++i) one_more();
    EXPECT_THAT(one_more, ThrowsMessage<std::runtime_error>(HasSubstr("max_registrations")));
    EXPECT_EQ(count_registrations_x().net_context(context)(), 2u);
    for (mr_t& each : made) deregister_memory_x{&each}();
    made.clear();
    one_more();
    deregister_memory_x{&made.back()}();
    barrier_x().runtime(runtime)();
    free_device_x{&device}();
    free_net_context_x{&context}();
  });
}

// The shared device.

TEST_P(Domains, WhoPollsAnotherDeviceReceivesWhatIsSentToTheDefaultOne) {
  run(ranks(), [](rank_under_test& self) {
    for (const int mask : {0, 7, 1023}) {
      device_t own = alloc_device_x().runtime(self.runtime).am_poll_mask(mask)();
      EXPECT_EQ(own.get_attr_am_poll_mask(), mask);
      self.meet();
      uint32_t value = 3;
      static_cast<void>(accepted(post_am_x(self.to, &value, sizeof(value), COMP_NULL, self.rcomp)
                                     .runtime(self.runtime)
                                     .device(own)));  // (retries poll that one)
      static_cast<void>(accepted(
          post_am_x(self.to, &value, sizeof(value), COMP_NULL, self.rcomp).runtime(self.runtime)));
      for (int arrived = 0; arrived < 2;) {
        const status_t status = cq_pop_x(self.queue).runtime(self.runtime)();
        if (status.is_retry()) {
          progress_x().device(own)();
          continue;
        }
        ++arrived;
        std::free(status.buffer);
      }
      wait_drained_x().runtime(self.runtime).device(own)();
      self.meet();
      free_device_x{&own}();
    }
  });
}

TEST_P(Domains, AMaskThatIsNoneIsRefusedOnAllRanks) {
  run(ranks(), [](rank_under_test& self) {
    for (const int mask : {-2, 2, 5, 6, 100}) {
      EXPECT_THAT([&] { alloc_device_x().runtime(self.runtime).am_poll_mask(mask)(); },
                  ThrowsMessage<std::invalid_argument>(HasSubstr("am_poll_mask is")));
    }
    // Nothing has been taken from the others' count.
    device_t made = alloc_device_x().runtime(self.runtime)();
    self.meet();
    free_device_x{&made}();
  });
}

// A device for each thread.

TEST_P(Domains, EachThreadHasADeviceOfItsOwn) {
  constexpr int threads = 4;
  run(ranks(), [](rank_under_test& self) {
    thread_devices_t devices = alloc_thread_devices_x(threads).runtime(self.runtime)();
    self.meet();
    end_turns();
    std::vector<device_t> of(threads);
    std::atomic<int> ready{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        of[static_cast<size_t>(t)] = get_thread_device(devices);
        EXPECT_EQ(get_thread_device(devices), of[static_cast<size_t>(t)]);
        ++ready;
        // It keeps its device as long as it lives.
        while (ready.load() < threads) std::this_thread::yield();
      });
    }
    for (std::thread& each : all) each.join();
    for (int t = 0; t < threads; ++t) {
      EXPECT_EQ(std::count(of.begin(), of.end(), get_device_of_thread(devices, t)), 1);
    }
    // All have ended, so the first is free again.
    EXPECT_EQ(get_thread_device(devices), get_device_of_thread(devices, 0));
    std::thread([&] {
      EXPECT_EQ(get_thread_device(devices), get_device_of_thread(devices, 1));
      EXPECT_EQ(bind_thread_device(devices, 3), get_device_of_thread(devices, 3));
      EXPECT_EQ(get_thread_device(devices), get_device_of_thread(devices, 3));
      // Its resources are free.
      std::thread([&] {
        EXPECT_EQ(get_thread_device(devices), get_device_of_thread(devices, 1));
      }).join();
    }).join();
    self.meet();
    free_thread_devices(&devices);
    EXPECT_TRUE(devices.is_empty());
  });
}

TEST_P(Domains, MoreThreadsThanDevicesShareThemEvenly) {
  run(ranks(), [](rank_under_test& self) {
    thread_devices_t devices = alloc_thread_devices_x(2).runtime(self.runtime)();
    self.meet();
    end_turns();
    std::atomic<int> uses[2] = {{0}, {0}};
    std::atomic<int> ready{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 6; ++t) {
      all.emplace_back([&] {
        ++uses[get_thread_device(devices) == get_device_of_thread(devices, 0) ? 0 : 1];
        ++ready;
        while (ready.load() < 6) std::this_thread::yield();
      });
    }
    for (std::thread& each : all) each.join();
    EXPECT_EQ(uses[0].load(), 3);
    EXPECT_EQ(uses[1].load(), 3);
    self.meet();
    free_thread_devices(&devices);
  });
}

TEST_P(Domains, SetsOfDevicesComeAndGo) {
  run(ranks(), [](rank_under_test& self) {
    for (int round = 0; round < 3; ++round) {
      thread_devices_t first = alloc_thread_devices_x(1).runtime(self.runtime)();
      thread_devices_t second = alloc_thread_devices_x(2).runtime(self.runtime)();
      self.meet();
      EXPECT_EQ(bind_thread_device(second, 1), get_device_of_thread(second, 1));
      EXPECT_EQ(get_thread_device(first), get_device_of_thread(first, 0));
      EXPECT_EQ(get_thread_device(second), get_device_of_thread(second, 1));
      self.meet();
      free_thread_devices(&first);
      free_thread_devices(&second);
    }
  });
}

TEST_P(Domains, MistakesWithThreadDevicesAreNamed) {
  run(ranks(), [](rank_under_test& self) {
    EXPECT_THAT([&] { alloc_thread_devices_x(0).runtime(self.runtime)(); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("n is 0")));
    thread_devices_t devices;
    EXPECT_THAT([&] { get_thread_device(devices); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("the handle is empty")));
    devices = alloc_thread_devices_x(2).runtime(self.runtime)();
    for (const int number : {-1, 2}) {
      EXPECT_THAT([&] { bind_thread_device(devices, number); },
                  ThrowsMessage<std::invalid_argument>(HasSubstr("not 0 to 1")));
      EXPECT_THAT([&] { get_device_of_thread(devices, number); },
                  ThrowsMessage<std::invalid_argument>(HasSubstr("not 0 to 1")));
    }
    // Of all devices or none.
    endpoint_t endpoint = alloc_endpoint_x().device(get_device_of_thread(devices, 1))();
    EXPECT_THAT([&] { free_thread_devices(&devices); },
                ThrowsMessage<std::logic_error>(HasSubstr("free_thread_devices: 1 endpoints")));
    free_endpoint_x{&endpoint}();
    self.meet();
    thread_devices_t same = devices;
    free_thread_devices(&devices);
    EXPECT_THAT([&] { get_thread_device(same); }, ThrowsMessage<std::invalid_argument>(testing::_));
  });
}

}  // namespace
}  // namespace lci
