#include "lci/runtime/protocol/choose.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

struct row {
  message_shape shape;
  protocol expected;
};

void expect_all(const message_limits& limits, const std::vector<row>& rows) {
  for (const row& r : rows) {
    EXPECT_EQ(choose_protocol(r.shape, limits), r.expected)
        << "header " << r.shape.header_size << ", size " << r.shape.size << ", in packet "
        << r.shape.in_packet << ", network " << r.shape.network_semantic << "; inject "
        << limits.max_inject << ", send " << limits.max_send;
  }
}

constexpr bool plain = false, packet = true;
constexpr bool memory = false, network = true;

TEST(ChooseProtocol, ANetworkThatInjectsLittle) {
  expect_all({64, 8192, 8192}, {
                                   {{0, 0, plain, memory}, protocol::inject},
                                   {{0, 63, plain, memory}, protocol::inject},
                                   {{0, 64, plain, memory}, protocol::inject},
                                   {{0, 65, plain, memory}, protocol::buffer_copy},
                                   {{16, 47, plain, memory}, protocol::inject},
                                   {{16, 48, plain, memory}, protocol::inject},
                                   {{16, 49, plain, memory}, protocol::buffer_copy},
                                   {{0, 8191, plain, memory}, protocol::buffer_copy},
                                   {{0, 8192, plain, memory}, protocol::buffer_copy},
                                   {{0, 8193, plain, memory}, protocol::rendezvous},
                                   {{16, 8175, plain, memory}, protocol::buffer_copy},
                                   {{16, 8176, plain, memory}, protocol::buffer_copy},
                                   {{16, 8177, plain, memory}, protocol::rendezvous},
                                   {{0, SIZE_MAX, plain, memory}, protocol::rendezvous},
                                   {{16, SIZE_MAX, plain, memory}, protocol::rendezvous},
                                   {{16, SIZE_MAX - 15, plain, memory}, protocol::rendezvous},
                               });
}

TEST(ChooseProtocol, APacketOfTheProgramIsSentAsItIs) {
  expect_all({64, 8192, 8192}, {
                                   {{0, 64, packet, memory}, protocol::inject},
                                   {{0, 65, packet, memory}, protocol::zero_copy},
                                   {{16, 8176, packet, memory}, protocol::zero_copy},
                                   {{16, 8177, packet, memory}, protocol::rendezvous},
                                   {{0, 0, packet, network}, protocol::zero_copy},
                               });
}

TEST(ChooseProtocol, AnInjectedSendNeverSaysWhenItIsThere) {
  expect_all({64, 8192, 8192}, {
                                   {{0, 0, plain, network}, protocol::buffer_copy},
                                   {{0, 64, plain, network}, protocol::buffer_copy},
                                   {{0, 8193, plain, network}, protocol::rendezvous},
                               });
}

TEST(ChooseProtocol, ANetworkThatInjectsEverything) {
  expect_all({8224, 8224, 8192}, {
                                     {{0, 8192, plain, memory}, protocol::inject},
                                     {{32, 8192, plain, memory}, protocol::inject},
                                     {{0, 8192, packet, memory}, protocol::inject},
                                     {{0, 8225, plain, memory}, protocol::rendezvous},
                                 });
}

TEST(ChooseProtocol, ANetworkThatInjectsMoreThanAPacketHolds) {
  expect_all({32800, 32800, 8192}, {
                                       {{32, 32768, plain, memory}, protocol::inject},
                                       {{32, 8192, packet, memory}, protocol::inject},
                                       {{0, 32801, plain, memory}, protocol::rendezvous},
                                       {{0, 8192, plain, network}, protocol::buffer_copy},
                                       {{0, 8193, plain, network}, protocol::rendezvous},
                                   });
}

}  // namespace
}  // namespace lci::rt
