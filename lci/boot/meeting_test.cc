// Ranks that find the server of rank 0 by a file.
#include <unistd.h>

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/boot/meeting_file.h"
#include "lci/boot/tcp_client.h"
#include "lci/boot/tcp_server.h"
#include "lci/io/files.h"
#include "lci/testing/job/test_job.h"
#include "lci/testing/silent_port/silent_port.h"

namespace lci::boot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using boot_ptr = std::unique_ptr<bootstrap>;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// The ranks of the job, each in a process, meet `rounds` times.
int failures(test_job& job, int rounds = 1) {
  return job.run_processes([&](int rank) {
    for (int round = 0; round < rounds; ++round) {
      const base::StatusOr<boot_ptr> boot = job.connect(rank);
      if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
      EXPECT_EQ((*boot)->name(), "tcp");
      const auto ranks = (*boot)->allgather("ranks", base::StrCat(rank), test_timeout);
      if (!ranks.ok()) return ADD_FAILURE() << ranks.status(), false;
      EXPECT_EQ((*ranks)[static_cast<size_t>(job.size() - 1)], base::StrCat(job.size() - 1));
    }
    return true;
  });
}

TEST(meeting, the_file_is_gone_when_the_job_has_started) {
  test_job job(test_job::variant::meeting, 3);
  EXPECT_EQ(job.run_processes([&](int rank) {
    const base::StatusOr<boot_ptr> boot = job.connect(rank);
    if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
    EXPECT_FALSE(exists(job.meeting()));
    return true;
  }),
            0);
}

TEST(meeting, the_ranks_meet_again) {
  test_job job(test_job::variant::meeting, 3);
  EXPECT_EQ(failures(job, 20), 0);
}

// What a killed job of the same name has left.
class stale_file : public testing::Test {
 protected:
  // The other ranks read the file before rank 0 replaces it.
  void expect_start() {
    EXPECT_EQ(job_.run_processes([&](int rank) {
      if (rank == 0) {
        wait_for_readers();
      } else {
        EXPECT_TRUE(io::write_private_file(base::StrCat(job_.root(), "/", rank), ""));
      }
      const base::StatusOr<boot_ptr> boot = job_.connect(rank);
      if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
      return (*boot)->barrier("all", test_timeout).ok();
    }),
              0);
  }

  test_job job_{test_job::variant::meeting, 3};

 private:
  void wait_for_readers() {
    for (const char* rank : {"/1", "/2"}) {
      while (!exists(job_.root() + rank)) ::usleep(1000);
    }
  }
};

TEST_F(stale_file, may_name_an_address_where_nobody_listens) {
  ASSERT_TRUE(write_meeting_file(job_.meeting(), {{free_address()}, "token"}).ok());
  expect_start();
}

TEST_F(stale_file, may_name_a_server_that_does_not_answer) {
  tcp_server::options other;
  other.bind_address = "127.0.0.1:0";
  other.size = 3;
  other.token = "another";
  const base::StatusOr<std::unique_ptr<tcp_server>> server = tcp_server::listen(other);
  ASSERT_TRUE(server.ok()) << server.status();
  // Nobody steps it, so it does not answer.
  ASSERT_TRUE(write_meeting_file(job_.meeting(), {{(*server)->address()}, "token"}).ok());
  expect_start();
}

TEST_F(stale_file, may_be_of_another_format) {
  ASSERT_TRUE(io::write_private_file(job_.meeting(), "something else"));
  expect_start();
}

// A firewall keeps one of the addresses from this rank, another server has one of them here, and at
// one of them nobody listens: that of the network of containers, which every host with these has.
TEST(meeting, no_address_keeps_a_rank_from_the_next_one) {
  test_job job(test_job::variant::tcp, 2);
  job.serve();
  const silent_port behind_firewall;
  tcp_server::options other;
  other.bind_address = "127.0.0.1:0";
  other.size = 2;
  const base::StatusOr<std::unique_ptr<tcp_server>> mute = tcp_server::listen(other);
  ASSERT_TRUE(mute.ok()) << mute.status();
  const std::string path = new_directory() + "/start-test";
  ASSERT_TRUE(write_meeting_file(path, {{behind_firewall.address(), (*mute)->address(),
                                         free_address(), job.address()},
                                        test_job::token})
                  .ok());
  std::thread rank_0([&] { EXPECT_TRUE(job.connect(0).ok()); });
  tcp_client_options options;
  options.position = {1, 2, 0, 0};
  // At the end of it, a rank would have another chance.
  options.timeout = 24h;
  const base::StatusOr<boot_ptr> boot = connect_meeting_tcp_bootstrap(options, path);
  EXPECT_TRUE(boot.ok()) << boot.status();
  rank_0.join();
}

// The file may be that of a killed job when the rank reads it first.
TEST(meeting, tries_every_address_and_reads_the_file_again) {
  test_job job(test_job::variant::tcp, 2);
  job.serve();
  const std::string path = new_directory() + "/start-test";
  ASSERT_TRUE(write_meeting_file(path, {{job.address()}, "the token of another job"}).ok());
  std::thread other([&] {
    tcp_client_options options;
    options.position = {1, 2, 0, 0};
    options.timeout = test_timeout;
    const base::StatusOr<boot_ptr> boot = connect_meeting_tcp_bootstrap(options, path);
    EXPECT_TRUE(boot.ok()) << boot.status();
  });
  ASSERT_TRUE(write_meeting_file(path, {{free_address(), job.address()}, test_job::token}).ok());
  EXPECT_TRUE(job.connect(0).ok());
  other.join();
}

TEST(meeting, others_name_the_file_that_they_do_not_see) {
  const std::string path = new_directory() + "/start-test";
  tcp_client_options options;
  options.position = {1, 2, 0, 0};
  options.timeout = 50ms;
  const base::Status status = connect_meeting_tcp_bootstrap(options, path).status();
  EXPECT_TRUE(base::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(base::StrCat(path, ": No such file")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("set LCI_BOOT_DIR"));
}

TEST(meeting, others_say_which_server_does_not_answer) {
  const std::string path = new_directory() + "/start-test";
  const std::string address = free_address();
  ASSERT_TRUE(write_meeting_file(path, {{address}, "token"}).ok());
  tcp_client_options options;
  options.position = {1, 2, 0, 0};
  options.timeout = 50ms;
  const base::Status status = connect_meeting_tcp_bootstrap(options, path).status();
  EXPECT_TRUE(base::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(address));
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("set LCI_BOOT_DIR")));
}

TEST(meeting, rank_0_names_the_ranks_that_do_not_find_it_and_removes_the_file) {
  test_job job(test_job::variant::meeting, 2);
  EXPECT_EQ(job.run_processes([&](int rank) {
    if (rank != 0) return true;
    const base::Status status = job.connect(0, 50ms).status();
    EXPECT_TRUE(base::IsDeadlineExceeded(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 did not arrive"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(job.meeting()));
    return true;
  }),
            0);
  // By the helper, which ends behind rank 0.
  while (exists(job.meeting())) ::usleep(1000);
}

TEST(meeting, rank_0_says_why_it_cannot_write_the_file) {
  const std::string directory = new_directory();
  ASSERT_TRUE(io::write_private_file(directory + "/file", ""));
  tcp_client_options options;
  options.position = {0, 2, 0, 0};
  options.timeout = test_timeout;
  const base::Status status =
      connect_meeting_tcp_bootstrap(options, directory + "/file/start-test").status();
  EXPECT_TRUE(base::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("Not a directory"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("LCI_BOOT_DIR"));
}

}  // namespace
}  // namespace lci::boot
