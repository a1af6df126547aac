#include "lci/io/socket.h"

#include <string>

#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/io/connection_race.h"
#include "lci/io/deadline.h"

namespace lci::io {
namespace {

std::string port_of(const unique_fd& listener) {
  const base::StatusOr<std::string> address = local_address(listener.get());
  EXPECT_TRUE(address.ok()) << address.status();
  return address.ok() ? address->substr(address->rfind(':') + 1) : "";
}

base::Status connect(std::string_view host, const std::string& port) {
  const auto deadline = steady::now() + std::chrono::seconds(60);
  connection_race race({base::StrCat(host, ":", port)});
  return race.next(deadline)->socket.status();
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

TEST(Socket, AServerForOthersStaysAtTheLoopbackIfThatIsNamed) {
  for (const char* address : {"127.0.0.1:0", "localhost:0"}) {
    const base::StatusOr<unique_fd> listener = listen_for_others(address);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_TRUE(is_loopback(listener->get())) << address;
  }
}

// Where /etc/hosts maps the name of this machine to 127.0.1.1; tests/hosts/names_test.sh makes such machines.
TEST(Socket, AServerForOthersListensAtAllAddressesIfItsNameIsThatOfTheMachine) {
  const std::string address = base::StrCat(base::host_name(), ":0");
  const base::StatusOr<unique_fd> by_name = listen_on(address);
  if (!by_name.ok() || !is_loopback(by_name->get())) {
    GTEST_SKIP() << "NOTHING WAS TESTED: " << address << " is no loopback address here";
  }
  const base::StatusOr<unique_fd> listener = listen_for_others(address);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_FALSE(is_loopback(listener->get()));
  EXPECT_TRUE(connect("127.0.0.1", port_of(*listener)).ok());
}

}  // namespace
}  // namespace lci::io
