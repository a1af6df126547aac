// The ways in and out of a connection: the door, the connector and the link, with right and wrong
// people at the other end.
#include "tools/launcher/door.h"

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/launcher/connector.h"

namespace lci::launcher {
namespace {

using testing::HasSubstr;

// Lets in who says so, and hears what they send.
class host final : public door::events, public link::owner {
 public:
  std::string admit(const std::shared_ptr<link>& who, const wire::hello& said) override {
    if (said.node == 13) return "we have no host 13";
    guest = who;
    node = said.node;
    who->hand_over(this, wire::max_helper_body);
    return "";
  }
  bool on_frame(link&, wire::kind kind, std::string_view body) override {
    wire::failed frame;
    if (kind != wire::kind::failed || !wire::decode(body, &frame)) return false;
    heard += frame.what;
    return true;
  }
  void on_end(link&, const std::string& why) override { ended = why; }

  std::shared_ptr<link> guest;
  uint32_t node = 0;
  std::string heard;
  std::string ended;
};

// The helper's side of a link.
class visitor final : public link::owner {
 public:
  bool on_frame(link&, wire::kind kind, std::string_view body) override {
    wire::refused frame;
    if (kind != wire::kind::refused || !wire::decode(body, &frame)) return false;
    refused = frame.why;
    return true;
  }
  void on_end(link&, const std::string& why) override { ended = why; }

  std::string refused;
  std::string ended;
};

class DoorTest : public testing::Test {
 protected:
  static constexpr size_t max_strangers = 3;

  void SetUp() override {
    auto listener = boot::listen_on("127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status();
    address_ = *boot::local_address(listener->get());
    door_ = std::make_unique<door>(&loop_, static_cast<door::events*>(&host_), *std::move(listener),
                                   "job", "token", max_strangers);
  }

  // The link of a connector, or null and why.
  std::pair<std::shared_ptr<link>, std::string> connect(const std::vector<std::string>& addresses,
                                                        const std::string& job_id) {
    bool done = false;
    std::pair<std::shared_ptr<link>, std::string> result;
    connector way(&loop_, addresses, job_id,
                  [&](std::shared_ptr<link> found, const std::string& why) {
                    done = true;
                    if (found != nullptr) {
                      found->hand_over(&visitor_, wire::max_stranger_body);
                    }
                    result = {std::move(found), why};
                  });
    while (!done) loop_.run_once();
    return result;
  }

  // Of a stranger who sends these bytes, all that comes back until the connection ends.
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
  static std::string said(const Frame& frame) {
    std::string text = preamble();
    wire::append_frame(&text, frame);
    return text;
  }

  event_loop loop_;
  host host_;
  visitor visitor_;
  std::string address_;
  std::unique_ptr<door> door_;
};

TEST_F(DoorTest, LetsAHelperIn) {
  const auto [mine, why] = connect({address_}, "job");
  ASSERT_NE(mine, nullptr) << why;
  mine->send(wire::hello{"token", 5, 0, "name"});
  while (host_.guest == nullptr) loop_.run_once();
  EXPECT_EQ(host_.node, 5u);
  // More than a socket holds at once.
  const std::string text(3000, 'x');
  for (int i = 0; i < 1000; ++i) mine->send(wire::failed{1, text});
  while (host_.heard.size() < 3000000) loop_.run_once();
  mine->close();
  while (host_.ended.empty()) loop_.run_once();
  EXPECT_EQ(host_.ended, "the connection was closed");
}

TEST_F(DoorTest, SaysWhyItRefuses) {
  for (const auto& [hello, why] : {std::make_pair(wire::hello{"wrong", 1, 0, ""}, "token"),
                                   std::make_pair(wire::hello{"", 1, 0, ""}, "token"),
                                   std::make_pair(wire::hello{"token", 13, 0, ""}, "no host 13")}) {
    visitor_ = {};
    const auto [mine, error] = connect({address_}, "");
    ASSERT_NE(mine, nullptr) << error;
    mine->send(hello);
    while (visitor_.ended.empty()) loop_.run_once();
    EXPECT_THAT(visitor_.refused, HasSubstr(why));
    EXPECT_EQ(host_.guest, nullptr);
  }
}

TEST_F(DoorTest, StrangersWhoMakeNoSenseAreShownOut) {
  std::string too_large = preamble();
  boot::tcp_wire::append_le(&too_large, wire::max_stranger_body + 1, 4);
  too_large += static_cast<char>(wire::kind::hello);
  std::string cut = said(wire::hello{"token", 1, 0, "name"});
  cut.pop_back();
  std::string longer = said(wire::hello{"token", 1, 0, "name"});
  ++longer[wire::preamble_size];
  longer += '\0';
  for (const std::string& bytes :
       {std::string(), std::string("GET / HTTP/1.0\r\n\r\n"), preamble(), too_large, cut, longer,
        said(wire::end{0}), said(wire::failed{1, "x"}), said(wire::finished{})}) {
    const std::string answer = answer_to(bytes);
    // The preamble and the greeting, nothing else.
    EXPECT_EQ(answer, said(wire::greeting{"job"})) << testing::PrintToString(bytes);
    EXPECT_EQ(host_.guest, nullptr);
  }
}

TEST_F(DoorTest, OfTooManyStrangersTheFirstGoes) {
  std::vector<boot::unique_fd> strangers;
  for (size_t i = 0; i < max_strangers; ++i) {
    strangers.push_back(
        *boot::connect_to(address_, boot::steady::now() + std::chrono::seconds(60)));
  }
  const auto [mine, why] = connect({address_}, "job");
  ASSERT_NE(mine, nullptr) << why;
  mine->send(wire::hello{"token", 1, 0, ""});
  while (host_.guest == nullptr) loop_.run_once();
  std::string heard;
  char block[256];
  for (ssize_t n; (n = recv(strangers[0].get(), block, sizeof(block), 0)) > 0;) {
    heard.append(block, static_cast<size_t>(n));
  }
  EXPECT_EQ(heard, said(wire::greeting{"job"}));  // and then the end
  EXPECT_EQ(recv(strangers[0].get(), block, sizeof(block), 0), 0);
}

TEST_F(DoorTest, AConnectorTakesTheRightOneOfSeveralAddresses) {
  // Nobody listens there (any more); another job is there; that is no lcrun's preamble; that is it.
  auto gone = boot::listen_on("127.0.0.1:0");
  const std::string gone_address = *boot::local_address(gone->get());
  gone->reset();
  auto other_listener = boot::listen_on("127.0.0.1:0");
  const std::string other_address = *boot::local_address(other_listener->get());
  door other(&loop_, static_cast<door::events*>(&host_), *std::move(other_listener), "other",
             "token", max_strangers);
  auto [mine, why] = connect({gone_address, other_address, address_}, "job");
  ASSERT_NE(mine, nullptr) << why;
  mine->send(wire::hello{"token", 2, 0, ""});
  while (host_.guest == nullptr) loop_.run_once();
  EXPECT_EQ(host_.node, 2u);

  std::tie(mine, why) = connect({gone_address, other_address}, "job");
  EXPECT_EQ(mine, nullptr);
  EXPECT_THAT(why, testing::AnyOf(HasSubstr("another job"), HasSubstr("Connection refused")));
  std::tie(mine, why) = connect({"no address"}, "job");
  EXPECT_EQ(mine, nullptr);
  EXPECT_THAT(why, HasSubstr("no address"));
  std::tie(mine, why) = connect({}, "job");
  EXPECT_EQ(mine, nullptr);
}

}  // namespace
}  // namespace lci::launcher
