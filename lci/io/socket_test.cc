#include "lci/io/socket.h"

#include <string>

#include "gtest/gtest.h"
#include "lci/base/strings.h"

namespace lci::io {
namespace {

std::string port_of(const unique_fd& listener) {
  const base::StatusOr<std::string> address = local_address(listener.get());
  EXPECT_TRUE(address.ok()) << address.status();
  return address.ok() ? address->substr(address->rfind(':') + 1) : "";
}

base::Status connect(std::string_view host, const std::string& port) {
  const auto deadline = steady::now() + std::chrono::seconds(60);
  return connect_to(base::StrCat(host, ":", port), deadline).status();
}

TEST(Socket, TheAddressOfAllInterfacesIsReachedOverBothVersionsOfIp) {
  const base::StatusOr<unique_fd> listener = listen_on("[::]:0");
  if (!listener.ok()) GTEST_SKIP() << "NOTHING WAS TESTED: no IPv6: " << listener.status();
  const std::string port = port_of(*listener);
  EXPECT_TRUE(connect("127.0.0.1", port).ok());
  EXPECT_TRUE(connect("[::1]", port).ok()) << connect("[::1]", port);
}

TEST(Socket, AnAddressOfOneVersionIsReachedOverThatVersionOnly) {
  const base::StatusOr<unique_fd> listener = listen_on("0.0.0.0:0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  const std::string port = port_of(*listener);
  EXPECT_TRUE(connect("127.0.0.1", port).ok());
  EXPECT_FALSE(connect("[::1]", port).ok());
}

}  // namespace
}  // namespace lci::io
