#include "lci/testing/job/test_job.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "lci/base/check.h"
#include "lci/base/strings.h"
#include "lci/boot/file.h"
#include "lci/boot/in_process.h"
#include "lci/boot/job_id.h"
#include "lci/boot/tcp_client.h"
#include "lci/io/socket.h"
#include "lci/testing/fail_fast/fail_fast.h"
#include "lci/testing/job/rank_processes.h"

namespace lci::boot {

std::string new_directory() {
  std::string path = testing::TempDir() + "/boot-XXXXXX";
  LCI_CHECK(::mkdtemp(&path[0]) != nullptr, path);
  return path;
}

std::string free_address() {
  // Use a separate host in 127/8, so that no other test (all use 127.0.0.1) takes the port
  // meanwhile.
  const auto random_byte = [] { return std::stoi(random_hex(2), nullptr, 16); };
  const std::string host = base::StrCat("127.", 1 + random_byte() % 254, ".", random_byte(), ".",
                                        1 + random_byte() % 254);
  const base::StatusOr<io::unique_fd> fd = io::listen_on(base::StrCat(host, ":0"));
  LCI_CHECK(fd.ok(), fd.status().message());
  return io::local_address(fd->get()).value();
}

const char* test_job::name(variant which) {
  switch (which) {
    case variant::local:
      return "local";
    case variant::in_process:
      return "in_process";
    case variant::file:
      return "file";
    case variant::tcp:
      return "tcp";
    case variant::tcp_v6:
      return "tcp_v6";
    case variant::standalone:
      return "standalone";
    default:
      return "meeting";
  }
}

test_job::test_job(variant which, int size) : variant_(which), size_(size) {
  if (which == variant::local || which == variant::in_process) {
    ranks_ = make_in_process_job(size, test_timeout);
  }
  if (which == variant::file || which == variant::meeting) root_ = new_directory();
  if (which == variant::standalone) address_ = free_address();
  if (which == variant::tcp || which == variant::tcp_v6) {
    tcp_server::options options;
    options.bind_address = which == variant::tcp ? "127.0.0.1:0" : "[::1]:0";
    options.size = size;
    options.token = token;
    base::StatusOr<std::unique_ptr<tcp_server>> server = tcp_server::listen(options);
    LCI_CHECK(server.ok(), server.status().message());
    server_ = *std::move(server);
    address_ = server_->address();
  }
}

test_job::~test_job() { stop_serving(); }

void test_job::serve() {
  if (server_ == nullptr || serving_.joinable()) return;
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
  serving_ = std::thread([this] {
    for (;;) {
      pollfd events[2] = {{server_->poll_fd(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      ::poll(events, 2, -1);
      if (events[1].revents != 0) return;
      server_->step();
    }
  });
}

void test_job::stop_serving() {
  if (!serving_.joinable()) return;
  LCI_CHECK(::eventfd_write(stop_.get(), 1) == 0, "eventfd");
  serving_.join();
}

base::StatusOr<std::unique_ptr<bootstrap>> test_job::connect(int rank,
                                                             bootstrap::duration timeout) {
  job_position position;
  position.rank = rank;
  position.size = size_;
  position.local_size = 0;
  switch (variant_) {
    case variant::local:
    case variant::in_process:
      return std::move(ranks_[static_cast<size_t>(rank)]);
    case variant::file: {
      file_options options;
      options.root = root_;
      options.job = "test";
      options.position = position;
      options.timeout = timeout;
      return open_file_bootstrap(options);
    }
    default: {
      tcp_client_options options;
      options.address = address_;
      options.token = token;
      options.position = position;
      options.timeout = timeout;
      if (variant_ == variant::meeting) return connect_meeting_tcp_bootstrap(options, meeting());
      return variant_ == variant::standalone ? connect_standalone_tcp_bootstrap(options)
                                             : connect_tcp_bootstrap(options);
    }
  }
}

void test_job::run_threads(const std::function<void(int rank)>& body) {
  const fail_fast guard;
  serve();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size_; ++rank) ranks.emplace_back(body, rank);
  for (std::thread& rank : ranks) rank.join();
}

void test_job::run(const std::function<void(bootstrap& boot)>& body) {
  run_threads([&](int rank) {
    const base::StatusOr<std::unique_ptr<bootstrap>> boot = connect(rank);
    ASSERT_TRUE(boot.ok()) << boot.status();
    body(**boot);
  });
}

int test_job::run_processes(const std::function<bool(int rank)>& body,
                            const std::function<void()>& in_parent) {
  LCI_CHECK(!serving_.joinable(), "fork before serving");
  std::vector<pid_t> children;
  ::fflush(nullptr);
  for (int rank = 0; rank < size_; ++rank) {
    const pid_t child = ::fork();
    LCI_CHECK(child >= 0, "fork");
    if (child == 0) {
      bool good = false;
      {
        const fail_fast guard;
        good = body(rank);
      }
      ::fflush(nullptr);
      ::_exit(testing::Test::HasFailure() ? rank_processes::assertion_failed : good ? 0 : 1);
    }
    children.push_back(child);
  }
  in_parent();
  serve();
  return rank_processes(children).wait();
}

}  // namespace lci::boot
