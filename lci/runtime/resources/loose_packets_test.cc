#include "lci/runtime/resources/loose_packets.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lci/runtime/resources/fake_network.h"
#include "lci/runtime/resources/packet.h"

namespace lci::rt {
namespace {

constexpr size_t kib = 1024;
constexpr size_t mib = 1024 * kib;

// None of this is on the stack, where the address sanitizer does not keep its alignment.
std::unique_ptr<loose_packets> make(size_t most_kept) {
  return std::make_unique<loose_packets>(most_kept);
}

class LoosePackets : public testing::Test {
 protected:
  fake_network network_;
  fake_network former_;
  loose_packets packets_{mib};
};

TEST_F(LoosePackets, AnIdlePacketIsTakenAgain) {
  packet* const first = packets_.get(65536);
  EXPECT_TRUE(first->is_loose());
  EXPECT_TRUE(first->is_valid());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first->payload()) % 64, 0u);
  EXPECT_EQ(packets_.kept_bytes(), 0u);
  first->put();
  EXPECT_EQ(packets_.kept_bytes(), 65536u);
  packet* const second = packets_.get(40000);  // of the same power of two
  EXPECT_EQ(second, first);
  EXPECT_EQ(packets_.kept_bytes(), 0u);
  packet* const third = packets_.get(65536);
  EXPECT_NE(third, second);
  std::memset(second->payload(), 1, 40000);
  std::memset(third->payload(), 2, 65536);
  second->put();
  third->put();
  EXPECT_EQ(packets_.kept_bytes(), 2 * 65536u);
}

std::string error_of_put(packet* returned) {
  try {
    put_checked(returned);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_F(LoosePackets, AWatchedPacketCannotBeReturnedTwice) {
  const auto watched = std::make_unique<loose_packets>(mib, /*is_watched=*/true);
  packet* const first = watched->get(65536);
  packet* const second = watched->get(65536);
  EXPECT_FALSE(first->is_valid());
  EXPECT_EQ(error_of_put(first), "");
  EXPECT_EQ(error_of_put(second), "");
  for (packet* const again : {first, second}) {
    EXPECT_NE(error_of_put(again).find("put_upacket: this packet has been returned before"),
              std::string::npos);
  }
  alignas(64) unsigned char none[128] = {};
  EXPECT_NE(error_of_put(packet::of(none + 64)).find("not a packet"), std::string::npos);
  // No room for more than 16 of them: the first one is used again, and may be returned again.
  std::set<packet*> taken;
  for (int i = 0; i < 32; ++i) {
    packet* const one = watched->get(65536);
    taken.insert(one);
    EXPECT_EQ(error_of_put(one), "");
  }
  EXPECT_LT(taken.size(), 32u);
}

TEST_F(LoosePackets, PacketsHaveRoomForAnySize) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{512}, size_t{513}, mib - 1, mib, mib + 1, 4 * mib + 3}) {
    packet* const one = packets_.get(size);
    std::memset(one->payload(), 1, size);
    one->put();
    EXPECT_LE(packets_.kept_bytes(), mib) << size;
  }
  EXPECT_THROW(packets_.get(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(packets_.get(SIZE_MAX / 2), std::bad_alloc);
}

TEST_F(LoosePackets, KeepsNoMoreThanItMay) {
  std::vector<packet*> taken;
  for (int i = 0; i < 40; ++i) taken.push_back(packets_.get(64 * kib));
  for (packet* each : taken) each->put();
  EXPECT_EQ(packets_.kept_bytes(), mib);
  // Those of the size that is used last stay.
  packet* const large = packets_.get(mib);
  large->put();
  EXPECT_EQ(packets_.kept_bytes(), mib);
  EXPECT_EQ(packets_.get(mib), large);
  EXPECT_EQ(packets_.kept_bytes(), 0u);
  large->put();
}

TEST_F(LoosePackets, KeepsNothingIfItMayNot) {
  const auto packets = make(0);
  packets->get(65536)->put();
  packets->get(1)->put();
  EXPECT_EQ(packets->kept_bytes(), 0u);
}

TEST_F(LoosePackets, APacketThatMayBeWrittenIsNotTakenAgain) {
  packet* const one = packets_.get(65536);
  ASSERT_TRUE(loose_packets::region_of(*one, network_).ok());
  loose_packets::discard(one);
  EXPECT_EQ(packets_.kept_bytes(), 0u);
  EXPECT_EQ(network_.open(), 0u);
}

TEST_F(LoosePackets, APacketStaysRegistered) {
  {
    const auto packets = make(mib);
    packet* const one = packets->get(40000);
    const auto made = loose_packets::region_of(*one, network_);
    ASSERT_TRUE(made.ok());
    EXPECT_TRUE(network_.is_at(*made, 0, one->payload()));
    EXPECT_TRUE(network_.covers(*made, one->payload(), 65536));
    one->put();
    packet* const again = packets->get(65536);
    const auto known = loose_packets::region_of(*again, network_);
    ASSERT_TRUE(known.ok());
    EXPECT_EQ(known->handle, made->handle);
    EXPECT_EQ(network_.open(), 1u);
    again->put();
  }
  EXPECT_EQ(network_.open(), 0u);
}

TEST_F(LoosePackets, APacketIsRegisteredWithOneNetworkAtATime) {
  packet* const one = packets_.get(65536);
  ASSERT_TRUE(loose_packets::region_of(*one, former_).ok());
  ASSERT_TRUE(loose_packets::region_of(*one, network_).ok());
  EXPECT_EQ(former_.open(), 0u);
  EXPECT_EQ(network_.open(), 1u);
  packet* const other = packets_.get(65536);
  ASSERT_TRUE(loose_packets::region_of(*other, former_).ok());
  one->put();
  packets_.forget(network_);
  EXPECT_EQ(former_.open(), 1u);
  EXPECT_EQ(network_.open(), 0u);
  packets_.forget(former_);  // in use
  EXPECT_EQ(former_.open(), 0u);
  // As good as new.
  const auto made = loose_packets::region_of(*other, former_);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(former_.covers(*made, other->payload(), 65536));
  other->put();
  packets_.forget(former_);
}

TEST_F(LoosePackets, AnErrorOfTheNetworkIsReturned) {
  network_.set_room(0);
  packet* const one = packets_.get(65536);
  EXPECT_FALSE(loose_packets::region_of(*one, network_).ok());
  network_.set_room(1);
  EXPECT_TRUE(loose_packets::region_of(*one, network_).ok());
  one->put();
  packets_.forget(network_);
}

TEST_F(LoosePackets, APacketMayBeReturnedAfterTheEnd) {
  std::unique_ptr<loose_packets> packets = make(mib);
  packet* const returned = packets->get(65536);
  packet* const discarded = packets->get(100);
  ASSERT_TRUE(loose_packets::region_of(*returned, network_).ok());
  packets.reset();
  EXPECT_EQ(network_.open(), 0u);
  std::memset(returned->payload(), 1, 65536);
  returned->put();
  loose_packets::discard(discarded);
}

// What one thread returns, another takes.
TEST_F(LoosePackets, ManyThreadsOwnEachPacketAlone) {
  constexpr size_t threads = 8;
  constexpr int rounds = 300;
  const auto packets = make(2 * mib);
  std::atomic<packet*> exchanged{nullptr};
  std::atomic<int> disturbed{0};
  std::vector<std::thread> users;
  for (size_t t = 0; t < threads; ++t) {
    users.emplace_back([&, t] {
      for (int round = 0; round < rounds; ++round) {
        const size_t size = 1000 << (round + t) % 6;
        packet* const one = packets->get(size);
        std::memset(one->payload(), static_cast<int>(t + 1), size);
        const auto region = loose_packets::region_of(*one, network_);
        if (!region.ok() || !network_.covers(*region, one->payload(), size)) ++disturbed;
        for (size_t i = 0; i < size; i += 97) disturbed += one->payload()[i] != t + 1 ? 1 : 0;
        if (packet* const other = exchanged.exchange(one)) other->put();
      }
    });
  }
  for (std::thread& each : users) each.join();
  exchanged.load()->put();
  EXPECT_EQ(disturbed, 0);
  EXPECT_LE(packets->kept_bytes(), 2 * mib);
  EXPECT_GT(packets->kept_bytes(), 0u);
  packets->forget(network_);
  EXPECT_EQ(network_.open(), 0u);
}

}  // namespace
}  // namespace lci::rt
