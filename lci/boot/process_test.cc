#include "lci/boot/process.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "gtest/gtest.h"
#include "lci/testing/no_descriptors/no_descriptors.h"

namespace lci::boot {
namespace {

TEST(process, this_one_is_alive_and_is_found) {
  const process_id self = this_process();
  EXPECT_GT(self.start_time, 0u);
  EXPECT_TRUE(is_alive(self));
  EXPECT_TRUE(find_process(self.pid) == self);
}

TEST(process, the_same_pid_with_another_start_is_another_process) {
  process_id other = this_process();
  ++other.start_time;
  EXPECT_FALSE(is_alive(other));
}

// The child reports its id and its end through a pipe: /proc may number processes differently.
TEST(process, one_that_has_ended_is_dead_also_before_it_is_waited_for) {
  int to_parent[2], to_child[2];
  ASSERT_EQ(::pipe(to_parent), 0);
  ASSERT_EQ(::pipe(to_child), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(to_child[1]);
    const process_id self = this_process();
    if (::write(to_parent[1], &self, sizeof self) != sizeof self) ::_exit(1);
    char end;
    ::_exit(::read(to_child[0], &end, 1) == 0 ? 0 : 1);
  }
  process_id id;
  ASSERT_EQ(::read(to_parent[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
  EXPECT_TRUE(is_alive(id));
  ::close(to_child[0]);
  ::close(to_child[1]);
  siginfo_t info = {};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_alive(id));  // a zombie
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(is_alive(id));
}

TEST(process, one_that_executes_another_program_is_dead) {
  int to_parent[2], to_child[2];
  ASSERT_EQ(::pipe(to_parent), 0);
  ASSERT_EQ(::pipe(to_child), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const process_id self = this_process();
    if (::write(to_parent[1], &self, sizeof self) != sizeof self) ::_exit(1);
    char go;
    if (::read(to_child[0], &go, 1) != 1) ::_exit(1);
    ::execl("/bin/sleep", "sleep", "1000", static_cast<char*>(nullptr));
    ::_exit(1);
  }
  process_id id;
  ASSERT_EQ(::read(to_parent[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
  EXPECT_NE(id.image, 0u);
  EXPECT_TRUE(is_alive(id));
  ASSERT_EQ(::write(to_child[1], "", 1), 1);
  while (is_alive(id)) ::sched_yield();
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WNOHANG), 0);  // the process has not ended
  // The kernel replaces the image in several steps.
  std::optional<process_id> now;
  do {
    now = find_process(id.pid);
    ASSERT_TRUE(now.has_value());
  } while (!is_alive(*now));
  EXPECT_EQ(now->start_time, id.start_time);
  EXPECT_NE(now->image, id.image);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  for (const int each : {to_parent[0], to_parent[1], to_child[0], to_child[1]}) ::close(each);
}

// A rank that can open no more files must not take its peers for dead.
TEST(process, one_that_cannot_be_looked_at_counts_as_alive) {
  const process_id self = this_process();
  bool alive = false;
  bool found = true;
  {
    const no_descriptors none;
    alive = is_alive(self);
    found = find_process(self.pid).has_value();
  }
  EXPECT_TRUE(alive);
  EXPECT_FALSE(found);
}

TEST(process, names_of_node_and_domain_do_not_change) {
  EXPECT_EQ(node_name(), node_name());
  EXPECT_EQ(process_domain(), process_domain());
  EXPECT_EQ(network_domain(), network_domain());
  EXPECT_NE(node_name(), process_domain());
  EXPECT_NE(network_domain(), process_domain());
}

// Runs this program again behind a shell, with the variable set for both. (With execve, because
// setenv does not change what /proc shows of a process.)
TEST(process, the_ancestor_without_a_variable_is_behind_the_wrappers) {
  if (::getenv("LCI_TEST_WRAPPED") != nullptr) GTEST_SKIP() << "is the one that is looked at";
  const std::string command =
      "LCI_TEST_WRAPPED=x sh -c '\"$0\" --gtest_filter=wrapped.prints_its_launcher; exit $?' '" +
      std::string(testing::internal::GetArgvs()[0]) + "'";
  // The launcher is the shell that sets the variable for its child only.
  ::setenv("LCI_TEST_EXPECTED", std::to_string(this_process().pid).c_str(), 1);
  EXPECT_EQ(::system(command.c_str()), 0);
  ::unsetenv("LCI_TEST_EXPECTED");
}

TEST(wrapped, prints_its_launcher) {
  if (::getenv("LCI_TEST_WRAPPED") == nullptr) GTEST_SKIP() << "needs its wrapper";
  const auto launcher = ancestor_without("LCI_TEST_WRAPPED");
  ASSERT_TRUE(launcher.has_value());
  EXPECT_TRUE(is_alive(*launcher));
  EXPECT_FALSE(*launcher == this_process());
  // The ancestor is the test above, or the shell of its system(), but never the shell with the
  // variable.
  const auto outer = ancestor_without("LCI_TEST_EXPECTED");
  ASSERT_TRUE(outer.has_value());
  const int64_t test = ::atoll(::getenv("LCI_TEST_EXPECTED"));
  EXPECT_TRUE(launcher->pid == test || outer->pid == test);
}

}  // namespace
}  // namespace lci::boot
