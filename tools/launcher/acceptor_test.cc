// Connections of the acceptor, the connector and framed_connection, with valid and invalid peers.
#include "tools/launcher/acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/hmac.h"
#include "tools/launcher/authentication.h"
#include "tools/launcher/connector.h"

namespace lci::launcher {
namespace {

using testing::HasSubstr;

// Admits helpers, and stores what they send.
class host final : public acceptor::events, public framed_connection::owner {
 public:
  std::string admit(const std::shared_ptr<framed_connection>& peer,
                    const wire::hello& hello) override {
    if (hello.node == 13) return "we have no host 13";
    helper = peer;
    node = hello.node;
    peer->hand_over(this, wire::max_helper_body);
    return "";
  }
  bool on_frame(framed_connection&, wire::kind kind, std::string_view body) override {
    wire::failed frame;
    if (kind != wire::kind::failed || !wire::decode(body, &frame)) return false;
    heard += frame.what;
    return true;
  }
  void on_end(framed_connection&, const std::string& why) override { ended = why; }

  std::shared_ptr<framed_connection> helper;
  uint32_t node = 0;
  std::string heard;
  std::string ended;
};

// The helper's side of a connection.
class helper_owner final : public framed_connection::owner {
 public:
  bool on_frame(framed_connection&, wire::kind kind, std::string_view body) override {
    wire::refused frame;
    if (kind != wire::kind::refused || !wire::decode(body, &frame)) return false;
    refused = frame.why;
    return true;
  }
  void on_end(framed_connection&, const std::string& why) override { ended = why; }

  std::string refused;
  std::string ended;
};

class AcceptorTest : public testing::Test {
 protected:
  static constexpr size_t max_unauthenticated = 3;

  void SetUp() override {
    auto listener = boot::listen_on("127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status();
    address_ = *boot::local_address(listener->get());
    acceptor_ = std::make_unique<acceptor>(&loop_, static_cast<acceptor::events*>(&host_),
                                           *std::move(listener), "token", max_unauthenticated);
  }

  // The connection of a connector and the code for wire::hello, or null and the reason.
  std::pair<std::shared_ptr<framed_connection>, std::string> connect(
      const std::vector<std::string>& addresses, const std::string& token, bool any_job = false) {
    bool done = false;
    std::pair<std::shared_ptr<framed_connection>, std::string> result;
    connector connecting(&loop_, addresses, token, any_job,
                         [&](std::shared_ptr<framed_connection> found, const std::string& why) {
                           done = true;
                           if (found != nullptr) {
                             found->hand_over(&owner_, wire::max_unauthenticated_body);
                           }
                           result = {std::move(found), why};
                         });
    while (!done) loop_.run_once();
    return result;
  }

  // All that the acceptor sends to a peer that sends these bytes, until the connection ends.
  std::string answer_to(const std::string& bytes) {
    auto socket = boot::connect_to(address_, boot::steady::now() + std::chrono::seconds(60));
    EXPECT_TRUE(socket.ok()) << socket.status();
    EXPECT_EQ(send(socket->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    shutdown(socket->get(), SHUT_WR);
    std::string answer;
    bool open = true;
    const event_loop::id watched = loop_.watch(socket->get(), POLLIN, [&] {
      char block[4096];
      const ssize_t n = recv(socket->get(), block, sizeof(block), 0);
      open = n > 0;
      if (open) answer.append(block, static_cast<size_t>(n));
    });
    while (open) loop_.run_once();
    loop_.forget(watched);
    return answer;
  }

  static std::string preamble() {
    std::string text;
    wire::append_preamble(&text);
    return text;
  }
  template <class Frame>
  static std::string frame_of(const Frame& frame) {
    std::string text = preamble();
    wire::append_frame(&text, frame);
    return text;
  }

  event_loop loop_;
  host host_;
  helper_owner owner_;
  std::string address_;
  std::unique_ptr<acceptor> acceptor_;
};

TEST_F(AcceptorTest, AdmitsAHelper) {
  const auto [connection, code] = connect({address_}, "token");
  ASSERT_NE(connection, nullptr) << code;
  connection->send(wire::hello{code, 5, 0, "name"});
  while (host_.helper == nullptr) loop_.run_once();
  EXPECT_EQ(host_.node, 5u);
  // More than a socket holds at once.
  const std::string text(3000, 'x');
  for (int i = 0; i < 1000; ++i) connection->send(wire::failed{1, text});
  while (host_.heard.size() < 3000000) loop_.run_once();
  connection->close();
  while (host_.ended.empty()) loop_.run_once();
  EXPECT_EQ(host_.ended, "the connection was closed");
}

TEST_F(AcceptorTest, ReportsWhyItRefuses) {
  struct row {
    const char* token;
    uint32_t node;
    const char* why;
  };
  for (const row& one :
       {row{"wrong", 1, "token"}, row{"", 1, "token"}, row{"token", 13, "no host 13"}}) {
    owner_ = {};
    const auto [connection, code] = connect({address_}, one.token, true);
    ASSERT_NE(connection, nullptr) << code;
    connection->send(wire::hello{code, one.node, 0, ""});
    while (owner_.ended.empty()) loop_.run_once();
    EXPECT_THAT(owner_.refused, HasSubstr(one.why));
    EXPECT_EQ(host_.helper, nullptr);
  }
}

// A code is that of one connection, and that of lcrun is not that of a helper.
TEST_F(AcceptorTest, RefusesCodesOfOtherConnections) {
  const auto [first, first_code] = connect({address_}, "token");
  const auto [second, second_code] = connect({address_}, "token");
  EXPECT_NE(first_code, second_code);
  for (const std::string& code : {first_code, std::string("token"), std::string()}) {
    owner_ = {};
    const auto [connection, own_code] = connect({address_}, "token");
    connection->send(wire::hello{code, 1, 0, ""});
    while (owner_.ended.empty()) loop_.run_once();
    EXPECT_THAT(owner_.refused, HasSubstr("token"));
  }
  EXPECT_EQ(host_.helper, nullptr);
  EXPECT_NE(proof_of_helper("token", "nonces"), proof_of_lcrun("token", "nonces"));
}

TEST_F(AcceptorTest, EndsConnectionsWithInvalidBytes) {
  const std::string nonce(nonce_size, 'n');
  std::string too_large = preamble();
  boot::tcp_wire::append_le(&too_large, wire::max_unauthenticated_body + 1, 4);
  too_large += static_cast<char>(wire::kind::challenge);
  std::string cut = frame_of(wire::challenge{nonce});
  cut.pop_back();
  std::string longer = frame_of(wire::challenge{nonce});
  ++longer[wire::preamble_size];
  longer += '\0';
  for (const std::string& bytes :
       {preamble(), too_large, cut, longer, frame_of(wire::challenge{"short"}),
        frame_of(wire::hello{"code", 1, 0, "name"}), frame_of(wire::end{0}),
        frame_of(wire::failed{1, "x"}), frame_of(wire::finished{})}) {
    EXPECT_EQ(answer_to(bytes), preamble()) << testing::PrintToString(bytes);
    EXPECT_EQ(host_.helper, nullptr);
  }
}

TEST_F(AcceptorTest, SendsNothingToAStranger) {
  EXPECT_EQ(answer_to(""), "");
  EXPECT_EQ(answer_to("GET / HTTP/1.0\r\n\r\n"), "");
  // A stranger that knows the protocol receives random bytes and a code of the token.
  const std::string challenge = frame_of(wire::challenge{std::string(nonce_size, 'n')});
  const std::string answer = answer_to(challenge);
  EXPECT_EQ(answer.size(),
            frame_of(wire::proof{std::string(nonce_size, 'n'), std::string(base::digest_size, 'c')})
                .size());
  EXPECT_NE(answer, answer_to(challenge));
}

TEST_F(AcceptorTest, ClosesTheOldestOfTooManyConnections) {
  std::vector<boot::unique_fd> peers;
  for (size_t i = 0; i < max_unauthenticated; ++i) {
    peers.push_back(*boot::connect_to(address_, boot::steady::now() + std::chrono::seconds(60)));
  }
  const auto [connection, code] = connect({address_}, "token");
  ASSERT_NE(connection, nullptr) << code;
  connection->send(wire::hello{code, 1, 0, ""});
  while (host_.helper == nullptr) loop_.run_once();
  char byte = 0;
  EXPECT_EQ(recv(peers[0].get(), &byte, 1, 0), 0);
}

TEST_F(AcceptorTest, AConnectorFindsTheJobAmongSeveralAddresses) {
  // The first address has no listener, the second is that of another job.
  auto gone = boot::listen_on("127.0.0.1:0");
  const std::string gone_address = *boot::local_address(gone->get());
  gone->reset();
  auto other_listener = boot::listen_on("127.0.0.1:0");
  const std::string other_address = *boot::local_address(other_listener->get());
  acceptor other(&loop_, static_cast<acceptor::events*>(&host_), *std::move(other_listener),
                 "another token", max_unauthenticated);
  auto [connection, code] = connect({gone_address, other_address, address_}, "token");
  ASSERT_NE(connection, nullptr) << code;
  connection->send(wire::hello{code, 2, 0, ""});
  while (host_.helper == nullptr) loop_.run_once();
  EXPECT_EQ(host_.node, 2u);

  std::tie(connection, code) = connect({gone_address, other_address}, "token");
  EXPECT_EQ(connection, nullptr);
  EXPECT_THAT(code, testing::AnyOf(HasSubstr("another job"), HasSubstr("Connection refused")));
  std::tie(connection, code) = connect({"no address"}, "token");
  EXPECT_EQ(connection, nullptr);
  EXPECT_THAT(code, HasSubstr("no address"));
  std::tie(connection, code) = connect({}, "token");
  EXPECT_EQ(connection, nullptr);
}

}  // namespace
}  // namespace lci::launcher
