// The directory of the file bootstrap: its owner, the remains of dead jobs, and the separation of
// jobs.
#include "lci/boot/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/boot/file_layout.h"
#include "lci/boot/process.h"
#include "lci/io/deadline.h"
#include "lci/io/unique_fd.h"
#include "lci/testing/job/test_job.h"

namespace lci::boot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using boot_ptr = std::unique_ptr<bootstrap>;

file_options options_for(const std::string& root, const std::string& job, int rank, int size,
                         bootstrap::duration timeout = test_timeout) {
  file_options options;
  options.root = root;
  options.job = job;
  options.position.rank = rank;
  options.position.size = size;
  options.position.local_size = 0;
  options.timeout = timeout;
  return options;
}

base::StatusOr<boot_ptr> join(const std::string& root, const std::string& job, int rank, int size) {
  return open_file_bootstrap(options_for(root, job, rank, size));
}

std::vector<std::string> entries(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = ::opendir(path.c_str());
  EXPECT_NE(directory, nullptr) << path;
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name != std::string(".") && entry->d_name != std::string("..")) {
      names.emplace_back(entry->d_name);
    }
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

// Both ranks start, see each other's value and no old one, and leave.
void expect_job_works(const std::string& root, const std::string& job, const std::string& value) {
  std::vector<std::thread> ranks;
  for (int rank : {0, 1}) {
    ranks.emplace_back([&, rank] {
      const base::StatusOr<boot_ptr> boot = join(root, job, rank, 2);
      ASSERT_TRUE(boot.ok()) << boot.status();
      EXPECT_THAT((*boot)->allgather("name", value, test_timeout).value(),
                  ElementsAre(value, value));
      EXPECT_TRUE(base::IsDeadlineExceeded((*boot)->get("old", 0ms).status()));
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

// A job of two processes that start, put a value, and die without leaving.
void leave_remains(const std::string& root, const std::string& job) {
  std::vector<pid_t> children;
  for (int rank : {0, 1}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const base::StatusOr<boot_ptr> boot = join(root, job, rank, 2);
      const bool put = boot.ok() && (rank != 0 || (*boot)->put("old", "value").ok());
      ::_exit(put ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
}

TEST(file_bootstrap, an_orderly_job_leaves_nothing) {
  const std::string root = new_directory();
  expect_job_works(root, "a", "1");
  EXPECT_THAT(entries(root), IsEmpty());
}

TEST(file_bootstrap, the_remains_of_a_dead_job_do_not_poison_its_successor) {
  const std::string root = new_directory();
  leave_remains(root, "a");
  EXPECT_THAT(entries(root), ElementsAre("job-a"));
  expect_job_works(root, "a", "1");
  EXPECT_THAT(entries(root), IsEmpty());
}

TEST(file_bootstrap, the_remains_of_dead_jobs_are_removed_by_the_next_of_another_name) {
  const std::string root = new_directory();
  leave_remains(root, "a");
  leave_remains(root, "b");  // removes a's
  EXPECT_THAT(entries(root), ElementsAre("job-b"));
  // Remains of a process that dies immediately after mkdir, or while it creates a round.
  ASSERT_EQ(::mkdir((root + "/job-c").c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((root + "/job-d").c_str(), 0700), 0);
  io::unique_fd draft(::open((root + "/job-d/round-0.new").c_str(), O_CREAT | O_WRONLY, 0600));
  ASSERT_TRUE(draft);
  expect_job_works(root, "e", "1");
  EXPECT_THAT(entries(root), IsEmpty());
}

TEST(file_bootstrap, living_jobs_are_not_removed) {
  const std::string root = new_directory();
  const base::StatusOr<boot_ptr> living = join(root, "living", 0, 1);
  ASSERT_TRUE(living.ok()) << living.status();
  expect_job_works(root, "other", "1");
  EXPECT_THAT(entries(root), ElementsAre("job-living"));
  EXPECT_TRUE((*living)->put("key", "value").ok());
}

// Dies while it waits for the other rank.
TEST(file_bootstrap, a_job_that_dies_in_its_start_does_not_poison_the_next) {
  const std::string root = new_directory();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)join(root, "a", 0, 2);
    ::_exit(1);
  }
  // Wait until it has joined: the round exists, and holds more than its header.
  const std::string round = root + "/job-a/round-0";
  const io::steady::time_point deadline = io::deadline_after(test_timeout);
  for (struct stat info = {}; info.st_size <= static_cast<off_t>(sizeof(file_layout::header));) {
    ASSERT_LT(io::steady::now(), deadline);
    ::sched_yield();
    (void)::stat(round.c_str(), &info);
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  expect_job_works(root, "a", "1");
  EXPECT_THAT(entries(root), IsEmpty());
}

// Dies between taking and releasing the locks, with half a record written.
TEST(file_bootstrap, a_writer_that_dies_half_way_harms_nobody) {
  const std::string root = new_directory();
  const base::StatusOr<boot_ptr> boot = join(root, "a", 0, 1);
  ASSERT_TRUE(boot.ok()) << boot.status();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int lock = ::open((root + "/job-a/lock").c_str(), O_RDWR);
    const int round = ::open((root + "/job-a/round-0").c_str(), O_RDWR | O_APPEND);
    const std::string half(1000, '\xee');
    const bool done = ::flock(lock, LOCK_EX) == 0 && ::flock(round, LOCK_EX) == 0 &&
                      ::write(round, half.data(), half.size()) == 1000;
    ::_exit(done ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE((*boot)->put(base::StrCat("key", i), std::string(50, 'x')).ok());
  }
  EXPECT_EQ((*boot)->get("key99", 0ms).value_or(""), std::string(50, 'x'));
}

TEST(file_bootstrap, a_damaged_file_is_an_error_and_not_used_again) {
  const std::string root = new_directory();
  const base::StatusOr<boot_ptr> boot = join(root, "a", 0, 1);
  ASSERT_TRUE(boot.ok()) << boot.status();
  const io::unique_fd round(::open((root + "/job-a/round-0").c_str(), O_RDWR));
  const uint64_t too_far = uint64_t{1} << 20;
  ASSERT_EQ(
      ::pwrite(round.get(), &too_far, sizeof too_far, offsetof(file_layout::header, committed)),
      static_cast<ssize_t>(sizeof too_far));
  EXPECT_TRUE(base::IsDataLoss((*boot)->put("key", "value")));
  EXPECT_TRUE(base::IsDataLoss((*boot)->get("key", 0ms).status()));
  expect_job_works(root, "a", "1");
  const io::unique_fd other(::open((root + "/job-a/round-9").c_str(), O_CREAT | O_RDWR, 0600));
  expect_job_works(root, "a", "2");
}

TEST(file_bootstrap, a_lock_that_nobody_gives_back_is_a_timeout) {
  const std::string root = new_directory();
  const base::StatusOr<boot_ptr> boot = join(root, "a", 0, 1);
  ASSERT_TRUE(boot.ok()) << boot.status();
  const io::unique_fd lock(::open((root + "/job-a/lock").c_str(), O_RDWR));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  const base::Status status = open_file_bootstrap(options_for(root, "a", 0, 1, 20ms)).status();
  EXPECT_TRUE(base::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr(base::StrCat("process ", this_process().pid, ", keeps the job's file locked")));
}

TEST(file_bootstrap, a_stopped_process_that_keeps_the_lock_is_named_meanwhile) {
  const std::string root = new_directory();
  const base::StatusOr<boot_ptr> boot = join(root, "a", 0, 1);
  ASSERT_TRUE(boot.ok()) << boot.status();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int round = ::open((root + "/job-a/round-0").c_str(), O_RDWR);
    if (::flock(round, LOCK_EX) == 0) ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const io::unique_fd read_end(ends[0]), write_end(ends[1]), before(::dup(STDERR_FILENO));
  ASSERT_GE(::dup2(write_end.get(), STDERR_FILENO), 0);
  // It waits for as long as the child is stopped.
  std::thread waits([&] { EXPECT_TRUE((*boot)->put("key", "value").ok()); });
  std::string said;
  char block[4096];
  while (said.find("locked") == std::string::npos) {
    const ssize_t got = ::read(read_end.get(), block, sizeof block);
    if (got <= 0) break;
    said.append(block, static_cast<size_t>(got));
  }
  ::dup2(before.get(), STDERR_FILENO);
  ::kill(child, SIGCONT);
  waits.join();
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_THAT(said, HasSubstr(", which is stopped, keeps the job's file locked"));
}

TEST(file_bootstrap, ranks_must_agree_on_the_size) {
  const std::string root = new_directory();
  std::thread zero([&] { EXPECT_TRUE(join(root, "a", 0, 2).ok()); });
  base::Status status;
  // The first rank to join determines the size.
  const io::steady::time_point deadline = io::deadline_after(test_timeout);
  while (::access((root + "/job-a/round-0").c_str(), F_OK) != 0) {
    ASSERT_LT(io::steady::now(), deadline);
    ::sched_yield();
  }
  status = join(root, "a", 1, 3).status();
  EXPECT_TRUE(base::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("one of 3 ranks"));
  EXPECT_TRUE(join(root, "a", 1, 2).ok());
  zero.join();
}

TEST(file_bootstrap, two_jobs_at_once_never_meet) {
  const std::string root = new_directory();
  std::vector<std::thread> jobs;
  for (int job = 0; job < 4; ++job) {
    jobs.emplace_back([&, job] {
      for (int round = 0; round < 10; ++round) {
        expect_job_works(root, base::StrCat("job", job), base::StrCat(job, ".", round));
      }
    });
  }
  for (std::thread& job : jobs) job.join();
  EXPECT_THAT(entries(root), IsEmpty());
}

TEST(file_bootstrap, a_directory_that_others_can_write_to_is_not_used) {
  const std::string root = new_directory();
  ASSERT_EQ(::mkdir((root + "/job-a").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((root + "/job-a").c_str(), 0770), 0);
  base::Status status = join(root, "a", 0, 1).status();
  EXPECT_TRUE(base::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("LCI_BOOT_DIR"));

  const std::string elsewhere = new_directory();
  ASSERT_EQ(::symlink(elsewhere.c_str(), (root + "/job-b").c_str()), 0);
  status = join(root, "b", 0, 1).status();
  EXPECT_TRUE(base::IsPermissionDenied(status)) << status;
  EXPECT_THAT(entries(elsewhere), IsEmpty());

  ASSERT_EQ(::mkdir((root + "/job-c").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (root + "/job-c/lock").c_str()), 0);
  status = join(root, "c", 0, 1).status();
  EXPECT_TRUE(base::IsPermissionDenied(status)) << status;
}

// Sets a variable during its lifetime.
class scoped_variable {
 public:
  scoped_variable(const char* name, const char* value) : name_(name) {
    const char* old = ::getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    if (value != nullptr) {
      ::setenv(name, value, 1);
    } else {
      ::unsetenv(name);
    }
  }
  ~scoped_variable() {
    if (had_) {
      ::setenv(name_, old_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

TEST(file_bootstrap, the_root_is_chosen_in_order_and_is_private) {
  const std::string test = new_directory(), run = new_directory(), tmp = new_directory(),
                    home = new_directory();
  const scoped_variable set_home("HOME", home.c_str());
  const std::string own = base::StrCat("lci-", ::geteuid());
  const auto used = [&](const std::string& base) {
    const base::StatusOr<boot_ptr> boot = join("", "a", 0, 1);
    EXPECT_TRUE(boot.ok()) << boot.status();
    const bool here = ::access(base::StrCat(base, "/", own, "/job-a/round-0").c_str(), F_OK) == 0;
    struct stat info = {};
    EXPECT_EQ(::stat(base::StrCat(base, "/", own).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0700u);
    return here;
  };
  const scoped_variable set_tmp("TMPDIR", tmp.c_str());
  {
    const scoped_variable set_run("XDG_RUNTIME_DIR", run.c_str());
    {
      const scoped_variable set_test("TEST_TMPDIR", test.c_str());
      EXPECT_TRUE(used(test));
    }
    const scoped_variable no_test("TEST_TMPDIR", nullptr);
    EXPECT_TRUE(used(run));
  }
  const scoped_variable no_test("TEST_TMPDIR", "/nonexistent");
  const scoped_variable no_run("XDG_RUNTIME_DIR", nullptr);
  EXPECT_TRUE(used(tmp));
  EXPECT_THAT(entries(home), IsEmpty());

  ASSERT_EQ(::chmod((tmp + "/" + own).c_str(), 0777), 0);
  const base::Status status = join("", "a", 0, 1).status();
  EXPECT_TRUE(base::IsPermissionDenied(status)) << status;
}

}  // namespace
}  // namespace lci::boot
