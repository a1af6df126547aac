// Tests make_bootstrap() in processes with the variables of launchers.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/job_id.h"
#include "lci/boot/tcp_server.h"
#include "lci/testing/job/test_job.h"

extern char** environ;

namespace lci::boot {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;
using boot_ptr = std::unique_ptr<bootstrap>;
using variables = std::vector<std::pair<std::string, std::string>>;

// Starts a process for each set of variables, with nothing else in its environment except a
// directory for files. Returns true if all processes return true.
bool run(const std::vector<variables>& processes, const std::string& files,
         const std::function<bool(base::StatusOr<boot_ptr>)>& body) {
  std::vector<pid_t> children;
  for (const variables& set : processes) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::clearenv();
      ::setenv("TEST_TMPDIR", files.c_str(), 1);
      ::setenv("LCI_BOOT_TIMEOUT", "50", 1);
      for (const auto& [name, value] : set) ::setenv(name.c_str(), value.c_str(), 1);
      const bool good = body(make_bootstrap());
      ::_exit(good && !testing::Test::HasFailure() ? 0 : 1);
    }
    children.push_back(child);
  }
  bool good = true;
  for (pid_t child : children) {
    int status = -1;
    good &= child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  }
  return good;
}

base::Status status_of(const variables& set) {
  ::clearenv();
  for (const auto& [name, value] : set) ::setenv(name.c_str(), value.c_str(), 1);
  return make_bootstrap().status();
}

class make_bootstrap_test : public testing::Test {
 protected:
  void TearDown() override {
    ::clearenv();
    for (const auto& [name, value] : old_) ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  static variables current() {
    variables all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      const size_t equals = text.find('=');
      all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return all;
  }
  const variables old_ = current();
};

// N processes with these variables (individual ones by rank) become N ranks of one job.
void expect_job(const std::function<variables(int rank)>& of_rank, int size,
                const std::string& kind, int local_size) {
  std::vector<variables> processes;
  for (int rank = 0; rank < size; ++rank) processes.push_back(of_rank(rank));
  const bool good = run(processes, new_directory(), [&](base::StatusOr<boot_ptr> boot) {
    if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
    EXPECT_EQ((*boot)->name(), kind);
    EXPECT_EQ((*boot)->size(), size);
    EXPECT_EQ((*boot)->position().local_size, local_size);
    EXPECT_EQ((*boot)->default_timeout(), std::chrono::seconds(50));
    const auto ranks = (*boot)->allgather("ranks", base::StrCat((*boot)->rank()), test_timeout);
    if (!ranks.ok()) return ADD_FAILURE() << ranks.status(), false;
    for (int rank = 0; rank < size; ++rank) {
      EXPECT_EQ((*ranks)[static_cast<size_t>(rank)], base::StrCat(rank));
    }
    return true;
  });
  EXPECT_TRUE(good);
}

void expect_job(const std::function<variables(int rank)>& of_rank, int size,
                const std::string& kind) {
  expect_job(of_rank, size, kind, size);
}

TEST_F(make_bootstrap_test, one_process_without_a_launcher_is_alone) {
  for (const variables& set :
       {variables{}, variables{{"LCI_BOOT", "local"}}, variables{{"LCI_BOOT", "AUTO"}},
        variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}}) {
    EXPECT_TRUE(run({set}, new_directory(), [](base::StatusOr<boot_ptr> boot) {
      return boot.ok() && (*boot)->name() == "local" && (*boot)->size() == 1;
    }));
  }
}

TEST_F(make_bootstrap_test, foreign_launchers_on_one_machine_get_files) {
  const auto hydra = [](int rank) {
    return variables{{"PMI_RANK", base::StrCat(rank)}, {"PMI_SIZE", "3"}};
  };
  expect_job(hydra, 3, "file");
  const auto slurm = [](int rank) {
    return variables{{"SLURM_PROCID", base::StrCat(rank)},
                     {"SLURM_STEP_NUM_TASKS", "3"},
                     {"SLURM_STEP_NUM_NODES", "1"},
                     {"SLURM_JOB_ID", "1"},
                     {"SLURM_STEP_ID", "0"}};
  };
  expect_job(slurm, 3, "file");
}

TEST_F(make_bootstrap_test, foreign_launchers_on_several_machines_get_tcp) {
  const std::string shared = new_directory();
  const auto slurm = [&](int rank) {
    return variables{{"SLURM_PROCID", base::StrCat(rank)},
                     {"SLURM_STEP_NUM_TASKS", "3"},
                     {"SLURM_STEP_NUM_NODES", "2"},
                     {"SLURM_JOB_ID", "1"},
                     {"SLURM_STEP_ID", "0"},
                     {"HOME", shared}};
  };
  expect_job(slurm, 3, "tcp", 3);  // which the library counts: in truth, it is one machine
  // Here the launcher gives the job no name.
  const auto hydra = [&](int rank) {
    return variables{{"PMI_RANK", base::StrCat(rank)},
                     {"PMI_SIZE", "4"},
                     {"MPI_LOCALRANKID", base::StrCat(rank % 2)},
                     {"MPI_LOCALNRANKS", "2"},
                     {"LCI_JOB_ID", "x"},
                     {"LCI_BOOT_DIR", shared}};
  };
  expect_job(hydra, 4, "tcp", 2);
  // Without a network, a directory that all machines share is enough.
  const auto by_file = [&](int rank) {
    variables set = slurm(rank);
    set.emplace_back("LCI_BOOT", "file");
    set.emplace_back("LCI_BOOT_DIR", shared);
    return set;
  };
  expect_job(by_file, 3, "file");
}

TEST_F(make_bootstrap_test, an_address_means_tcp_and_rank_0_serves) {
  const std::string address = free_address();
  expect_job(
      [&](int rank) {
        return variables{{"OMPI_COMM_WORLD_RANK", base::StrCat(rank)},
                         {"OMPI_COMM_WORLD_SIZE", "3"},
                         {"LCI_BOOT_ADDR", address},
                         {"LCI_BOOT_TOKEN", "secret"}};
      },
      3, "tcp");
}

TEST_F(make_bootstrap_test, lcrun_serves_tcp_or_gives_a_directory) {
  for (const char* kind : {"tcp", "file"}) {
    tcp_server::options options;
    options.bind_address = "[::1]:0";
    options.size = 2;
    options.token = random_hex(32);
    options.job_id = "lcrun-job";
    base::StatusOr<std::unique_ptr<tcp_server>> server = tcp_server::listen(options);
    ASSERT_TRUE(server.ok()) << server.status();
    const std::string directory = new_directory();
    std::vector<variables> ranks;
    for (int rank : {0, 1}) {
      ranks.push_back({{"LCI_BOOT", kind},
                       {"LCI_RANK", base::StrCat(rank)},
                       {"LCI_SIZE", "2"},
                       {"LCI_LOCAL_RANK", base::StrCat(rank)},
                       {"LCI_LOCAL_SIZE", "2"},
                       {"LCI_JOB_ID", "lcrun-job"},
                       {"LCI_BOOT_ADDR", (*server)->address()},
                       {"LCI_BOOT_TOKEN", options.token},
                       {"LCI_BOOT_DIR", directory}});
    }
    // The server runs in a process of its own, as it does in lcrun.
    const pid_t lcrun = ::fork();
    ASSERT_GE(lcrun, 0);
    if (lcrun == 0) {
      while ((*server)->count(tcp_server::rank_state::finished) < 2) (*server)->step();
      ::_exit(0);
    }
    EXPECT_TRUE(run(ranks, "/nonexistent", [&](base::StatusOr<boot_ptr> boot) {
      if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
      EXPECT_EQ((*boot)->name(), kind);
      EXPECT_THAT(std::string((*boot)->job_id()), StartsWith("lcrun-job-"));
      EXPECT_TRUE((*boot)->barrier("all", test_timeout).ok());
      return true;
    }));
    if (kind == std::string("file")) ::kill(lcrun, SIGKILL);  // no rank connects to it
    int status = -1;
    ASSERT_EQ(::waitpid(lcrun, &status, 0), lcrun);
  }
}

// Two launchers with equal variables that start at the same time.
TEST_F(make_bootstrap_test, two_jobs_of_one_user_at_once_never_meet) {
  const std::string files = new_directory();
  std::vector<pid_t> launchers;
  for (int job = 0; job < 3; ++job) {
    const pid_t launcher = ::fork();
    ASSERT_GE(launcher, 0);
    if (launcher == 0) {
      std::vector<variables> ranks;
      for (int rank = 0; rank < 3; ++rank) {
        ranks.push_back({{"PMI_RANK", base::StrCat(rank)}, {"PMI_SIZE", "3"}});
      }
      const std::string name = base::StrCat("job ", job);
      bool good = true;
      for (int program = 0; program < 3; ++program) {  // mpiexec sh -c 'a; b; c'
        good &= run(ranks, files, [&](base::StatusOr<boot_ptr> boot) {
          if (!boot.ok()) return ADD_FAILURE() << boot.status(), false;
          const auto all = (*boot)->allgather("job", name, test_timeout);
          EXPECT_TRUE(all.ok()) << all.status();
          EXPECT_THAT(*all, Each(name));
          return true;
        });
      }
      ::_exit(good ? 0 : 1);
    }
    launchers.push_back(launcher);
  }
  for (pid_t launcher : launchers) {
    int status = -1;
    ASSERT_EQ(::waitpid(launcher, &status, 0), launcher);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(make_bootstrap_test, never_alone_when_a_launcher_said_otherwise) {
  const std::pair<variables, const char*> invalid[] = {
      {{{"LCI_BOOT", "local"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, "LCI_BOOT=local"},
      {{{"PMIX_RANK", "0"}}, "set LCI_RANK and LCI_SIZE"},
      {{{"LCI_BOOT", "local"}, {"PMIX_RANK", "0"}}, "set LCI_RANK and LCI_SIZE"},
      {{{"LCI_SIZE", "2"}}, "LCI_RANK"},
      {{{"LCI_BOOT", "file"}}, "LCI_RANK and LCI_SIZE"},
      {{{"LCI_BOOT", "tcp"}}, "LCI_RANK and LCI_SIZE"},
      {{{"LCI_BOOT_ADDR", "host:1"}}, "LCI_RANK and LCI_SIZE"},
      {{{"LCI_BOOT", "tcp"}, {"LCI_RANK", "0"}, {"LCI_SIZE", "2"}}, "LCI_BOOT_ADDR"},
      {{{"LCI_BOOT", "mpi"}}, "LCI_BOOT=\"mpi\""},
      {{{"LCI_BOOT_TIMEOUT", "soon"}}, "LCI_BOOT_TIMEOUT=\"soon\""},
      {{{"LCI_BOOT_TIMEOUT", "0"}}, "LCI_BOOT_TIMEOUT=\"0\""},
      {{{"LCI_BOOT", "file"}, {"LCI_RANK", "0"}, {"LCI_SIZE", "2"}, {"LCI_JOB_ID", "a/b"}},
       "LCI_JOB_ID=\"a/b\""},
      // Several machines.
      {{{"SLURM_PROCID", "0"},
        {"SLURM_STEP_NUM_TASKS", "4"},
        {"SLURM_STEP_NUM_NODES", "2"},
        {"SLURM_JOB_ID", "1"},
        {"SLURM_STEP_ID", "0"}},
       "HOME is not set; set LCI_BOOT_DIR"},
      {{{"PMI_RANK", "0"},
        {"PMI_SIZE", "4"},
        {"MPI_LOCALRANKID", "0"},
        {"MPI_LOCALNRANKS", "2"},
        {"LCI_BOOT_DIR", "/tmp"}},
       "LCI_JOB_ID"},
      {{{"LCI_BOOT", "file"},
        {"PMI_RANK", "0"},
        {"PMI_SIZE", "4"},
        {"MPI_LOCALRANKID", "0"},
        {"MPI_LOCALNRANKS", "2"}},
       "LCI_JOB_ID"},
  };
  for (const auto& [set, text] : invalid) {
    const base::Status status = status_of(set);
    EXPECT_TRUE(base::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

TEST_F(make_bootstrap_test, one_of_many_times_out_and_names_the_others) {
  for (const char* kind : {"file", "tcp"}) {
    const base::Status status = status_of({{"LCI_BOOT", kind},
                                           {"LCI_BOOT_ADDR", free_address()},
                                           {"LCI_BOOT_TIMEOUT", "0.05"},
                                           {"LCI_BOOT_DIR", new_directory()},
                                           {"LCI_RANK", "0"},
                                           {"LCI_SIZE", "4"}});
    EXPECT_TRUE(base::IsDeadlineExceeded(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("ranks 1-3 did not arrive"));
  }
}

}  // namespace
}  // namespace lci::boot
