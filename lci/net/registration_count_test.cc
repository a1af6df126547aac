#include "lci/net/registration_count.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::net {
namespace {

// Not on the stack, where the address sanitizer does not keep its alignment.
class RegistrationCount : public testing::Test {
 protected:
  registration_count& limited_to(size_t most) {
    count_ = std::make_unique<registration_count>(most);
    return *count_;
  }

 private:
  std::unique_ptr<registration_count> count_;
};

TEST_F(RegistrationCount, CountsWithoutALimit) {
  registration_count& count = limited_to(0);
  EXPECT_EQ(count.now(), 0u);
  ASSERT_TRUE(count.add(3).ok());
  ASSERT_TRUE(count.add(1000000).ok());
  // By another thread than has added them.
  std::thread([&] { count.remove(1000001); }).join();
  EXPECT_EQ(count.now(), 2u);
}

TEST_F(RegistrationCount, SaysWhatIsMissing) {
  registration_count& count = limited_to(5);
  ASSERT_TRUE(count.add(4).ok());
  const base::Status refused = count.add(2);
  EXPECT_EQ(refused.code(), base::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              testing::HasSubstr("2 more registrations with the network are needed, and 4 of 5"));
  EXPECT_EQ(count.now(), 4u);
  ASSERT_TRUE(count.add(1).ok());
  count.remove(1);
  EXPECT_EQ(count.now(), 4u);
}

TEST_F(RegistrationCount, ThreadsNeverHaveMoreThanTheLimit) {
  constexpr int most = 3;
  registration_count& count = limited_to(most);
  std::atomic<int> held{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        if (!count.add(1).ok()) continue;
        EXPECT_LE(held.fetch_add(1) + 1, most);
        held.fetch_sub(1);
        count.remove(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count.now(), 0u);
}

}  // namespace
}  // namespace lci::net
