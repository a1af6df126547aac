// Ranks that wait for the start of a job for long say so. These tests take as long as they do that.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/boot/tcp_client.h"
#include "lci/io/files.h"
#include "lci/io/unique_fd.h"
#include "lci/testing/job/test_job.h"
#include "lci/testing/silent_port/silent_port.h"

namespace lci::boot {
namespace {

using testing::HasSubstr;

// What each rank has said.
class words {
 public:
  // From now on, this process is that rank.
  void keep(int rank) const {
    const io::unique_fd file(::open(path(rank).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ::dup2(file.get(), STDERR_FILENO);
  }
  std::string of(int rank) const { return io::read_file(path(rank)).value_or(""); }
  void wait_for(int rank, std::string_view text) const {
    while (!base::StrContains(of(rank), text)) ::usleep(10'000);
  }

 private:
  std::string path(int rank) const { return base::StrCat(directory_, "/", rank); }
  const std::string directory_ = new_directory();
};

class slow_start : public testing::TestWithParam<test_job::variant> {
 protected:
  bool join(int rank) {
    said_.keep(rank);
    return job_.connect(rank).ok();
  }

  test_job job_{GetParam(), 3};
  const words said_;
};

std::string kind_name(const testing::TestParamInfo<test_job::variant>& info) {
  return test_job::name(info.param);
}

INSTANTIATE_TEST_SUITE_P(all, slow_start,
                         testing::Values(test_job::variant::file, test_job::variant::tcp,
                                         test_job::variant::standalone, test_job::variant::meeting),
                         kind_name);

TEST_P(slow_start, the_first_rank_that_waits_names_those_that_are_missing) {
  constexpr const char* warning =
      "rank 0 has waited 10 s for the start of the job: rank 2 did not arrive yet\n";
  EXPECT_EQ(job_.run_processes([&](int rank) {
    if (rank == 2) said_.wait_for(0, warning);
    return join(rank);
  }),
            0);
  EXPECT_THAT(said_.of(0), HasSubstr(warning));
  EXPECT_EQ(said_.of(1), "");
  EXPECT_EQ(said_.of(2), "");
}

class late_server : public slow_start {};

INSTANTIATE_TEST_SUITE_P(all, late_server,
                         testing::Values(test_job::variant::standalone, test_job::variant::meeting),
                         kind_name);

TEST_P(late_server, is_looked_for_aloud) {
  EXPECT_EQ(job_.run_processes([&](int rank) {
    if (rank == 0) said_.wait_for(2, "still looking for the job: tcp bootstrap of rank 2 of 3: ");
    return join(rank);
  }),
            0);
  EXPECT_EQ(said_.of(0), "");
}

TEST(server_behind_a_firewall, is_named) {
  const silent_port server;
  const words said;
  const pid_t rank_1 = ::fork();
  ASSERT_GE(rank_1, 0);
  if (rank_1 == 0) {
    said.keep(1);
    tcp_client_options options;
    options.address = server.address();
    options.position = {1, 2, 0, 0};
    options.timeout = std::chrono::hours(24);
    (void)connect_standalone_tcp_bootstrap(options);
    ::_exit(0);
  }
  said.wait_for(
      1, base::StrCat("rank 1 of 2: nobody answers at ", server.address(), "; rank 0 serves"));
  EXPECT_EQ(::kill(rank_1, SIGKILL), 0);
  EXPECT_EQ(::waitpid(rank_1, nullptr, 0), rank_1);
}

}  // namespace
}  // namespace lci::boot
