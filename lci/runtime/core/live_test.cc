#include "lci/runtime/core/live.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

struct object : live_object {
  int value = 0;
};

// Runs body() in a child; what it returns, up to 255.
template <class Body>
int in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "status " << status;
  return WEXITSTATUS(status);
}

std::string refusal(const object& of) {
  try {
    of.check_process("device");
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return std::string();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(LiveTest, AFreedObjectIsNotLive) {
  auto* const made = new object;
  EXPECT_TRUE(made->is_live());
  EXPECT_EQ(refusal(*made), "");
  delete made;
  EXPECT_FALSE(made->is_live());
  EXPECT_EQ(refusal(*made), "");
}

TEST(LiveTest, AWatchedObjectIsNotLiveUntilItIsFreedOrInherited) {
  auto* const made = new object;
  EXPECT_FALSE(made->is_watched());
  made->watch();
  EXPECT_TRUE(made->is_watched());
  EXPECT_FALSE(made->is_live());
  EXPECT_EQ(refusal(*made), "");
  EXPECT_EQ(
      in_child([&] {
        return !made->is_watched() && !made->is_live() && contains(refusal(*made), "fork") ? 7 : 0;
      }),
      7);
  delete made;
  EXPECT_FALSE(made->is_watched());
}

TEST(LiveTest, AChildMayNotUseObjectsOfItsParent) {
  const auto first = std::make_unique<object>();
  auto second = std::make_unique<object>();
  const auto third = std::make_unique<object>();
  second.reset();
  const std::string parent = std::to_string(::getpid());
  EXPECT_EQ(in_child([&] {
              const std::string text = refusal(*first);
              return !first->is_live() && !third->is_live() && contains(text, "device") &&
                             contains(text, "fork") && contains(text, "process " + parent) &&
                             contains(text, "process " + std::to_string(::getpid()))
                         ? 7
                         : 0;
            }),
            7);
  EXPECT_TRUE(first->is_live());
  EXPECT_TRUE(third->is_live());
}

TEST(LiveTest, AChildMayMakeItsOwnObjects) {
  const auto inherited = std::make_unique<object>();
  EXPECT_EQ(in_child([&] {
              const auto made = std::make_unique<object>();
              const std::string child = std::to_string(::getpid());
              if (!made->is_live() || inherited->is_live()) return 0;
              // The error of a grandchild names the process that forked it.
              return in_child([&] {
                return !made->is_live() && contains(refusal(*made), "process " + child) ? 7 : 0;
              });
            }),
            7);
}

TEST(LiveTest, AChildIsMadeWhileOtherThreadsMakeObjects) {
  std::atomic<bool> finished{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&finished] {
      while (!finished.load()) {
        const auto one = std::make_unique<object>();
        const auto two = std::make_unique<object>();
      }
    });
  }
  const auto inherited = std::make_unique<object>();
  for (int i = 0; i < 100; ++i) {
    // Were the lock held in the child, a new object would wait for ever.
    EXPECT_EQ(in_child([&] {
                object made;
                return made.is_live() && !inherited->is_live() ? 7 : 0;
              }),
              7);
  }
  finished.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lci::rt
