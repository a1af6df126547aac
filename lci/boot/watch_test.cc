// bootstrap::watch, for every bootstrap.
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "lci/boot/bootstrap.h"
#include "lci/testing/job/test_job.h"

namespace lci::boot {
namespace {

using namespace std::chrono_literals;

// A descriptor that another thread makes readable.
class wake {
 public:
  ~wake() { close(fd_); }
  int fd() const { return fd_; }
  void ring() const {
    const uint64_t one = 1;
    EXPECT_EQ(write(fd_, &one, sizeof(one)), ssize_t{sizeof(one)});
  }

 private:
  const int fd_ = eventfd(0, EFD_CLOEXEC);
};

class watch : public testing::TestWithParam<test_job::variant> {
 protected:
  int size() const { return GetParam() == test_job::variant::local ? 1 : 3; }
};

INSTANTIATE_TEST_SUITE_P(all, watch,
                         testing::Values(test_job::variant::local, test_job::variant::in_process,
                                         test_job::variant::file, test_job::variant::tcp),
                         [](const testing::TestParamInfo<test_job::variant>& kind) {
                           return std::string(test_job::name(kind.param));
                         });

TEST_P(watch, returns_what_another_puts_and_what_is_there_already) {
  test_job job(GetParam(), size());
  job.run([](bootstrap& boot) {
    const wake never;
    for (int round = 0; round < 3; ++round) {
      const std::string key = "key" + std::to_string(round);
      if (boot.rank() == 0) {
        EXPECT_TRUE(boot.put(key, "value").ok());
      }
      for (int again = 0; again < 2; ++again) {
        const auto value = boot.watch(key, never.fd(), test_timeout);
        ASSERT_TRUE(value.ok()) << value.status();
        EXPECT_EQ(*value, "value");
      }
    }
  });
}

TEST_P(watch, ends_when_it_is_woken_or_late_and_goes_on_afterwards) {
  test_job job(GetParam(), size());
  job.run([](bootstrap& boot) {
    const wake woken;
    const wake never;
    woken.ring();
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(base::IsDeadlineExceeded(boot.watch("key", woken.fd(), test_timeout).status()));
      EXPECT_TRUE(base::IsDeadlineExceeded(boot.watch("key", never.fd(), 0ms).status()));
      EXPECT_TRUE(base::IsDeadlineExceeded(boot.watch("key", never.fd(), 1ms).status()));
    }
    // Another key in between, and the calls of another thread.
    EXPECT_TRUE(base::IsDeadlineExceeded(boot.watch("other", never.fd(), 0ms).status()));
    EXPECT_TRUE(boot.barrier("all have looked", test_timeout).ok());
    if (boot.rank() == 0) {
      EXPECT_TRUE(boot.put("key", "value").ok());
    }
    const auto value = boot.watch("key", never.fd(), test_timeout);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, "value");
  });
}

// A thread that watches reads the replies of others, too, and wakes when it is asked to.
TEST_P(watch, does_not_keep_other_threads_waiting) {
  test_job job(GetParam(), size());
  job.run([](bootstrap& boot) {
    const wake stop;
    std::atomic<bool> finished{false};
    std::thread watcher([&] {
      while (!finished) {
        const auto value = boot.watch("never", stop.fd(), test_timeout);
        EXPECT_TRUE(base::IsDeadlineExceeded(value.status())) << value.status();
      }
    });
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(boot.barrier("barrier" + std::to_string(i), test_timeout).ok());
    }
    finished = true;
    stop.ring();
    watcher.join();
  });
}

TEST_P(watch, ends_when_the_job_is_aborted) {
  test_job job(GetParam(), size());
  job.run([](bootstrap& boot) {
    const wake never;
    if (boot.rank() == 0) boot.abort("a test");
    EXPECT_TRUE(base::IsAborted(boot.watch("key", never.fd(), test_timeout).status()));
  });
}

}  // namespace
}  // namespace lci::boot
