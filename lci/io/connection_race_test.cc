#include "lci/io/connection_race.h"

#include <sys/socket.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/io/deadline.h"
#include "lci/io/socket.h"
#include "lci/testing/no_descriptors/no_descriptors.h"
#include "lci/testing/silent_port/silent_port.h"

namespace lci::io {
namespace {

using testing::HasSubstr;

constexpr std::chrono::hours never{1};
constexpr std::chrono::milliseconds soon{1};

// A server at a port of its own.
class server {
 public:
  server() : listener_(*listen_on("127.0.0.1:0")), address_(*local_address(listener_.get())) {}

  const std::string& address() const { return address_; }
  bool has_connection() const {
    const unique_fd accepted(::accept(listener_.get(), nullptr, nullptr));
    return static_cast<bool>(accepted);
  }

 private:
  const unique_fd listener_;
  const std::string address_;
};

std::string address_without_server() { return server().address(); }

steady::time_point in_an_hour() { return deadline_after(never); }

TEST(ConnectionRace, EachAddressIsReturnedOnce) {
  const server first, second;
  const std::string nobody = address_without_server();
  connection_race race({first.address(), nobody, second.address()}, never);
  for (const std::string& address : {first.address(), nobody, second.address()}) {
    const auto ended = race.next(in_an_hour());
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->address, address);
    EXPECT_EQ(ended->socket.ok(), address != nobody) << ended->socket.status();
  }
  EXPECT_FALSE(race.next(in_an_hour()).has_value());
  EXPECT_TRUE(first.has_connection());
  EXPECT_TRUE(second.has_connection());
}

TEST(ConnectionRace, AnAddressThatNobodyListensAtIsNamed) {
  const std::string nobody = address_without_server();
  const auto ended = connection_race({nobody}).next(in_an_hour());
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(base::IsUnavailable(ended->socket.status()));
  EXPECT_EQ(ended->socket.status().message(),
            base::StrCat("cannot connect to ", nobody, ": Connection refused"));
}

TEST(ConnectionRace, AnotherAddressDoesNotWaitForOneThatSwallowsPackets) {
  const silent_port silent;
  const server other;
  connection_race race({silent.address(), other.address()}, soon);
  const auto first = race.next(in_an_hour());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->address, other.address());
  EXPECT_TRUE(first->socket.ok()) << first->socket.status();
  const auto second = race.next(steady::now());
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->address, silent.address());
  EXPECT_TRUE(base::IsDeadlineExceeded(second->socket.status()));
  EXPECT_EQ(second->socket.status().message(),
            base::StrCat("nobody answers at ", silent.address()));
  EXPECT_FALSE(race.next(in_an_hour()).has_value());
}

TEST(ConnectionRace, AServerThatAnswersGetsOneConnection) {
  const server first, second;
  {
    connection_race race({first.address(), second.address()}, never);
    const auto ended = race.next(in_an_hour());
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->address, first.address());
  }
  EXPECT_TRUE(first.has_connection());
  EXPECT_FALSE(second.has_connection());
}

TEST(ConnectionRace, AtTheDeadlineAllAddressesHaveTheirTurn) {
  const silent_port silent;
  const server other;
  connection_race race({silent.address(), other.address()}, never);
  const auto first = race.next(steady::now());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->address, other.address());
  EXPECT_TRUE(first->socket.ok()) << first->socket.status();
  const auto second = race.next(steady::now());
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(base::IsDeadlineExceeded(second->socket.status()));
}

TEST(ConnectionRace, WhatIsNoAddressIsRefused) {
  const server other;
  connection_race race({"nonsense", other.address()});
  const auto first = race.next(in_an_hour());
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(base::IsInvalidArgument(first->socket.status()));
  EXPECT_THAT(first->socket.status().message(), HasSubstr("\"nonsense\" is not an address"));
  const auto second = race.next(in_an_hour());
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(second->socket.ok());
}

TEST(ConnectionRace, AHostWithSeveralAddressesIsReachedAtAnyOfThem) {
  const server v4;
  const std::string port = v4.address().substr(v4.address().rfind(':'));
  const auto ended = connection_race({base::StrCat("localhost", port)}).next(in_an_hour());
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->socket.ok()) << ended->socket.status();
}

TEST(ConnectionRace, WithoutDescriptorsNothingIsCalledUnavailable) {
  const server other;
  connection_race race({other.address()});
  const no_descriptors none;
  const auto ended = race.next(in_an_hour());
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(base::IsResourceExhausted(ended->socket.status())) << ended->socket.status();
}

}  // namespace
}  // namespace lci::io
