#include "lci/base/write_watch.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

struct alignas(64) line {
  unsigned char bytes[64];
};

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address) / 64; }

class WriteWatch : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_watch_writes()) GTEST_SKIP() << "not here: see write_watch.h";
  }
  // Not in the process' first thread.
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

TEST_F(WriteWatch, CountsInstructions) {
  const auto loop = [](int rounds) {
    return instructions_of([rounds] {
      for (volatile int i = 0; i < rounds; i = i + 1) {
      }
    });
  };
  const uint64_t few = loop(100);
  const uint64_t more = loop(200);
  const uint64_t most = loop(300);
  EXPECT_GE(more - few, 200u);
  EXPECT_EQ(more - few, most - more);
}

}  // namespace
}  // namespace lci::base
