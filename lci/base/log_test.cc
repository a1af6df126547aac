#include "lci/base/log.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "lci/base/strings.h"

namespace lci::base {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns what `body` writes to standard error, in a new process with LCI_LOG_LEVEL set to `level`.
std::string stderr_of(const char* level, const std::function<void()>& body) {
  int fds[2];
  if (pipe(fds) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    if (level != nullptr) setenv("LCI_LOG_LEVEL", level, 1);
    if (level == nullptr) unsetenv("LCI_LOG_LEVEL");
    dup2(fds[1], STDERR_FILENO);
    close(fds[0]);
    body();
    _exit(0);
  }
  close(fds[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(fds[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(fds[0]);
  int exit_status = 0;
  waitpid(child, &exit_status, 0);
  EXPECT_EQ(exit_status, 0);
  return text;
}

void one_of_each() {
  LCI_LOG(error, "e", 1);
  LCI_LOG(warn, "w", 2);
  LCI_LOG(info, "i", 3);
  LCI_LOG(debug, "d", 4);
}

TEST(log, levels) {
  EXPECT_EQ(stderr_of("none", one_of_each), "");
  EXPECT_EQ(stderr_of("error", one_of_each), "lci error: e1\n");
  EXPECT_EQ(stderr_of(nullptr, one_of_each), "lci error: e1\nlci warn: w2\n");
  EXPECT_EQ(stderr_of("INFO", one_of_each), "lci error: e1\nlci warn: w2\nlci info: i3\n");
  EXPECT_EQ(stderr_of("debug", one_of_each),
            "lci error: e1\nlci warn: w2\nlci info: i3\nlci debug: d4\n");
}

TEST(log, set_level_wins_over_the_environment) {
  EXPECT_EQ(stderr_of("none",
                      [] {
                        set_log_level(log_level::error);
                        one_of_each();
                      }),
            "lci error: e1\n");
}

TEST(log, a_bad_level_is_reported_once_and_means_the_default) {
  const std::string text = stderr_of("loud", [] {
    one_of_each();
    one_of_each();
  });
  const std::vector<std::string_view> lines = StrSplit(text, '\n');
  ASSERT_THAT(lines, ElementsAre(HasSubstr("LCI_LOG_LEVEL=\"loud\""), "lci error: e1",
                                 "lci warn: w2", "lci error: e1", "lci warn: w2", IsEmpty()));
}

TEST(log, rank_is_the_prefix) {
  EXPECT_EQ(stderr_of(nullptr,
                      [] {
                        set_log_rank(12);
                        LCI_LOG(warn, "hello");
                      }),
            "lci[rank 12] warn: hello\n");
}

TEST(log, pieces_of_a_hidden_line_are_not_evaluated) {
  EXPECT_EQ(stderr_of("warn",
                      [] {
                        int evaluated = 0;
                        LCI_LOG(info, ++evaluated);
                        LCI_LOG(warn, evaluated);
                      }),
            "lci warn: 0\n");
}

TEST(log, lines_of_many_threads_are_whole) {
  constexpr int threads = 8;
  constexpr int lines_each = 50;
  const std::string body(100, 'x');
  const std::string text = stderr_of("info", [&body] {
    std::vector<std::thread> writers;
    for (int t = 0; t < threads; ++t) {
      writers.emplace_back([&body] {
        for (int i = 0; i < lines_each; ++i) LCI_LOG(info, body);
      });
    }
    for (std::thread& writer : writers) writer.join();
  });
  std::vector<std::string_view> lines = StrSplit(text, '\n');
  ASSERT_EQ(lines.size(), size_t{threads * lines_each + 1});
  lines.pop_back();
  EXPECT_THAT(lines, testing::Each("lci info: " + body));
}

}  // namespace
}  // namespace lci::base
