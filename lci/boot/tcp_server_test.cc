// Unauthenticated peers and misbehaving ranks cannot affect a job. Tested byte by byte, on sockets.
#include "lci/boot/tcp_server.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/boot/tcp_wire.h"
#include "lci/io/bytes.h"
#include "lci/io/connection_race.h"
#include "lci/io/deadline.h"
#include "lci/io/framing.h"
#include "lci/io/handshake.h"
#include "lci/io/record.h"
#include "lci/io/socket.h"
#include "lci/testing/no_descriptors/no_descriptors.h"

namespace lci::boot {
namespace {

using tcp_wire::code;
using tcp_wire::kind;
using testing::HasSubstr;

constexpr char token[] = "a secret";
constexpr std::chrono::seconds patience(50);

constexpr size_t proof_size = io::preamble_size + io::header_size + io::nonce_size + io::code_size;

std::string preamble() {
  std::string bytes;
  io::append_preamble(&bytes, tcp_wire::protocol);
  return bytes;
}

std::string frame(kind what, uint32_t request, std::string_view body = "") {
  std::string bytes;
  io::append_frame(&bytes, static_cast<uint8_t>(what), request, body);
  return bytes;
}

std::string challenge(const io::client_handshake& client) {
  return preamble() + frame(kind::challenge, 1, client.challenge());
}

std::string hello_body(uint32_t rank, uint32_t size) {
  return io::encode_record(tcp_wire::hello{rank, size, 0, 0, "node"});
}

// After the challenge.
std::string hello(const io::client_handshake& client, uint32_t rank, uint32_t size) {
  return frame(kind::hello, 1, client.hello(hello_body(rank, size)));
}

std::string text_body(std::initializer_list<std::string_view> texts) {
  std::string body;
  for (std::string_view text : texts) io::append_text(&body, text);
  return body;
}

struct reply {
  kind what{};
  uint32_t request = 0;
  code result{};
  std::string payload;
};

// A server and connections to it, in one thread: the server steps whenever a connection waits.
class tcp_server_test : public testing::Test {
 protected:
  void listen(int size, const std::string& secret = token,
              std::chrono::milliseconds wait = start_patience) {
    tcp_server::options options;
    options.bind_address = "127.0.0.1:0";
    options.size = size;
    options.token = secret;
    options.job_id = "prefix";
    options.patience = wait;
    base::StatusOr<std::unique_ptr<tcp_server>> server = tcp_server::listen(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    secret_ = secret;
  }

  io::unique_fd connect() {
    io::connection_race race({server_->address()});
    auto ended = race.next(io::deadline_after(patience));
    EXPECT_TRUE(ended->socket.ok()) << ended->socket.status();
    return ended->socket.ok() ? *std::move(ended->socket) : io::unique_fd();
  }

  void step_until(const std::function<bool()>& done) {
    const io::steady::time_point deadline = io::deadline_after(patience);
    while (!done()) {
      ASSERT_LT(io::steady::now(), deadline) << "waited for too long";
      pollfd event = {server_->poll_fd(), POLLIN, 0};
      ::poll(&event, 1, 1);
      server_->step();
    }
  }

  void send(const io::unique_fd& fd, std::string_view bytes) {
    step_until([&] {
      const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
      return bytes.empty() || (sent < 0 && errno != EAGAIN && errno != EINTR);
    });
  }

  // Receives exactly `bytes` bytes; fewer if the connection ends before.
  std::string receive(const io::unique_fd& fd, size_t bytes) {
    std::string received;
    step_until([&] {
      if (received.size() == bytes) return true;
      std::string buffer(bytes - received.size(), '\0');
      const ssize_t got = ::recv(fd.get(), &buffer[0], buffer.size(), 0);
      if (got > 0) received.append(buffer, 0, static_cast<size_t>(got));
      return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    });
    return received;
  }

  bool is_closed(const io::unique_fd& fd) { return receive(fd, 1).empty(); }

  reply receive_frame(const io::unique_fd& fd) {
    reply r;
    io::frame_header header;
    std::string_view none;
    const std::string bytes = receive(fd, io::header_size);
    if (bytes.size() < io::header_size) {
      ADD_FAILURE() << "no frame";
      return r;
    }
    std::string body = receive(fd, io::load_le(bytes.data(), 6));
    io::frame_reader in(tcp_wire::protocol);
    in.add(preamble() + bytes + body);
    EXPECT_EQ(in.next(body.size(), &header, &none), io::frame_reader::item::preamble);
    EXPECT_EQ(in.next(body.size(), &header, &none), io::frame_reader::item::frame);
    r.what = static_cast<kind>(header.kind);
    r.request = header.request;
    if (r.what == kind::reply && !body.empty()) {
      r.result = static_cast<code>(body[0]);
      body.erase(0, 1);
    }
    r.payload = body;
    return r;
  }

  // The handshake until the hello.
  io::client_handshake greet(const io::unique_fd& fd) {
    io::client_handshake client(tcp_wire::protocol, secret_);
    send(fd, challenge(client));
    const std::string answer = receive(fd, proof_size);
    EXPECT_EQ(answer.substr(0, io::preamble_size), preamble());
    EXPECT_TRUE(client.check_proof(answer.substr(io::preamble_size + io::header_size)));
    return client;
  }

  void say_hello(const io::unique_fd& fd, uint32_t rank, uint32_t size) {
    send(fd, hello(greet(fd), rank, size));
  }

  // Opens a rank's connection and sends its hello.
  io::unique_fd join(uint32_t rank, uint32_t size) {
    io::unique_fd fd = connect();
    say_hello(fd, rank, size);
    return fd;
  }

  void expect_welcome(const io::unique_fd& fd) {
    const reply r = receive_frame(fd);
    tcp_wire::welcome welcome;
    EXPECT_EQ(r.result, code::ok) << r.payload;
    EXPECT_TRUE(io::decode_record(r.payload, &welcome));
    EXPECT_THAT(std::string(welcome.job_id), testing::StartsWith("prefix-"));
  }

  // Two ranks start, enter a barrier and leave: the job works.
  void expect_job_works() {
    std::vector<io::unique_fd> ranks;
    for (uint32_t rank : {0u, 1u}) ranks.push_back(join(rank, 2));
    for (const io::unique_fd& rank : ranks) expect_welcome(rank);
    for (const io::unique_fd& rank : ranks) {
      send(rank, frame(kind::enter_barrier, 2, text_body({"name"})));
    }
    for (const io::unique_fd& rank : ranks) EXPECT_EQ(receive_frame(rank).result, code::ok);
    for (const io::unique_fd& rank : ranks) send(rank, frame(kind::leave, 0));
    step_until([&] { return server_->count(rank_state::finished) == 2; });
  }

  std::unique_ptr<tcp_server> server_;
  std::string secret_;
};

struct unauthenticated_peer {
  const char* name;
  std::string bytes;
  size_t answer;  // bytes
};

// Peers without the token.
std::vector<unauthenticated_peer> unauthenticated_peers() {
  std::string other_version = preamble();
  other_version[4] = 99;
  const io::client_handshake client(tcp_wire::protocol, "a secreT");
  std::string reserved = frame(kind::challenge, 1, client.challenge());
  reserved[7] = 1;
  std::string huge;
  io::append_header(&huge, {uint64_t{1} << 47, io::handshake_kind::hello, 1});
  const std::string too_large(io::max_handshake_body + 1, 'x');
  const std::string body = std::string(io::code_size, 'c') + hello_body(0, 2);
  return {
      {"http", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 0},
      {"zeros", std::string(100, '\0'), 0},
      {"other_version", other_version + frame(kind::challenge, 1, client.challenge()),
       io::preamble_size},
      {"oversized_hello", challenge(client) + huge, proof_size},
      {"hello_just_too_large", challenge(client) + frame(kind::hello, 1, too_large), proof_size},
      {"hello_cut_short", challenge(client) + frame(kind::hello, 1, "x"), proof_size},
      {"hello_without_challenge", preamble() + frame(kind::hello, 1, body), io::preamble_size},
      {"reserved_bits", preamble() + reserved, io::preamble_size},
      {"put_first", preamble() + frame(kind::put, 1, text_body({"key", "value"})),
       io::preamble_size},
      {"put_without_hello", challenge(client) + frame(kind::put, 1, text_body({"key", "value"})),
       proof_size},
      {"abort_without_hello", challenge(client) + frame(kind::abort, 0, "reason"), proof_size},
      {"unknown_kind", challenge(client) + frame(static_cast<kind>(77), 1, body), proof_size},
      {"wrong_code", challenge(client) + frame(kind::hello, 1, body),
       proof_size + io::header_size + io::client_has_wrong_token.size()},
  };
}

class tcp_unauthenticated_peer : public tcp_server_test,
                                 public testing::WithParamInterface<unauthenticated_peer> {};

INSTANTIATE_TEST_SUITE_P(all, tcp_unauthenticated_peer, testing::ValuesIn(unauthenticated_peers()),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(tcp_unauthenticated_peer, is_refused_and_harms_nobody) {
  listen(2);
  const io::unique_fd waiting = join(1, 2);  // a rank that is connected already
  step_until([&] { return server_->state(1) == rank_state::connected; });
  const io::unique_fd fd = connect();
  send(fd, GetParam().bytes);
  EXPECT_EQ(receive(fd, 1 << 20).size(), GetParam().answer);
  EXPECT_EQ(server_->state(0), rank_state::absent);
  EXPECT_EQ(server_->state(1), rank_state::connected);
  EXPECT_FALSE(server_->aborted());
  const io::unique_fd zero = join(0, 2);
  expect_welcome(zero);
  expect_welcome(waiting);
}

// A rank that has the token may still be started wrongly.
TEST_F(tcp_server_test, a_rank_that_does_not_fit_is_told_why) {
  listen(2);
  const io::unique_fd waiting = join(1, 2);
  const struct {
    std::string body;
    const char* answer;
  } misfits[] = {
      {hello_body(2, 2), "rank 2 of 2"},
      {hello_body(0xffffffff, 2), "but the job has 2 ranks"},
      {hello_body(0, 3), "rank 0 of 3, but the job has 2 ranks"},
      {hello_body(1, 2), "another process is rank 1 already"},
      {hello_body(0, 2) + "x", "malformed"},
      {hello_body(0, 2).substr(0, 23), "malformed"},
      {"", "malformed"},
  };
  for (const auto& [body, answer] : misfits) {
    const io::unique_fd fd = connect();
    const io::client_handshake client = greet(fd);
    send(fd, frame(kind::hello, 7, client.hello(body)));
    const reply r = receive_frame(fd);
    EXPECT_EQ(r.what, kind::refused);
    EXPECT_EQ(r.request, 7u);
    EXPECT_THAT(r.payload, HasSubstr(answer));
    EXPECT_TRUE(is_closed(fd));
  }
  const io::unique_fd zero = join(0, 2);
  expect_welcome(zero);
  expect_welcome(waiting);
}

// An attacker who has recorded all that a rank has sent cannot join with it.
TEST_F(tcp_server_test, a_recorded_join_does_not_join) {
  listen(1);
  io::client_handshake client(tcp_wire::protocol, token);
  io::unique_fd rank = connect();
  send(rank, challenge(client));
  const std::string answer = receive(rank, proof_size);
  ASSERT_TRUE(client.check_proof(answer.substr(io::preamble_size + io::header_size)));
  send(rank, hello(client, 0, 1));
  expect_welcome(rank);
  send(rank, frame(kind::leave, 0));
  step_until([&] { return server_->state(0) == rank_state::finished; });

  const io::unique_fd replay = connect();
  send(replay,
       challenge(client) + hello(client, 0, 1) + frame(kind::put, 2, text_body({"k", "v"})));
  EXPECT_EQ(receive(replay, proof_size).size(), proof_size);
  const reply r = receive_frame(replay);
  EXPECT_EQ(r.what, kind::refused);
  EXPECT_THAT(r.payload, HasSubstr("LCI_BOOT_TOKEN"));
  EXPECT_TRUE(is_closed(replay));
  EXPECT_EQ(server_->state(0), rank_state::finished);
  EXPECT_EQ(server_->look_up("k"), nullptr);
}

// A hello may stop after any number of bytes.
TEST_F(tcp_server_test, half_a_hello_harms_nobody) {
  listen(2);
  std::vector<io::unique_fd> silent;
  const std::string whole = challenge(io::client_handshake(tcp_wire::protocol, token));
  for (size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    silent.push_back(connect());
    send(silent.back(), whole.substr(0, bytes));
    const io::unique_fd ended = connect();
    send(ended, whole.substr(0, bytes));
  }
  for (size_t bytes = 0; bytes < 70; bytes += 7) {
    for (const bool ends : {false, true}) {
      io::unique_fd fd = connect();
      send(fd, hello(greet(fd), 0, 2).substr(0, bytes));
      if (!ends) silent.push_back(std::move(fd));
    }
  }
  expect_job_works();
}

TEST_F(tcp_server_test, a_slow_hello_is_a_hello) {
  listen(1);
  const io::unique_fd fd = connect();
  const auto send_slowly = [&](const std::string& bytes) {
    for (const char byte : bytes) {
      send(fd, std::string_view(&byte, 1));
      server_->step();
    }
  };
  io::client_handshake client(tcp_wire::protocol, token);
  send_slowly(challenge(client));
  const std::string answer = receive(fd, proof_size);
  ASSERT_TRUE(client.check_proof(answer.substr(io::preamble_size + io::header_size)));
  send_slowly(hello(client, 0, 1));
  expect_welcome(fd);
}

TEST_F(tcp_server_test, frames_may_arrive_in_one_piece) {
  listen(1);
  const io::unique_fd fd = connect();
  send(fd, hello(greet(fd), 0, 1) + frame(kind::put, 2, text_body({"key", "value"})) +
               frame(kind::get, 3, text_body({"key"})) + frame(kind::leave, 0));
  expect_welcome(fd);
  EXPECT_EQ(receive_frame(fd).request, 2u);
  EXPECT_EQ(receive_frame(fd).payload, "value");
  EXPECT_TRUE(is_closed(fd));
  EXPECT_EQ(server_->state(0), rank_state::finished);
  EXPECT_TRUE(server_->idle());
}

TEST_F(tcp_server_test, a_flood_of_unauthenticated_peers_does_not_keep_ranks_out) {
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const size_t flood = limit.rlim_cur > 5000 ? 2000 : 300;
  listen(2);
  std::vector<io::unique_fd> crowd;
  for (size_t i = 0; i < flood; ++i) {
    crowd.push_back(connect());
    if (i % 64 == 0) server_->step();
  }
  expect_job_works();
  step_until([&] { return is_closed(crowd[0]); });  // the oldest connections have made room
}

// Once all ranks are there, nobody is missed.
TEST_F(tcp_server_test, without_descriptors_it_waits_and_does_not_spin) {
#ifdef __SANITIZE_ADDRESS__
  // UBSan probes memory with a pipe before it follows a pointer to a virtual table.
  GTEST_SKIP() << "NOTHING WAS TESTED: the sanitizer needs descriptors of its own";
#endif
  listen(2);
  const io::unique_fd first = join(0, 2);
  const io::unique_fd second = join(1, 2);
  expect_welcome(first);
  const io::unique_fd third = connect();
  pollfd event = {server_->poll_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&event, 1, -1), 1);
  {
    const no_descriptors none;  // accept fails from now on
    EXPECT_TRUE(server_->step());
    EXPECT_FALSE(server_->step());  // nothing is reported ready, although `third` waits
  }
  EXPECT_FALSE(server_->aborted().has_value());
  // The server accepts again after a connection has ended.
  send(first, frame(kind::leave, 0));
  send(second, frame(kind::leave, 0));
  step_until([&] { return server_->count(rank_state::connected) == 0; });
  say_hello(third, 0, 2);
  step_until([&] { return server_->state(0) == rank_state::connected; });
}

// A rank that can't connect is missed: all learn why, at once.
TEST_F(tcp_server_test, without_descriptors_for_a_rank_the_job_ends) {
#ifdef __SANITIZE_ADDRESS__
  // UBSan probes memory with a pipe before it follows a pointer to a virtual table.
  GTEST_SKIP() << "NOTHING WAS TESTED: the sanitizer needs descriptors of its own";
#endif
  listen(3);
  const io::unique_fd first = join(0, 3);
  step_until([&] { return server_->state(0) == rank_state::connected; });
  const io::unique_fd second = connect();
  pollfd event = {server_->poll_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&event, 1, -1), 1);
  {
    const no_descriptors none;
    EXPECT_TRUE(server_->step());
  }
  ASSERT_TRUE(server_->aborted().has_value());
  EXPECT_EQ(server_->aborted()->rank, -1);
  const std::string reason = server_->aborted()->reason;
  for (const char* part : {"2 of the 3 ranks", "EMFILE", "ulimit -n"}) {
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  }
  EXPECT_EQ(receive_frame(first).what, kind::aborted);
}

TEST_F(tcp_server_test, a_rank_that_sends_nonsense_is_lost_alone) {
  std::string huge;
  io::append_header(&huge, {tcp_wire::max_body_size + 1, static_cast<uint8_t>(kind::put), 5});
  const std::string too_long(bootstrap::max_key_size + 1, 'k');
  for (const std::string& nonsense :
       {huge, std::string(16, '\xff'), frame(static_cast<kind>(99), 5), frame(kind::hello, 5),
        frame(kind::put, 5, "x"), frame(kind::put, 5, text_body({"key"})),
        frame(kind::put, 5, text_body({"", "value"})), frame(kind::get, 5, text_body({too_long})),
        frame(kind::get, 5, text_body({"key", "more"})), frame(kind::enter_barrier, 5, ""),
        frame(kind::cancel, 5, "x"), frame(kind::leave, 5, "x"), frame(kind::reply, 5, "x"),
        frame(kind::get, 3, text_body({"never"})) + frame(kind::get, 3, text_body({"twice"}))}) {
    listen(3);
    std::vector<io::unique_fd> ranks;
    for (uint32_t rank : {0u, 1u, 2u}) ranks.push_back(join(rank, 3));
    for (const io::unique_fd& rank : ranks) expect_welcome(rank);
    send(ranks[0], frame(kind::enter_barrier, 9, text_body({"all"})));
    send(ranks[1], nonsense);
    EXPECT_TRUE(is_closed(ranks[1]));
    EXPECT_EQ(server_->state(1), rank_state::lost);
    const reply failed = receive_frame(ranks[0]);
    EXPECT_EQ(failed.request, 9u);
    EXPECT_EQ(failed.result, code::unavailable);
    EXPECT_THAT(failed.payload, HasSubstr("barrier \"all\": rank 1 left"));
    send(ranks[2], frame(kind::put, 2, text_body({"key", "value"})));
    EXPECT_EQ(receive_frame(ranks[2]).result, code::ok);
    send(ranks[0], frame(kind::get, 3, text_body({"key"})));
    EXPECT_EQ(receive_frame(ranks[0]).payload, "value");
  }
}

TEST_F(tcp_server_test, a_rank_that_does_not_read_keeps_nobody) {
  listen(2);
  const io::unique_fd deaf = join(0, 2), other = join(1, 2);
  expect_welcome(deaf);
  expect_welcome(other);
  const std::string large(bootstrap::max_value_size, 'v');
  send(other, frame(kind::put, 2, text_body({"large", large})));
  EXPECT_EQ(receive_frame(other).result, code::ok);
  constexpr uint32_t gets = 30;
  for (uint32_t i = 0; i < gets; ++i) send(deaf, frame(kind::get, 10 + i, text_body({"large"})));
  for (uint32_t i = 0; i < 10; ++i) {
    send(other, frame(kind::get, 100 + i, text_body({"large"})));
    EXPECT_TRUE(receive_frame(other).payload == large);
  }
  for (uint32_t i = 0; i < gets; ++i) {
    const reply late = receive_frame(deaf);
    EXPECT_EQ(late.request, 10 + i);
    EXPECT_TRUE(late.payload == large);
  }
}

TEST_F(tcp_server_test, the_launcher_s_abort_reaches_all_and_later_ones) {
  listen(3);
  const io::unique_fd started = join(0, 3);
  step_until([&] { return server_->state(0) == rank_state::connected; });
  server_->abort(-1, "rank 1 was killed");
  server_->abort(2, "too late");
  ASSERT_TRUE(server_->aborted().has_value());
  EXPECT_EQ(server_->aborted()->rank, -1);
  EXPECT_EQ(server_->aborted()->reason, "rank 1 was killed");
  const io::unique_fd late = join(2, 3);
  for (const io::unique_fd* fd : {&started, &late}) {
    const reply r = receive_frame(*fd);
    EXPECT_EQ(r.what, kind::aborted);
    EXPECT_THAT(r.payload, HasSubstr("rank 1 was killed"));
  }
  send(started, frame(kind::leave, 0));
  send(late, frame(kind::leave, 0));
  step_until([&] { return server_->idle(); });
}

TEST_F(tcp_server_test, states_follow_the_ranks) {
  listen(3);
  EXPECT_EQ(server_->count(rank_state::absent), 3);
  EXPECT_TRUE(server_->idle());
  std::vector<io::unique_fd> ranks;
  for (uint32_t rank : {0u, 1u, 2u}) ranks.push_back(join(rank, 3));
  for (const io::unique_fd& rank : ranks) expect_welcome(rank);
  EXPECT_EQ(server_->count(rank_state::connected), 3);
  EXPECT_FALSE(server_->idle());
  send(ranks[0], frame(kind::leave, 0));
  step_until([&] { return server_->state(0) == rank_state::finished; });
  ranks[1].reset();
  step_until([&] { return server_->state(1) == rank_state::lost; });
  // Rank 0 is early for the next round, and is in no round until the last rank has left this one.
  const io::unique_fd early = join(0, 3);
  send(early, frame(kind::cancel, 1));
  EXPECT_THAT(receive_frame(early).payload, HasSubstr("did not end on rank 2"));
  EXPECT_EQ(server_->state(0), rank_state::finished);
  ranks[2].reset();
  step_until([&] { return server_->state(0) == rank_state::connected; });
  EXPECT_EQ(server_->count(rank_state::absent), 2);
}

// As when the server was stopped meanwhile.
// poll_fd() is readable when it is time.
TEST_F(tcp_server_test, the_first_rank_that_waits_is_warned_again_and_again) {
  listen(4, token, std::chrono::milliseconds(1));
  const io::unique_fd second = join(2, 4);
  for (int i = 0; i < 3; ++i) {
    const reply warning = receive_frame(second);
    EXPECT_EQ(warning.what, kind::missing);
    EXPECT_THAT(warning.payload, HasSubstr("ranks 0, 1, 3 did not arrive yet"));
  }
  const io::unique_fd first = join(1, 4);
  EXPECT_THAT(receive_frame(first).payload, HasSubstr("ranks 0, 3 did not arrive yet"));
  const io::unique_fd others[] = {join(0, 4), join(3, 4)};
  expect_welcome(others[1]);
  send(others[1], frame(kind::put, 2, text_body({"key", "value"})));
  EXPECT_EQ(receive_frame(others[1]).what, kind::reply);
}

TEST_F(tcp_server_test, a_rank_that_left_before_its_replies_were_written_has_left) {
  listen(2);
  std::vector<io::unique_fd> ranks;
  for (uint32_t rank : {0u, 1u}) ranks.push_back(join(rank, 2));
  for (const io::unique_fd& rank : ranks) expect_welcome(rank);
  std::string bytes;
  for (uint32_t request : {2u, 3u, 4u, 5u}) {
    bytes += frame(kind::put, request, text_body({base::StrCat("key ", request), "value"}));
  }
  bytes += frame(kind::leave, 0);
  ASSERT_EQ(::send(ranks[1].get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  ranks[1].reset();
  step_until([&] { return server_->state(1) != rank_state::connected; });
  EXPECT_EQ(server_->state(1), rank_state::finished);
  EXPECT_NE(server_->look_up("key 5"), nullptr);
}

TEST_F(tcp_server_test, without_a_token_the_user_counts) {
  listen(2, "");
  const io::unique_fd own = connect();
  say_hello(own, 0, 2);
  step_until([&] { return server_->state(0) == rank_state::connected; });

  // The kernel records the user that created a socket as its owner.
  if (::geteuid() != 0) GTEST_SKIP() << "NOTHING WAS TESTED: only root can try to be somebody else";
  if (::seteuid(65534) != 0) GTEST_SKIP() << "NOTHING WAS TESTED: no other user here";
  const io::unique_fd foreign = connect();
  ASSERT_EQ(::seteuid(0), 0);
  say_hello(foreign, 1, 2);
  const reply r = receive_frame(foreign);
  EXPECT_EQ(r.what, kind::refused);
  EXPECT_THAT(r.payload, HasSubstr("LCI_BOOT_TOKEN"));
  EXPECT_EQ(server_->state(1), rank_state::absent);
}

TEST(tcp_server_options, bad_ones_are_errors) {
  tcp_server::options good;
  good.bind_address = "127.0.0.1:0";
  good.size = 1;
  good.token = token;
  const base::StatusOr<std::unique_ptr<tcp_server>> first = tcp_server::listen(good);
  ASSERT_TRUE(first.ok()) << first.status();

  const auto status_with = [&](const std::function<void(tcp_server::options*)>& change) {
    tcp_server::options changed = good;
    change(&changed);
    return tcp_server::listen(changed).status();
  };
  EXPECT_TRUE(
      base::IsAlreadyExists(status_with([&](auto* o) { o->bind_address = (*first)->address(); })));
  for (const char* address : {"", "localhost", "127.0.0.1:", ":80", "127.0.0.1:65536", "::1:80",
                              "127.0.0.1:x", "[::1]", "300.0.0.1:80x"}) {
    const base::Status status = status_with([&](auto* o) { o->bind_address = address; });
    EXPECT_TRUE(base::IsInvalidArgument(status)) << address << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(address));
  }
  EXPECT_TRUE(base::IsInvalidArgument(status_with([](auto* o) { o->size = 0; })));
  EXPECT_TRUE(base::IsInvalidArgument(status_with([](auto* o) { o->job_id = "a/b"; })));
  EXPECT_TRUE(base::IsInvalidArgument(
      status_with([](auto* o) { o->token = std::string(io::max_token_size + 1, 'x'); })));
  const base::Status open_to_all = status_with([](auto* o) {
    o->bind_address = "0.0.0.0:0";
    o->token = "";
  });
  EXPECT_TRUE(base::IsInvalidArgument(open_to_all));
  EXPECT_THAT(std::string(open_to_all.message()), HasSubstr("LCI_BOOT_TOKEN"));
}

}  // namespace
}  // namespace lci::boot
