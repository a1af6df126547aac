// A rank against servers that are absent, foreign, or broken; and the server of rank 0.
#include "lci/boot/tcp_client.h"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/boot/tcp_wire.h"
#include "lci/io/deadline.h"
#include "lci/io/framing.h"
#include "lci/io/handshake.h"
#include "lci/io/socket.h"
#include "lci/testing/job/test_job.h"

namespace lci::boot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using boot_ptr = std::unique_ptr<bootstrap>;

tcp_client_options options_for(const std::string& address, int rank, int size,
                               bootstrap::duration timeout = test_timeout) {
  tcp_client_options options;
  options.address = address;
  options.token = "secret";
  options.position.rank = rank;
  options.position.size = size;
  options.timeout = timeout;
  return options;
}

std::string preamble() {
  std::string bytes;
  io::append_preamble(&bytes, tcp_wire::protocol);
  return bytes;
}

std::string frame(tcp_wire::kind what, uint32_t request, std::string_view body) {
  std::string bytes;
  io::append_frame(&bytes, static_cast<uint8_t>(what), request, body);
  return bytes;
}

// The reply to the hello, which is the second request.
std::string reply(std::string_view body) { return frame(tcp_wire::kind::reply, 2, body); }

// Accepts one connection, waits for its challenge, proves that it has `token` unless that is null,
// sends `answer`, and ends.
class fake_server {
 public:
  fake_server(const char* token, std::string answer)
      : listener_(io::listen_on("127.0.0.1:0").value()),
        address_(io::local_address(listener_.get()).value()),
        thread_([this, token, answer = std::move(answer)] { run(token, answer); }) {}
  ~fake_server() {
    if (thread_.joinable()) thread_.join();
  }
  const std::string& address() const { return address_; }
  // The bytes that the client has sent after its challenge. Waits for the end of the connection.
  const std::string& received() {
    thread_.join();
    return received_;
  }

 private:
  void run(const char* token, const std::string& answer) {
    pollfd event = {listener_.get(), POLLIN, 0};
    ::poll(&event, 1, -1);
    const io::unique_fd fd(::accept(listener_.get(), nullptr, nullptr));
    listener_.reset();
    std::string challenge(io::preamble_size + io::header_size + io::nonce_size, '\0');
    ASSERT_EQ(::recv(fd.get(), challenge.data(), challenge.size(), MSG_WAITALL),
              static_cast<ssize_t>(challenge.size()));
    if (token != nullptr) {
      io::server_handshake server(tcp_wire::protocol, token);
      const std::string proof = server.answer(challenge.substr(challenge.size() - io::nonce_size));
      send(fd, preamble() + frame(tcp_wire::kind::proof, 1, proof));
      std::string hello(io::header_size + io::code_size, '\0');
      const ssize_t got = ::recv(fd.get(), hello.data(), hello.size(), MSG_WAITALL);
      received_ = hello.substr(0, static_cast<size_t>(std::max<ssize_t>(got, 0)));
    }
    send(fd, answer);
    ::shutdown(fd.get(), SHUT_WR);
    char rest[4096];
    for (ssize_t n; (n = ::recv(fd.get(), rest, sizeof rest, 0)) > 0;) {
      received_.append(rest, static_cast<size_t>(n));
    }
  }

  // The client may have ended the connection.
  void send(const io::unique_fd& fd, const std::string& bytes) {
    (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  io::unique_fd listener_;
  const std::string address_;
  std::string received_;
  std::thread thread_;
};

base::Status status_with(const char* token, const std::string& answer) {
  fake_server server(token, answer);
  return connect_tcp_bootstrap(options_for(server.address(), 0, 2)).status();
}

TEST(tcp_client, refuses_what_is_not_a_server_of_its_version) {
  const base::Status other = status_with(nullptr, "HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_TRUE(base::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("not a bootstrap server"));
  std::string newer = preamble();
  newer[4] = 42;
  const base::Status version = status_with(nullptr, newer);
  EXPECT_TRUE(base::IsFailedPrecondition(version)) << version;
  EXPECT_THAT(std::string(version.message()), HasSubstr("version 42"));
  // Both errors say what to do; the launcher is running.
  for (const base::Status& each : {other, version}) {
    EXPECT_THAT(std::string(each.message()), Not(HasSubstr("still running"))) << each;
  }
}

TEST(tcp_client, asks_for_the_launcher_if_nobody_listens) {
  std::string address;
  {
    const io::unique_fd listener = io::listen_on("127.0.0.1:0").value();
    address = io::local_address(listener.get()).value();
  }
  const base::Status status = connect_tcp_bootstrap(options_for(address, 0, 2)).status();
  EXPECT_TRUE(base::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is the launcher still running?"));
}

// The proof is mutual: a process that happens to listen there, or was put there, is not the server.
TEST(tcp_client, refuses_a_server_without_the_token) {
  const std::string ok(1, '\0');
  for (const char* token : {"", "Secret", "secret "}) {
    fake_server server(token, reply(ok));
    const base::Status status = connect_tcp_bootstrap(options_for(server.address(), 0, 2)).status();
    EXPECT_TRUE(base::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("LCI_BOOT_TOKEN"));
    EXPECT_LE(server.received().size(), io::header_size);  // no hello, but leave
  }
  // A server that does not prove anything.
  for (const std::string& answer :
       {frame(tcp_wire::kind::proof, 1, ""), frame(tcp_wire::kind::proof, 1, std::string(48, 'p')),
        frame(tcp_wire::kind::reply, 1, ok)}) {
    const base::Status status = status_with(nullptr, preamble() + answer);
    EXPECT_TRUE(base::IsPermissionDenied(status)) << status;
  }
}

TEST(tcp_client, a_server_without_the_token_gets_little_memory) {
  std::string large;
  io::append_header(&large, {io::max_handshake_body + 1, io::handshake_kind::proof, 1});
  const base::Status status = status_with(nullptr, preamble() + large);
  EXPECT_TRUE(base::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("1025 bytes; at most 1024"));
}

TEST(tcp_client, survives_malformed_answers) {
  constexpr auto reply_kind = static_cast<uint8_t>(tcp_wire::kind::reply);
  std::string huge;
  io::append_header(&huge, {tcp_wire::max_reply_size(2) + 1, reply_kind, 2});
  const std::string ok(1, '\0');
  constexpr const char* token = "secret";
  EXPECT_TRUE(base::IsInternal(status_with(token, reply(ok))));      // empty welcome
  EXPECT_TRUE(base::IsInternal(status_with(token, reply("\x77"))));  // unknown code
  EXPECT_TRUE(base::IsUnavailable(status_with(token, huge)));
  EXPECT_TRUE(base::IsUnavailable(status_with(token, reply(""))));  // no code
  EXPECT_TRUE(base::IsUnavailable(status_with(token, std::string(16, '\xff'))));
  EXPECT_TRUE(base::IsUnavailable(status_with(token, "")));  // the connection just ends
  EXPECT_TRUE(base::IsUnavailable(status_with(nullptr, preamble())));
  EXPECT_TRUE(base::IsUnavailable(status_with(nullptr, "")));
  const base::Status refused =
      status_with(token, frame(tcp_wire::kind::refused, 2, "it is not wanted"));
  EXPECT_TRUE(base::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("refuses this process: it is not wanted"));
}

TEST(tcp_client, says_that_nobody_listens) {
  const base::Status status = connect_tcp_bootstrap(options_for(free_address(), 3, 4)).status();
  EXPECT_TRUE(base::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 3 of 4"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("launcher"));
  EXPECT_TRUE(
      base::IsInvalidArgument(connect_tcp_bootstrap(options_for("no address", 0, 2)).status()));
}

TEST(tcp_client, a_wrong_token_is_reported) {
  test_job job(test_job::variant::tcp, 2);
  job.serve();
  const base::Status status = connect_tcp_bootstrap(options_for(job.address(), 0, 2)).status();
  EXPECT_TRUE(base::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("LCI_BOOT_TOKEN"));
}

TEST(tcp_client, the_end_of_the_server_is_unavailable) {
  auto job = std::make_unique<test_job>(test_job::variant::tcp, 1);
  job->serve();
  const base::StatusOr<boot_ptr> boot = job->connect(0);
  ASSERT_TRUE(boot.ok()) << boot.status();
  std::thread waiter(
      [&] { EXPECT_TRUE(base::IsUnavailable((*boot)->get("never", test_timeout).status())); });
  job.reset();
  waiter.join();
  EXPECT_TRUE(base::IsUnavailable((*boot)->put("key", "value")));
  EXPECT_TRUE(base::IsUnavailable((*boot)->barrier("b", test_timeout)));
  (*boot)->abort("does nothing, and returns");
}

// Stand-alone: rank 0 serves, from a helper process. `job.run_processes` gives each rank a process.

class pipe_pair {
 public:
  pipe_pair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::pipe(fds), 0);
    read_.reset(fds[0]);
    write_.reset(fds[1]);
  }
  // Returns when all write ends are closed.
  void wait_for_end() {
    write_.reset();
    char byte;
    EXPECT_EQ(::read(read_.get(), &byte, 1), 0);
  }
  void close() {
    write_.reset();
    read_.reset();
  }

 private:
  io::unique_fd read_, write_;
};

TEST(standalone, others_get_and_leave_while_rank_0_computes) {
  test_job job(test_job::variant::standalone, 3);
  pipe_pair others_alive;  // ranks 1 and 2 hold its write ends
  const int failed = job.run_processes(
      [&](int rank) {
        base::StatusOr<boot_ptr> boot = job.connect(rank);
        if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
        if (rank == 0) {
          EXPECT_TRUE((*boot)->put("key", "value").ok());
          // "Computes" until the processes of the other ranks have ended; the parent closes its
          // ends too.
          others_alive.wait_for_end();
          return true;
        }
        EXPECT_EQ((*boot)->get("key", test_timeout).value_or(""), "value");
        EXPECT_TRUE((*boot)->put(base::StrCat("from ", rank), "x").ok());
        EXPECT_TRUE((*boot)->get(base::StrCat("from ", 3 - rank), test_timeout).ok());
        boot->reset();
        return true;
      },
      [&] { others_alive.close(); });
  EXPECT_EQ(failed, 0);
}

TEST(standalone, rank_0_may_end_early) {
  test_job job(test_job::variant::standalone, 3);
  pipe_pair rank_0_alive;
  const int failed = job.run_processes(
      [&](int rank) {
        base::StatusOr<boot_ptr> boot = job.connect(rank);
        if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
        if (rank == 0) return (*boot)->put("key", "value").ok();
        // Also shows that the helper holds no inherited descriptor of rank 0 open, such as this
        // pipe.
        if (rank == 1) {
          rank_0_alive.wait_for_end();
          EXPECT_TRUE((*boot)->put("0 has ended", "").ok());
        } else {
          rank_0_alive.close();
        }
        EXPECT_TRUE((*boot)->get("0 has ended", test_timeout).ok());
        EXPECT_EQ((*boot)->get("key", test_timeout).value_or(""), "value");
        const base::Status barrier = (*boot)->barrier("all", test_timeout);
        EXPECT_TRUE(base::IsUnavailable(barrier)) << barrier;
        return true;
      },
      [&] { rank_0_alive.close(); });
  EXPECT_EQ(failed, 0);
}

TEST(standalone, the_death_of_rank_0_aborts_the_job) {
  test_job job(test_job::variant::standalone, 3);
  const int failed = job.run_processes([&](int rank) {
    const base::StatusOr<boot_ptr> boot = job.connect(rank);
    if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
    if (rank == 0) ::_exit(0);
    const base::Status got = (*boot)->get("never", test_timeout).status();
    EXPECT_TRUE(base::IsAborted(got)) << got;
    EXPECT_THAT(std::string(got.message()), HasSubstr("rank 0"));
    return true;
  });
  EXPECT_EQ(failed, 0);
}

TEST(standalone, the_helper_is_no_child_and_ends_with_the_job) {
  test_job job(test_job::variant::standalone, 2);
  const int failed = job.run_processes([&](int rank) {
    base::StatusOr<boot_ptr> boot = job.connect(rank);
    if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    return true;
  });
  EXPECT_EQ(failed, 0);
  const io::steady::time_point deadline = io::deadline_after(test_timeout);
  while (!io::listen_on(job.address()).ok()) {
    ASSERT_LT(io::steady::now(), deadline) << "the helper still listens";
    ::sched_yield();
  }
}

TEST(standalone, an_address_in_use_by_something_else_is_reported) {
  fake_server other(nullptr, "HTTP/1.1 400 Bad Request\r\n\r\n");
  const base::Status status =
      connect_standalone_tcp_bootstrap(options_for(other.address(), 0, 2)).status();
  EXPECT_TRUE(base::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("in use already"));
}

TEST(standalone, others_say_that_rank_0_is_not_there) {
  const base::Status status =
      connect_standalone_tcp_bootstrap(options_for(free_address(), 1, 2, 50ms)).status();
  EXPECT_TRUE(base::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0 serves this address"));
}

TEST(standalone, works_without_a_token_on_loopback_and_not_elsewhere) {
  const std::string address = free_address();
  const auto connect = [&](int rank) {
    tcp_client_options options = options_for(address, rank, 2);
    options.token = "";
    return connect_standalone_tcp_bootstrap(options);
  };
  std::thread other([&] { EXPECT_TRUE(connect(1).ok()); });
  EXPECT_TRUE(connect(0).ok());
  other.join();

  tcp_client_options open_to_all = options_for("0.0.0.0:0", 0, 2);
  open_to_all.token = "";
  const base::Status status = connect_standalone_tcp_bootstrap(open_to_all).status();
  EXPECT_TRUE(base::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("LCI_BOOT_TOKEN"));
}

}  // namespace
}  // namespace lci::boot
