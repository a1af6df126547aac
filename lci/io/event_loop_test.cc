#include "lci/io/event_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lci::io {
namespace {

struct pipe_ends {
  pipe_ends() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    out.reset(fds[0]);
    in.reset(fds[1]);
  }
  void put() { EXPECT_EQ(::write(in.get(), "x", 1), 1); }
  void take() {
    char byte;
    EXPECT_EQ(::read(out.get(), &byte, 1), 1);
  }
  unique_fd out, in;
};

TEST(event_loop, calls_what_is_ready) {
  event_loop loop;
  ASSERT_TRUE(loop.status().ok()) << loop.status();
  pipe_ends first, second;
  std::string called;
  loop.watch(first.out.get(), POLLIN, [&] { called += "1", first.take(); });
  loop.watch(second.out.get(), POLLIN, [&] { called += "2", second.take(); });
  EXPECT_FALSE(loop.step());
  second.put();
  EXPECT_TRUE(loop.step());
  EXPECT_EQ(called, "2");
  first.put();
  loop.run_once();
  EXPECT_EQ(called, "21");
  // More descriptors than one call of the kernel returns.
  std::vector<pipe_ends> many(150);
  int calls = 0;
  for (pipe_ends& each : many) {
    loop.watch(each.out.get(), POLLIN, [&] { ++calls, each.take(); });
    each.put();
  }
  while (loop.step()) {
  }
  EXPECT_EQ(calls, 150);
}

TEST(event_loop, changes_and_forgets) {
  event_loop loop;
  pipe_ends ends;
  int calls = 0;
  const event_loop::id watched = loop.watch(ends.out.get(), 0, [&] { ++calls; });
  ends.put();
  EXPECT_FALSE(loop.step());
  loop.change(watched, POLLIN);
  EXPECT_TRUE(loop.step());
  EXPECT_TRUE(loop.step());  // level-triggered
  loop.change(watched, 0);
  ends.in.reset();  // nor is the end reported
  EXPECT_FALSE(loop.step());
  loop.change(watched, POLLIN);
  EXPECT_TRUE(loop.step());
  loop.forget(watched);
  loop.forget(watched);
  loop.change(watched, POLLIN);
  EXPECT_FALSE(loop.step());
  EXPECT_EQ(calls, 3);
}

TEST(event_loop, a_callback_may_forget_itself_and_others) {
  event_loop loop;
  pipe_ends first, second;
  event_loop::id ids[2] = {0, 0};
  int calls = 0;
  const auto forget_both = [&, keep = std::string(100, 'x')] {
    for (const event_loop::id each : ids) loop.forget(each);
    ++calls;
    EXPECT_EQ(keep.size(), 100u);  // the function lives while it runs
  };
  ids[0] = loop.watch(first.out.get(), POLLIN, forget_both);
  ids[1] = loop.watch(second.out.get(), POLLIN, forget_both);
  first.put();
  second.put();
  EXPECT_TRUE(loop.step());
  EXPECT_FALSE(loop.step());
  EXPECT_EQ(calls, 1);
}

TEST(event_loop, an_error_of_a_descriptor_is_an_event) {
  event_loop loop;
  pipe_ends ends;
  int calls = 0;
  loop.watch(ends.in.get(), POLLOUT, [&] { ++calls; });
  while (::write(ends.in.get(), std::string(4096, 'x').data(), 4096) > 0) {
  }
  EXPECT_FALSE(loop.step());
  ends.out.reset();
  EXPECT_TRUE(loop.step());
  EXPECT_EQ(calls, 1);
}

// epoll refuses them; standard input may be one.
TEST(event_loop, a_regular_file_is_always_ready) {
  event_loop loop;
  std::string path = testing::TempDir() + "/event_loop-XXXXXX";
  const unique_fd file(::mkstemp(path.data()));
  ASSERT_TRUE(file);
  ::unlink(path.c_str());
  int calls = 0;
  const event_loop::id watched = loop.watch(file.get(), POLLIN, [&] { ++calls; });
  ASSERT_TRUE(loop.step());
  loop.run_once();
  EXPECT_EQ(calls, 2);
  loop.change(watched, 0);
  EXPECT_FALSE(loop.step());
  loop.change(watched, POLLOUT);
  EXPECT_TRUE(loop.step());
  loop.forget(watched);
  EXPECT_FALSE(loop.step());
  EXPECT_EQ(calls, 3);
}

TEST(event_loop, timers_are_called_in_order_and_not_early) {
  event_loop loop;
  std::string called;
  const auto now = steady::now();
  const auto later = now + std::chrono::milliseconds(3);
  loop.at(later, [&] {
    called += "b";
    EXPECT_GE(steady::now(), later);
  });
  loop.at(now, [&] { called += "a"; });
  const event_loop::id never = loop.at(now, [&] { called += "x"; });
  loop.cancel(never);
  loop.cancel(0);
  while (called.size() < 2) loop.run_once();
  EXPECT_EQ(called, "ab");
}

TEST(event_loop, a_loop_may_run_in_another_one) {
  event_loop outer, inner;
  pipe_ends ends;
  int calls = 0;
  inner.watch(ends.out.get(), POLLIN, [&] { ++calls, ends.take(); });
  outer.watch(inner.fd(), POLLIN, [&] { EXPECT_TRUE(inner.step()); });
  EXPECT_FALSE(outer.step());
  ends.put();
  outer.run_once();
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(outer.step());
}

TEST(event_loop, without_descriptors_it_says_so) {
  rlimit old = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  rlimit none = old;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const event_loop loop;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_NE(loop.status().message().find("EMFILE"), std::string_view::npos) << loop.status();
}

}  // namespace
}  // namespace lci::io
