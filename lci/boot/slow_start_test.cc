// Ranks that wait for the start of a job for long say so. These tests take as long as they do that.
#include <fcntl.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/io/files.h"
#include "lci/io/unique_fd.h"
#include "lci/testing/job/test_job.h"

namespace lci::boot {
namespace {

using testing::HasSubstr;

class slow_start : public testing::TestWithParam<test_job::variant> {
 protected:
  // Joins as `rank`, with a file for what it says. Whether that worked.
  bool join(int rank) {
    const io::unique_fd file(::open(said_path(rank).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ::dup2(file.get(), STDERR_FILENO);
    return job_.connect(rank).ok();
  }

  std::string said(int rank) const { return io::read_file(said_path(rank)).value_or(""); }
  void wait_until_said(int rank, std::string_view text) const {
    while (!base::StrContains(said(rank), text)) ::usleep(10'000);
  }

  test_job job_{GetParam(), 3};

 private:
  std::string said_path(int rank) const { return base::StrCat(directory_, "/", rank); }
  const std::string directory_ = new_directory();
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
    if (rank == 2) wait_until_said(0, warning);
    return join(rank);
  }),
            0);
  EXPECT_THAT(said(0), HasSubstr(warning));
  EXPECT_EQ(said(1), "");
  EXPECT_EQ(said(2), "");
}

class late_server : public slow_start {};

INSTANTIATE_TEST_SUITE_P(all, late_server,
                         testing::Values(test_job::variant::standalone, test_job::variant::meeting),
                         kind_name);

TEST_P(late_server, is_looked_for_aloud) {
  EXPECT_EQ(job_.run_processes([&](int rank) {
    if (rank == 0) wait_until_said(2, "still looking for the job: tcp bootstrap of rank 2 of 3: ");
    return join(rank);
  }),
            0);
  EXPECT_EQ(said(0), "");
}

}  // namespace
}  // namespace lci::boot
