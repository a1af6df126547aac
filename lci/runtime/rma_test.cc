// Put and get, with signal and without.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

class Rma : public rank_test {};
INSTANTIATE_TEST_SUITE_P(OneToFourRanks, Rma, testing::ValuesIn(one_to(4)));

TEST_P(Rma, PutAndGetWithAndWithoutSignal) {
  // In one piece and in several.
  for (size_t max_msg_size : {size_t{1} << 30, size_t{1000}}) {
    global_attr_t defaults;
    defaults.max_msg_size = max_msg_size;
    run(
        ranks(),
        [](rank_under_test& self) {
          const auto room = less_if_simulated<size_t>(100000, 5000);
          // The odd ranks' memory is allocated.
          const bool allocated = self.rank % 2 == 1;
          std::vector<unsigned char> own(allocated ? 0 : room, 0);
          mr_t mr = allocated ? alloc_mr_x(room).runtime(self.runtime)()
                              : register_memory_x(own.data(), room).runtime(self.runtime)();
          const auto* open = static_cast<const unsigned char*>(get_mr_address(mr));
          EXPECT_EQ(get_mr_size(mr), room);
          const rmr_t remote = self.exchange(mr)[static_cast<size_t>(self.to)];
          const int64_t largest_tag = static_cast<int64_t>(self.runtime.get_attr_max_imm_tag());
          for (size_t size : {size_t{0}, size_t{1}, size_t{999}, size_t{1000}, size_t{1001},
                              size_t{2000}, less_if_simulated<size_t>(54321, 4321)}) {
            // Without signal, within the immediate bits, and beyond them.
            for (int64_t tag : {int64_t{-1}, int64_t{3}, largest_tag, largest_tag + 1}) {
              const size_t offset = room - size - 17;
              auto bytes = make_message(self.rank, size, size);
              post_put_x put(self.to, bytes.data(), size, self.sync, offset, remote);
              put.runtime(self.runtime);
              if (tag >= 0) put.tag(static_cast<tag_t>(tag)).remote_comp(self.rcomp);
              status_t status = self.end_of(accepted(put));
              EXPECT_TRUE(status.is_done());
              EXPECT_EQ(status.buffer, bytes.data());
              if (tag >= 0) {
                const status_t arrival = self.pop();
                EXPECT_TRUE(arrival.is_done());
                EXPECT_EQ(arrival.rank, self.from);
                EXPECT_EQ(arrival.tag, static_cast<tag_t>(tag));
              } else {
                self.meet();
              }
              const auto expected = make_message(self.from, size, size);
              EXPECT_TRUE(std::equal(expected.begin(), expected.end(), open + offset));
              self.meet();

              std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
              post_get_x get(self.to, bytes.data(), size, self.sync, offset, remote);
              get.runtime(self.runtime);
              if (tag >= 0) get.tag(static_cast<tag_t>(tag)).remote_comp(self.rcomp);
              status = self.end_of(accepted(get));
              EXPECT_TRUE(status.is_done());
              EXPECT_EQ(bytes, make_message(self.rank, size, size)) << "what we put there";
              if (tag >= 0) {
                const status_t arrival = self.pop();
                EXPECT_EQ(arrival.rank, self.from);
                EXPECT_EQ(arrival.tag, static_cast<tag_t>(tag));
              }
              self.meet();
            }
          }
          if (allocated) {
            free_mr_x{&mr}.runtime(self.runtime)();
          } else {
            deregister_memory_x{&mr}.runtime(self.runtime)();
          }
        },
        defaults);
  }
}

TEST_P(Rma, MemoryThatIsNotOpenIsAnExceptionAndUntouched) {
  run(ranks(), [](rank_under_test& self) {
    std::vector<unsigned char> open(3000, 1);
    std::vector<unsigned char> local(3000, 2);
    mr_t mr = register_memory_x(open.data() + 1000, 1000).runtime(self.runtime)();
    const rmr_t remote = self.exchange(mr)[static_cast<size_t>(self.to)];
    const auto put = [&](size_t size, uintptr_t disp, rmr_t rmr) {
      static_cast<void>(
          post_put_x(self.to, local.data(), size, COMP_NULL, disp, rmr).runtime(self.runtime)());
    };
    EXPECT_THROW(put(1001, 0, remote), std::invalid_argument);
    EXPECT_THROW(put(1, 1000, remote), std::invalid_argument);
    EXPECT_THROW(put(2, ~uintptr_t{0}, remote), std::invalid_argument);
    rmr_t forged = remote;
    forged.opaque_rkey ^= 4;
    EXPECT_THROW(put(1, 0, forged), std::runtime_error);
    EXPECT_THROW(put(1, 0, RMR_NULL), std::invalid_argument);
    self.meet();
    deregister_memory_x{&mr}.runtime(self.runtime)();
    self.meet();
    EXPECT_THROW(put(1, 0, remote), std::runtime_error) << "after it was closed";
    self.meet();
    EXPECT_EQ(open, std::vector<unsigned char>(3000, 1));
  });
}

// Over libfabric, where the target reads the bytes of a large put into its memory.
TEST_P(Rma, MemoryThatIsFreedDuringAPutBreaksNoConnection) {
  const char* const backend = std::getenv("LCI_TEST_BACKEND");
  if (backend == nullptr || std::string(backend) != "ofi" || ranks() < 2) {
    GTEST_SKIP() << "of puts through another process";
  }
  run(ranks(), [](rank_under_test& self) {
    constexpr size_t size = size_t{16} << 20;
    std::vector<unsigned char> bytes(size, 1);
    for (int round = 0; round < 3; ++round) {
      mr_t mr = alloc_mr_x(size).runtime(self.runtime)();
      const rmr_t remote = self.exchange(mr)[static_cast<size_t>(self.to)];
      const status_t posted = accepted(
          post_put_x(self.to, bytes.data(), size, self.sync, 0, remote).runtime(self.runtime));
      const auto* const open = static_cast<const volatile unsigned char*>(get_mr_address(mr));
      while (open[0] == 0) progress_x().runtime(self.runtime)();
      free_mr_x{&mr}.runtime(self.runtime)();
      // The put may also fail.
      static_cast<void>(self.end_of(posted));
      self.meet();
    }
  });
}

// An exception or a status `fatal` can't say more than that a put or get has failed.
TEST_P(Rma, TheLogSaysWhyAPostedOperationHasFailed) {
  std::atomic<size_t> failures{0};
  testing::internal::CaptureStderr();
  run(ranks(), [&failures](rank_under_test& self) {
    std::vector<unsigned char> bytes(300);
    mr_t mr = register_memory_x(bytes.data(), bytes.size()).runtime(self.runtime)();
    const rmr_t remote = self.exchange(mr)[static_cast<size_t>(self.to)];
    self.meet();
    deregister_memory_x{&mr}.runtime(self.runtime)();
    self.meet();
    for (const bool is_get : {false, true}) {
      const std::string error = error_of<std::runtime_error>([&] {
        post_comm_x op(is_get ? direction_t::IN : direction_t::OUT, self.to, bytes.data(),
                       bytes.size(), self.sync);
        op.remote_disp(0).rmr(remote).runtime(self.runtime);
        // The network may also refuse it at once: then the post throws.
        if (self.end_of(accepted(op)).is_fatal()) ++failures;
      });
      EXPECT_EQ(error.find("says why"), std::string::npos) << error;
    }
    self.meet();
  });
  const std::string log = testing::internal::GetCapturedStderr();
  size_t lines = 0;
  const std::string part = "of memory of rank";
  for (size_t at = log.find(part); at != std::string::npos; at = log.find(part, at + 1)) ++lines;
  EXPECT_EQ(lines, failures.load()) << log;
}

TEST_P(Rma, AProgramMayRegisterItsLocalBuffers) {
  run(ranks(), [](rank_under_test& self) {
    const auto size = less_if_simulated<size_t>(50000, 9000);
    auto bytes = make_message(self.rank, 1, 2 * size);
    std::vector<unsigned char> room(2 * size);
    mr_t out = register_memory_x(bytes.data(), bytes.size()).runtime(self.runtime)();
    mr_t in = register_memory_x(room.data(), room.size()).runtime(self.runtime)();
    // From the middle of one to the middle of the other.
    const status_t received = post_recv_x(self.from, room.data() + 100, size, 1, self.sync)
                                  .mr(in)
                                  .runtime(self.runtime)();
    const status_t sent = post_send_x(self.to, bytes.data() + 200, size, 1, COMP_NULL)
                              .mr(out)
                              .runtime(self.runtime)();
    EXPECT_TRUE(sent.is_done());
    EXPECT_TRUE(self.end_of(received).is_done());
    const auto expected = make_message(self.from, 1, 2 * size);
    EXPECT_TRUE(std::equal(room.begin() + 100,
                           room.begin() + 100 + static_cast<std::ptrdiff_t>(size),
                           expected.begin() + 200));
    EXPECT_EQ(room[99], 0);
    const auto send = [&](unsigned char* buffer, size_t n, mr_t mr) {
      return post_send_x(self.to, buffer, n, 1, COMP_NULL).mr(mr).runtime(self.runtime);
    };
    EXPECT_THROW(static_cast<void>(send(bytes.data() + 1, 2 * size, out)()), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(send(room.data(), 1, out)()), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(send(room.data(), 1, MR_DEVICE)()), std::invalid_argument);
    self.meet();
    deregister_memory_x{&out}.runtime(self.runtime)();
    deregister_memory_x{&in}.runtime(self.runtime)();
  });
}

// Posts that name no more than a device and the registration; a put or get takes the short path.
TEST_P(Rma, SmallOperationsNameTheirRegistration) {
  run(ranks(), [](rank_under_test& self) {
    const device_t device = get_default_device_x().runtime(self.runtime)();
    constexpr size_t size = 8;
    const auto own = make_message(self.rank, 1, size);
    const auto theirs = make_message(self.from, 1, size);
    auto bytes = own;
    std::vector<unsigned char> open(3 * size, 0);
    mr_t target = register_memory_x(open.data(), open.size()).runtime(self.runtime)();
    mr_t mr = register_memory_x(bytes.data(), size).runtime(self.runtime)();
    const rmr_t remote = self.exchange(target)[static_cast<size_t>(self.to)];
    const auto put = [&](uintptr_t disp) {
      return post_put_x(self.to, bytes.data(), size, self.sync, disp, remote).device(device);
    };
    const auto arrived = [&](size_t at) {
      return std::equal(theirs.begin(), theirs.end(),
                        open.begin() + static_cast<std::ptrdiff_t>(at));
    };
    EXPECT_TRUE(self.end_of(accepted(put(0).mr(mr))).is_done());
    EXPECT_TRUE(self.end_of(accepted(put(size).mr(MR_UNKNOWN))).is_done());
    EXPECT_TRUE(
        self.end_of(accepted(put(2 * size).mr(mr).remote_comp(self.rcomp).tag(3))).is_done());
    const status_t notified = self.pop();
    EXPECT_TRUE(notified.is_done());
    EXPECT_EQ(notified.rank, self.from);
    EXPECT_EQ(notified.tag, 3U);
    self.meet();
    EXPECT_TRUE(arrived(0) && arrived(size) && arrived(2 * size));

    std::vector<unsigned char> room(size);
    const status_t received = accepted(self.receive(room, 1));
    const auto send = post_send_x(self.to, bytes.data(), size, 1, COMP_NULL).device(device).mr(mr);
    EXPECT_TRUE(send().is_done());
    EXPECT_TRUE(self.end_of(received).is_done());
    EXPECT_EQ(room, theirs);
    const auto am =
        post_am_x(self.to, bytes.data(), size, COMP_NULL, self.rcomp).device(device).mr(mr);
    EXPECT_TRUE(am().is_done());
    const status_t message = self.pop();
    ASSERT_EQ(message.size, size);
    EXPECT_EQ(std::memcmp(message.buffer, theirs.data(), size), 0);
    std::free(message.buffer);

    std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    const auto get = post_get_x(self.to, bytes.data(), size, self.sync, size, remote);
    EXPECT_TRUE(self.end_of(accepted(post_get_x(get).device(device).mr(mr))).is_done());
    EXPECT_EQ(bytes, own);
    self.meet();
    deregister_memory_x{&mr}.runtime(self.runtime)();
    deregister_memory_x{&target}.runtime(self.runtime)();
  });
}

// Also by the short path.
TEST_P(Rma, SmallOperationsWithAWrongRegistrationAreRefused) {
  run(ranks(), [](rank_under_test& self) {
    const device_t device = get_default_device_x().runtime(self.runtime)();
    constexpr size_t size = 8;
    std::vector<unsigned char> bytes(3 * size, 1);
    std::vector<unsigned char> open(size, 0);
    mr_t target = register_memory_x(open.data(), size).runtime(self.runtime)();
    mr_t middle = register_memory_x(bytes.data() + size, size).runtime(self.runtime)();
    const rmr_t remote = self.exchange(target)[static_cast<size_t>(self.to)];
    const auto refused = [&](size_t from, mr_t mr) {
      unsigned char* const buffer = bytes.data() + from;
      const auto expect = [&](auto post) {
        EXPECT_THROW(static_cast<void>(post.device(device).mr(mr)()), std::invalid_argument)
            << from;
      };
      expect(post_put_x(self.to, buffer, size, self.sync, 0, remote));
      expect(post_put_x(self.to, buffer, size, self.sync, 0, remote).remote_comp(self.rcomp));
      expect(post_get_x(self.to, buffer, size, self.sync, 0, remote));
      expect(post_send_x(self.to, buffer, size, 1, self.sync));
      expect(post_am_x(self.to, buffer, size, self.sync, self.rcomp));
    };
    for (const size_t from : {size - 1, size + 1, size_t{0}, 2 * size}) refused(from, middle);
    refused(size, MR_DEVICE);
    mr_t closed = middle;
    deregister_memory_x{&middle}.runtime(self.runtime)();
    refused(size, closed);
    self.meet();
    EXPECT_EQ(open, std::vector<unsigned char>(size, 0));
    deregister_memory_x{&target}.runtime(self.runtime)();
  });
}

}  // namespace
}  // namespace lci
