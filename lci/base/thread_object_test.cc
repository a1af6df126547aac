#include "lci/base/thread_object.h"

#include <thread>

#include "gtest/gtest.h"

namespace lci::base {
namespace {

int made = 0;
int destroyed = 0;

struct counted {
  counted() { ++made; }
  ~counted() { ++destroyed; }
  int value = 0;
};

TEST(ThreadObject, IsOneForEachThread) {
  made = destroyed = 0;
  thread_object<counted>::get().value = 1;
  std::thread([] {
    EXPECT_EQ(thread_object<counted>::get().value, 0);
    thread_object<counted>::get().value = 2;
    EXPECT_EQ(thread_object<counted>::get().value, 2);
  }).join();
  EXPECT_EQ(thread_object<counted>::get().value, 1);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(destroyed, 1);
}

// Its destructor runs after those of all objects that are made later.
struct late_caller {
  int* destroyed_before = nullptr;
  ~late_caller() {
    *destroyed_before = destroyed;
    thread_object<counted>::get().value = 3;
    EXPECT_EQ(thread_object<counted>::get().value, 3);
  }
};

TEST(ThreadObject, IsMadeAgainWhileTheThreadEnds) {
  made = destroyed = 0;
  int destroyed_before = -1;
  std::thread([&] {
    static thread_local late_caller late;
    late.destroyed_before = &destroyed_before;
    thread_object<counted>::get();
  }).join();
  EXPECT_EQ(destroyed_before, 1);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(destroyed, 2);
}

}  // namespace
}  // namespace lci::base
