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
#include "lci/io/socket.h"
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

using connect_function =
    base::StatusOr<std::unique_ptr<bootstrap>> (*)(const tcp_client_options& options);

// Of a job whose server is the launcher or rank 0.
class mute_server : public testing::TestWithParam<connect_function> {
 protected:
  // Expects of rank 1, which looks for a server at `address`, that it says this.
  void expect_warning(const std::string& address, const std::string& warning) {
    const words said;
    const pid_t rank_1 = ::fork();
    ASSERT_GE(rank_1, 0);
    if (rank_1 == 0) {
      said.keep(1);
      tcp_client_options options;
      options.address = address;
      options.position = {1, 2, 0, 0};
      options.timeout = std::chrono::hours(24);
      (void)GetParam()(options);
      ::_exit(0);
    }
    said.wait_for(
        1,
        base::StrCat("still looking for the job: tcp bootstrap of rank 1 of 2: ", warning, "; "));
    EXPECT_EQ(::kill(rank_1, SIGKILL), 0);
    EXPECT_EQ(::waitpid(rank_1, nullptr, 0), rank_1);
  }
};

INSTANTIATE_TEST_SUITE_P(all, mute_server,
                         testing::Values(connect_tcp_bootstrap, connect_standalone_tcp_bootstrap),
                         [](const testing::TestParamInfo<connect_function>& server) {
                           return server.index == 0 ? "launcher" : "rank_0";
                         });

TEST_P(mute_server, behind_a_firewall_is_named) {
  const silent_port server;
  expect_warning(server.address(), "nobody answers at " + server.address());
}

// As that of a launcher that is stopped: the kernel makes the connection.
TEST_P(mute_server, that_is_stopped_is_named) {
  const io::unique_fd server = *io::listen_on("127.0.0.1:0");
  const std::string address = *io::local_address(server.get());
  expect_warning(address, "at " + address + ": the job's bootstrap server does not answer");
}

}  // namespace
}  // namespace lci::boot
