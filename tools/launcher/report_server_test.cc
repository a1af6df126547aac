#include "tools/launcher/report_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/testing/no_descriptors/no_descriptors.h"

namespace lci::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReportServerTest : public testing::Test {
 protected:
  ReportServerTest() {
    const char* const parent = std::getenv("TEST_TMPDIR");
    path_ = std::string(parent != nullptr ? parent : "/tmp") + "/reports-XXXXXX";
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }

  report_directory directory() { return *report_directory::open(path_); }

  std::unique_ptr<report_server> serve(const std::string& id) {
    auto server = report_server::make(&loop_, directory(),
                                      {id, "2 ranks of x", [this](report_server::receiver then) {
                                         asked_.push_back(std::move(then));
                                       }});
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  io::unique_fd request(const std::string& id, const std::string& bytes) {
    auto socket = directory().connect(id);
    EXPECT_TRUE(socket.ok()) << socket.status();
    EXPECT_EQ(send(socket->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return *std::move(socket);
  }

  // All bytes that arrive until the connection ends.
  std::string answer(const io::unique_fd& socket) {
    std::string text;
    bool is_open = true;
    const io::event_loop::id watched = loop_.watch(socket.get(), POLLIN, [&] {
      char block[4096];
      const ssize_t n = recv(socket.get(), block, sizeof(block), 0);
      is_open = n > 0;
      if (is_open) text.append(block, static_cast<size_t>(n));
    });
    while (is_open) loop_.run_once();
    loop_.forget(watched);
    return text;
  }

  io::event_loop loop_;
  std::string path_;
  std::vector<report_server::receiver> asked_;
};

TEST_F(ReportServerTest, GivesTheTitleAndTheReportInBothForms) {
  const auto server = serve("one");
  EXPECT_EQ(answer(request("one", "i")), "r2 ranks of x");
  const io::unique_fd text = request("one", "t");
  const io::unique_fd json = request("one", "j");
  while (asked_.size() < 2) loop_.run_once();
  observe::job_report report;
  report.reason = "a test";
  report.size = 2;
  for (const report_server::receiver& each : asked_) each(&report, "");
  EXPECT_EQ(answer(text), "r" + observe::to_text(report));
  EXPECT_EQ(answer(json), "r" + observe::to_json(report));
}

TEST_F(ReportServerTest, GivesTheReasonWhyThereIsNoReport) {
  const auto server = serve("one");
  const io::unique_fd socket = request("one", "t");
  while (asked_.empty()) loop_.run_once();
  asked_[0](nullptr, "no ranks");
  EXPECT_EQ(answer(socket), "eno ranks");
}

TEST_F(ReportServerTest, SendsAReportThatASocketDoesNotHold) {
  const auto server = serve("one");
  const io::unique_fd socket = request("one", "t");
  while (asked_.empty()) loop_.run_once();
  const std::string large(4000000, 'x');
  asked_[0](nullptr, large);
  EXPECT_EQ(answer(socket), "e" + large);
}

TEST_F(ReportServerTest, EndsConnectionsWithInvalidRequests) {
  const auto server = serve("one");
  EXPECT_EQ(answer(request("one", "x")), "");
  EXPECT_EQ(answer(request("one", "GET /")), "");
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(ReportServerTest, WithoutDescriptorsItDoesNotKeepTheLoopBusy) {
#ifdef __SANITIZE_ADDRESS__
  // UBSan probes memory with a pipe before it follows a pointer to a virtual table.
  GTEST_SKIP() << "NOTHING WAS TESTED: the sanitizer needs descriptors of its own";
#endif
  const auto server = serve("job");
  const io::unique_fd asking = request("job", "i");
  {
    const no_descriptors none;
    EXPECT_TRUE(loop_.step());
    EXPECT_FALSE(loop_.step());  // the listener, which is readable, is not watched
  }
  EXPECT_EQ(answer(asking), "r2 ranks of x");
}

TEST_F(ReportServerTest, SurvivesClientsThatLeave) {
  const auto server = serve("one");
  request("one", "t").reset();
  while (asked_.empty()) loop_.run_once();
  asked_[0](nullptr, "text");
  EXPECT_EQ(answer(request("one", "i")), "r2 ranks of x");
}

TEST_F(ReportServerTest, AnswersNothingAfterItsEnd) {
  auto server = serve("one");
  const io::unique_fd socket = request("one", "t");
  while (asked_.empty()) loop_.run_once();
  server = nullptr;
  asked_[0](nullptr, "text");
  EXPECT_EQ(answer(socket), "");
  EXPECT_THAT(directory().jobs(), IsEmpty());
}

TEST_F(ReportServerTest, ListsTheJobsThatLive) {
  const auto one = serve("one");
  auto two = serve("two");
  EXPECT_THAT(directory().jobs(), ElementsAre("one", "two"));
  two = nullptr;
  EXPECT_THAT(directory().jobs(), ElementsAre("one"));
  // As lcrun leaves its socket behind if it is killed.
  directory().listen("killed")->reset();
  EXPECT_EQ(access((path_ + "/killed").c_str(), F_OK), 0);
  EXPECT_THAT(directory().jobs(), ElementsAre("one"));
  EXPECT_NE(access((path_ + "/killed").c_str(), F_OK), 0);
}

TEST_F(ReportServerTest, TakesOnlyIdsOfJobs) {
  const auto server = serve("one");
  for (const char* id : {"", ".", "../x", "./one", "two"}) {
    EXPECT_FALSE(directory().connect(id).ok()) << id;
  }
}

TEST_F(ReportServerTest, RefusesADirectoryThatOthersMayUse) {
  chmod(path_.c_str(), 0750);
  const auto opened = report_directory::open(path_);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("must belong to this user"));
  chmod(path_.c_str(), 0700);
  ASSERT_EQ(symlink(path_.c_str(), (path_ + "-link").c_str()), 0);
  EXPECT_FALSE(report_directory::open(path_ + "-link").ok());
  EXPECT_TRUE(report_directory::open(path_ + "/new").ok());
}

// Neither can another user reach the socket, nor does the server answer if the modes of the files
// permit the connection.
TEST_F(ReportServerTest, AnswersNoOtherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  constexpr uid_t other_user = 65534;
  enum { is_answered, is_not_connected, is_closed, has_failed };
  const auto server = serve("one");
  const report_directory opened = directory();
  const auto connect_as_other = [&] {
    const pid_t child = fork();
    if (child == 0) {
      if (setresuid(other_user, other_user, other_user) != 0) _exit(has_failed);
      const auto socket = opened.connect("one");
      if (!socket.ok()) _exit(is_not_connected);
      char byte = 'i';
      if (send(socket->get(), &byte, 1, MSG_NOSIGNAL) != 1) _exit(is_closed);
      _exit(recv(socket->get(), &byte, 1, 0) == 1 ? is_answered : is_closed);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      loop_.at(io::steady::now() + std::chrono::milliseconds(1), [] {});
      loop_.run_once();
    }
    return WEXITSTATUS(status);
  };
  const int first = connect_as_other();
  // A user namespace, such as that of a sandbox, may have only one user.
  if (first == has_failed) GTEST_SKIP() << "cannot become another user";
  EXPECT_EQ(first, is_not_connected);
  chmod((path_ + "/one").c_str(), 0777);
  EXPECT_EQ(connect_as_other(), is_not_connected);
  chmod(path_.c_str(), 0755);
  EXPECT_EQ(connect_as_other(), is_closed);
}

}  // namespace
}  // namespace lci::launcher
