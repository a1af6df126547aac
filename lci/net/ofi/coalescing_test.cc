#include "lci/net/ofi/coalescing.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/boot/in_process.h"
#include "lci/net/backend.h"
#include "lci/net/ofi/backend.h"
#include "lci/net/ofi/provider.h"

namespace lci::net::ofi {
namespace {

TEST(CoalescingLimit, IsNoMoreThanAPacket) {
  const coalescing_limit limit(size_t{1} << 40, 1000);
  EXPECT_TRUE(limit.takes(8, 992));
  EXPECT_FALSE(limit.takes(8, 993));
}

TEST(CoalescingLimit, IsFullWhenASmallMessageHasNoRoom) {
  const coalescing_limit limit(256, 8192);
  EXPECT_FALSE(limit.is_full(256 - record_span(32)));
  EXPECT_TRUE(limit.is_full(256 - record_span(32) + 1));
}

TEST(CoalescingLimit, ZeroCoalescesNothing) {
  const coalescing_limit limit(0, 8192);
  EXPECT_TRUE(limit.is_full(0));
  EXPECT_FALSE(limit.takes(0, 1));
}

TEST(PacketBytes, AreThoseOfAMessageWhereRoomCostsMemory) {
  EXPECT_EQ(choose_packet_bytes(8000, 65536, /*eager_limit=*/0, 4096, 67), 8000u);
}

TEST(PacketBytes, FollowTheAttributeWhereRoomIsFree) {
  EXPECT_EQ(choose_packet_bytes(8000, 65536, SIZE_MAX, 4096, 67), 65536u);
  EXPECT_EQ(choose_packet_bytes(8000, 65536, 16384, 4096, 67), 16384u);
  EXPECT_EQ(choose_packet_bytes(8000, 300, SIZE_MAX, 4096, 67), 8000u);
  EXPECT_EQ(choose_packet_bytes(8000, 0, SIZE_MAX, 4096, 67), 8000u);
}

TEST(PacketBytes, ShareTheRoomOfTheReceives) {
  EXPECT_EQ(choose_packet_bytes(8000, SIZE_MAX, SIZE_MAX, 4096, 2048), 16000u);
  EXPECT_EQ(choose_packet_bytes(8000, SIZE_MAX, SIZE_MAX, 4096, 100000), 8000u);
  EXPECT_EQ(choose_packet_bytes(8000, SIZE_MAX, SIZE_MAX, 4096, /*needed=*/0), 8000u)
      << "a single rank posts no receives";
}

// Two ranks, both driven by the test's thread, which decides when each of them polls.
class Coalescing : public testing::Test {
 protected:
  static constexpr const char* provider = "net";
  // Larger than completion::small, so that packets are lent.
  using message = std::array<uint64_t, 2>;
  static message make_message(uint32_t imm) {
    return {uint64_t{imm} * 0x0101010101010101, ~uint64_t{imm}};
  }

  using large = std::array<unsigned char, 5000>;
  static large make_large(uint32_t imm) {
    large bytes;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(imm + i * 7);
    return bytes;
  }

  void SetUp() override {
    wanted_provider wanted;
    wanted.name = provider;
    wanted.one_host = true;
    const auto found = list_providers(wanted);
    if (!found.ok()) GTEST_SKIP() << "NOTHING WAS TESTED: " << found.status();
  }

  void open(size_t coalescing_size) {
    device_attr_t attr;
    attr.ofi_gather_size = coalescing_size;
    for (const base::Status& status : open({attr, attr})) ASSERT_TRUE(status.ok()) << status;
    settle();
  }
  // Opens the device of each rank with the attributes of that rank.
  std::array<base::Status, 2> open(const std::array<device_attr_t, 2>& attr) {
    std::array<base::Status, 2> opened;
    as_each_rank([&](size_t rank) {
      context_config network;
      network.ofi_provider_name = provider;
      auto made = backend.make(*boots_[rank], network);
      ASSERT_TRUE(made.ok()) << made.status();
      networks_[rank] = *std::move(made);
      device_config config;
      config.attr = attr[rank];
      auto device = networks_[rank]->make_device(config);
      opened[rank] = device.status();
      if (device.ok()) devices_[rank] = *std::move(device);
    });
    return opened;
  }
  void TearDown() override {
    as_each_rank([&](size_t rank) { devices_[rank].reset(); });
    as_each_rank([&](size_t rank) { networks_[rank].reset(); });
  }

  // Polls until nothing is in flight.
  void settle() {
    while (!devices_[0]->drained() || !devices_[1]->drained()) {
      poll(0);
      poll(1);
    }
  }
  void send(uint32_t imm) {
    message sent = make_message(imm);
    error_t posted;
    do {
      posted = devices_[0]->post_short({1, op_kind::send}, imm, sent.data(), sizeof(sent), nullptr);
    } while (posted.is_retry());
    ASSERT_TRUE(posted.is_done());
  }
  // Sends a message so large that a packet for one message of 8 KiB cannot hold two.
  void send_large(uint32_t imm) {
    large sent = make_large(imm);
    error_t posted;
    do {
      posted = devices_[0]->post_short({1, op_kind::send}, imm, sent.data(), sizeof(sent), nullptr);
    } while (posted.is_retry());
    ASSERT_TRUE(posted.is_done());
  }
  // Keeps received messages and their leases in received_.
  void poll(size_t rank) {
    completion out[8];
    size_t count = 0;
    static_cast<void>(devices_[rank]->poll(out, 8, &count));
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(out[i].kind, completion_kind::recv);
      received_.push_back(out[i]);
    }
  }
  // Polls the receiver until it has `count` messages, and then often enough to see unexpected ones.
  void receive(size_t count) {
    while (received_.size() < count) poll(1);
    for (int i = 0; i < 500; ++i) poll(1);
  }
  void release(size_t i) { devices_[1]->release(received_[i]); }
  void release_all() {
    for (size_t i = 0; i < received_.size(); ++i) release(i);
    received_.clear();
  }
  bool is_intact(size_t i, uint32_t imm) const {
    const message expected = make_message(imm);
    return received_[i].imm == imm && received_[i].size == sizeof(expected) &&
           std::memcmp(received_[i].bytes(), expected.data(), sizeof(expected)) == 0;
  }

  std::vector<completion> received_;
  std::array<std::unique_ptr<device>, 2> devices_;

 private:
  template <class Body>
  void as_each_rank(Body body) {
    std::thread other([&] { body(1); });
    body(0);
    other.join();
  }

  std::vector<std::unique_ptr<boot::bootstrap>> boots_ =
      boot::make_in_process_job(2, std::chrono::seconds(60));
  std::array<std::unique_ptr<context>, 2> networks_;
};

TEST_F(Coalescing, ALoneMessageNeedsNoPoll) {
  open(8192);
  for (uint32_t i = 0; i < 3; ++i) {
    send(i);
    receive(i + 1);
    settle();
  }
  for (uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(is_intact(i, i));
  release_all();
}

TEST_F(Coalescing, MessagesBehindAPacketInFlightLeaveWithAPoll) {
  open(8192);
  for (uint32_t i = 0; i < 4; ++i) send(i);
  receive(1);
  ASSERT_EQ(received_.size(), 1);
  poll(0);
  receive(4);
  ASSERT_EQ(received_.size(), 4);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(is_intact(i, i));
  release_all();
}

TEST_F(Coalescing, AMessageWaitsForAPollAfterABurstButNotAfterALoneMessage) {
  open(8192);
  for (uint32_t i = 0; i < 3; ++i) send(i);
  poll(0);
  receive(3);
  settle();
  send(3);
  receive(3);
  EXPECT_EQ(received_.size(), 3);
  EXPECT_FALSE(devices_[0]->drained());  // drained() polls, too
  receive(4);
  settle();
  send(4);
  receive(5);
  for (uint32_t i = 0; i < 5; ++i) EXPECT_TRUE(is_intact(i, i));
  release_all();
}

// An injected packet has no completion of its own.
TEST_F(Coalescing, ALoneMessageIsDrainedWhenTheNetworkHasIt) {
  open(8192);
  send(0);
  EXPECT_FALSE(devices_[0]->drained());
  settle();
  EXPECT_TRUE(devices_[0]->drained());
  receive(1);
  EXPECT_TRUE(is_intact(0, 0));
  release_all();
}

TEST_F(Coalescing, LargerPacketsHoldSeveralLargeMessages) {
  open(16384);
  send_large(0);  // alone
  for (uint32_t i = 1; i < 4; ++i) send_large(i);
  receive(1);
  EXPECT_EQ(received_.size(), 1) << "three messages share a packet and wait for a poll";
  send_large(4);
  receive(4);
  EXPECT_EQ(received_.size(), 4) << "the fourth message had no room";
  poll(0);
  receive(5);
  ASSERT_EQ(received_.size(), 5);
  for (uint32_t i = 0; i < 5; ++i) {
    const large expected = make_large(i);
    EXPECT_EQ(received_[i].imm, i);
    ASSERT_EQ(received_[i].size, sizeof(expected));
    EXPECT_EQ(std::memcmp(received_[i].bytes(), expected.data(), sizeof(expected)), 0);
  }
  release_all();
}

TEST_F(Coalescing, AFullPacketNeedsNoPoll) {
  open(256);
  // The number of messages after the first that fill the packet: less than 32 bytes of room remain.
  const uint32_t fit =
      (256 - record_span(32) - sizeof(packet_header)) / record_span(2 * sizeof(uint64_t)) + 1;
  for (uint32_t i = 0; i < 1 + fit + 2; ++i) send(i);
  receive(1 + fit);
  ASSERT_EQ(received_.size(), 1 + fit);
  poll(0);
  receive(1 + fit + 2);
  for (uint32_t i = 0; i < 1 + fit + 2; ++i) EXPECT_TRUE(is_intact(i, i));
  release_all();
}

TEST_F(Coalescing, WithSizeZeroEachMessageLeavesByItself) {
  open(0);
  for (uint32_t i = 0; i < 20; ++i) send(i);
  receive(20);
  for (uint32_t i = 0; i < 20; ++i) EXPECT_TRUE(is_intact(i, i));
  release_all();
}

TEST_F(Coalescing, APacketIsInUseUntilAllItsMessagesAreReleased) {
  open(8192);
  for (uint32_t i = 0; i < 4; ++i) send(i);
  poll(0);
  receive(4);
  ASSERT_EQ(received_.size(), 4);
  release(3);
  release(1);
  release(0);
  const completion kept = received_[2];
  received_.clear();
  // More packets than there are receives.
  for (uint32_t i = 0; i < 300; ++i) {
    send(100 + i);
    while (received_.empty()) {
      poll(0);
      poll(1);
    }
    EXPECT_TRUE(is_intact(0, 100 + i));
    release_all();
  }
  received_.push_back(kept);
  EXPECT_TRUE(is_intact(0, 2));
  release_all();
}

TEST_F(Coalescing, AMessageOfTheEagerSizeIsSentByCopy) {
  open(8192);
  const size_t size = devices_[0]->limits().max_send;
  EXPECT_EQ(size, device_attr_t().ofi_eager_size + max_header_size);
  EXPECT_EQ(devices_[0]->limits().max_inject, size);
  // Between two small ones, which it neither overtakes nor is overtaken by.
  std::vector<unsigned char> sent(size);
  for (size_t i = 0; i < size; ++i) sent[i] = static_cast<unsigned char>(i * 7 + i / 256);
  send(1);
  ASSERT_TRUE(devices_[0]->post_short({1, op_kind::send}, 2, sent.data(), size, nullptr).is_done());
  send(3);
  while (received_.size() < 3) {
    poll(0);
    poll(1);
  }
  EXPECT_TRUE(is_intact(0, 1));
  EXPECT_EQ(received_[1].imm, 2u);
  ASSERT_EQ(received_[1].size, size);
  EXPECT_EQ(std::memcmp(received_[1].bytes(), sent.data(), size), 0);
  EXPECT_TRUE(is_intact(2, 3));
  release_all();
}

TEST_F(Coalescing, AnEagerSizeBelowAPacketOfTheRuntimeChangesNothing) {
  device_attr_t attr;
  attr.ofi_eager_size = 0;
  for (const base::Status& status : open({attr, attr})) ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(devices_[0]->limits().max_send, device_config().max_message);
  settle();
}

TEST_F(Coalescing, RanksWithOtherEagerSizesAreRefused) {
  // Smaller than a packet, so that packets do not differ.
  device_attr_t smaller;
  smaller.ofi_eager_size = 16384;
  device_attr_t larger;
  larger.ofi_eager_size = 32768;
  for (const base::Status& status : open({larger, smaller})) {
    EXPECT_NE(status.message().find("ofi_eager_size"), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace lci::net::ofi
