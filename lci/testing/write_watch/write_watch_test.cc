#include "lci/testing/write_watch/write_watch.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/testing/library_call/library_call.h"

namespace lci::base {
namespace {

struct alignas(64) line {
  unsigned char bytes[64];
};

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address) / 64; }

class WriteWatch : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_watch_writes()) GTEST_SKIP() << "NOTHING WAS TESTED: see write_watch.h";
  }
  // The watch does not work in the process' first thread.
  static void in_thread(const std::function<void()>& body) { std::thread(body).join(); }
};

line global_lines[3];
std::atomic<int> counted{0};
thread_local int of_thread = 0;

TEST_F(WriteWatch, SeesWritesToGlobalsAndHeap) {
  in_thread([] {
    const std::unique_ptr<line[]> heap(new line[4]);
    volatile line* const global = global_lines;
    volatile line* const allocated = heap.get();
    const written_lines lines = lines_written_by([&] {
      global[1].bytes[3] = 1;
      allocated[2].bytes[63] = 1;
      of_thread = 5;
      static_cast<void>(global[0].bytes[0]);
    });
    EXPECT_EQ(lines.count(number(&global_lines[1])), 1u);
    EXPECT_EQ(lines.count(number(&heap[2])), 1u);
    EXPECT_EQ(lines.size(), 2u);
    EXPECT_EQ(of_thread, 5);
  });
}

TEST_F(WriteWatch, SeesAnAtomicThatIsAsBeforeInTheEnd) {
  in_thread([] {
    const written_lines lines = lines_written_by([] {
      counted.fetch_add(1);
      counted.fetch_sub(1);
    });
    EXPECT_EQ(lines.count(number(&counted)), 1u);
  });
}

TEST_F(WriteWatch, SeesAllLinesOfACopy) {
  in_thread([] {
    std::vector<line> from(300);
    std::vector<line> to(300);
    std::memset(from.data(), 7, from.size() * sizeof(line));
    const written_lines lines =
        lines_written_by([&] { std::memcpy(to.data(), from.data(), to.size() * sizeof(line)); });
    for (const line& each : to) EXPECT_EQ(lines.count(number(&each)), 1u);
    EXPECT_EQ(std::memcmp(from.data(), to.data(), to.size() * sizeof(line)), 0);
  });
}

// Whether only the program, or only a library, wrote to the line.
bool is_of_program(const writers& by) { return by.program != nullptr && by.library == nullptr; }
bool is_of_library(const writers& by) { return by.program == nullptr && by.library != nullptr; }

TEST_F(WriteWatch, TellsTheProgramFromLibraries) {
  void* const library = dlopen("lci/testing/write_watch/libwritten.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto write = reinterpret_cast<void (*)(void*)>(dlsym(library, "write_from_library"));
  const auto copy =
      reinterpret_cast<void (*)(void*, const void*, size_t)>(dlsym(library, "copy_from_library"));
  const auto call = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "call_from_library"));
  in_thread([&] {
    const std::vector<line> from(20);
    std::vector<line> to(100);
    written_lines lines = lines_written_by([&] {
      write(&to[0]);
      copy(&to[1], &from[0], from.size() * sizeof(line));
      std::memcpy(&to[30], &from[0], from.size() * sizeof(line));
      call([] { counted.fetch_add(1); });  // the program's own write, even if a library calls it
      {
        const library_call standing_for_one;
        std::memcpy(&to[60], &from[0], from.size() * sizeof(line));
      }
      write(&to[90]);
      static_cast<volatile line*>(&to[90])->bytes[1] = 1;
    });
    EXPECT_TRUE(is_of_library(lines[number(&to[0])]));
    for (size_t i = 0; i < from.size(); ++i) {
      EXPECT_TRUE(is_of_library(lines[number(&to[1 + i])]));
      EXPECT_TRUE(is_of_program(lines[number(&to[30 + i])]));
      EXPECT_TRUE(is_of_library(lines[number(&to[60 + i])]));
    }
    EXPECT_TRUE(is_of_program(lines[number(&counted)]));
    EXPECT_NE(lines[number(&to[90])].program, nullptr);
    EXPECT_NE(lines[number(&to[90])].library, nullptr);
  });
}

TEST_F(WriteWatch, SeesWhatTheKernelWrites) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const int set = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted = {};
  wanted.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, pair[1], &wanted), 0);
  ASSERT_EQ(write(pair[0], "abcdefghij", 10), 10);
  in_thread([&] {
    struct of_kernel {
      line bytes[5];
      alignas(64) pollfd polled;
      alignas(64) epoll_event event;
      alignas(64) socklen_t size;
      alignas(64) int type;
    };
    const std::unique_ptr<of_kernel> to(new of_kernel());
    to->polled = {pair[1], POLLIN, 0};
    to->size = sizeof(to->type);
    const written_lines lines = lines_written_by([&] {
      EXPECT_EQ(poll(&to->polled, 1, 0), 1);
      EXPECT_EQ(epoll_wait(set, &to->event, 1, 0), 1);
      EXPECT_EQ(getsockopt(pair[1], SOL_SOCKET, SO_TYPE, &to->type, &to->size), 0);
      EXPECT_EQ(read(pair[1], &to->bytes[0], 2), 2);
      EXPECT_EQ(recv(pair[1], &to->bytes[1], 3, 0), 3);
      iovec parts[2] = {{&to->bytes[2], 1}, {&to->bytes[3], 9}};
      msghdr message = {};
      message.msg_iov = parts;
      message.msg_iovlen = 2;
      EXPECT_EQ(recvmsg(pair[1], &message, 0), 5);
    });
    for (const void* each :
         {static_cast<const void*>(&to->bytes[0]), static_cast<const void*>(&to->bytes[1]),
          static_cast<const void*>(&to->bytes[2]), static_cast<const void*>(&to->bytes[3]),
          static_cast<const void*>(&to->polled), static_cast<const void*>(&to->event),
          static_cast<const void*>(&to->size), static_cast<const void*>(&to->type)}) {
      ASSERT_EQ(lines.count(number(each)), 1u);
      EXPECT_TRUE(is_of_program(lines.at(number(each))));
    }
    EXPECT_EQ(lines.count(number(&to->bytes[4])), 0u);
    EXPECT_EQ(std::memcmp(&to->bytes[0], "ab", 2), 0);
    EXPECT_EQ(std::memcmp(&to->bytes[1], "cde", 3), 0);
    EXPECT_EQ(std::memcmp(&to->bytes[2], "f", 1), 0);
    EXPECT_EQ(std::memcmp(&to->bytes[3], "ghij", 4), 0);
    EXPECT_EQ(to->polled.revents, POLLIN);
    EXPECT_EQ(to->event.events, EPOLLIN);
    EXPECT_EQ(to->type, SOCK_STREAM);
  });
  close(set);
  close(pair[0]);
  close(pair[1]);
}

TEST_F(WriteWatch, HoldsThreadsThatAreWokenUntilItIsOver) {
  // In a child, as a stop affects all threads of the process.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    in_thread([] {
      const std::unique_ptr<line> written(new line);
      volatile line* const to = written.get();
      for (int i = 0; i < 20; ++i) {
        const written_lines lines = lines_written_by([&] {
          to->bytes[0] = 1;
          kill(getpid(), SIGSTOP);
          to->bytes[1] = 1;
        });
        if (lines.size() != 1) _exit(1);
      }
    });
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status)) kill(child, SIGCONT);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(WriteWatch, CountsInstructions) {
  const auto loop = [](int rounds) {
    return instructions_of([rounds] {
      for (volatile int i = 0; i < rounds; i = i + 1) {
      }
      const library_call standing_for_one;
      for (volatile int i = 0; i < rounds; i = i + 1) {
      }
    });
  };
  const instruction_count few = loop(100);
  const instruction_count more = loop(200);
  const instruction_count most = loop(300);
  EXPECT_GE(more.program - few.program, 200u);
  EXPECT_EQ(more.program - few.program, most.program - more.program);
  EXPECT_EQ(more.all - few.all, 2 * (more.program - few.program));
  EXPECT_EQ(more.all - few.all, most.all - more.all);
}

}  // namespace
}  // namespace lci::base
