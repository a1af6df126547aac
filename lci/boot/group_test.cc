#include "lci/boot/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lci/base/strings.h"
#include "lci/testing/job/test_job.h"

namespace lci::boot {
namespace {

using testing::HasSubstr;

std::vector<int> group_of(int rank) {
  return rank % 2 == 0 ? std::vector<int>{0, 2, 4} : std::vector<int>{1, 3};
}

class Group : public testing::TestWithParam<test_job::variant> {};

INSTANTIATE_TEST_SUITE_P(All, Group,
                         testing::Values(test_job::variant::in_process, test_job::variant::file,
                                         test_job::variant::tcp),
                         [](const auto& each) { return std::string(test_job::name(each.param)); });

TEST_P(Group, IsAJobOfItsOwn) {
  test_job job(GetParam(), 5);
  job.run([](bootstrap& boot) {
    group_bootstrap group(boot, "x", group_of(boot.rank()));
    EXPECT_EQ(group.rank(), boot.rank() / 2);
    EXPECT_EQ(group.size(), boot.rank() % 2 == 0 ? 3 : 2);
    EXPECT_EQ(group.position().local_size, group.size());
    // A name can be used once in each group, and may equal a key.
    const std::string value = base::StrCat("rank", std::string(1, '\0'), boot.rank());
    const auto all = group.allgather("a", value, test_timeout);
    ASSERT_TRUE(all.ok()) << all.status();
    std::vector<std::string> expected;
    for (const int member : group_of(boot.rank())) {
      expected.push_back(base::StrCat("rank", std::string(1, '\0'), member));
    }
    EXPECT_EQ(*all, expected);
    const auto nothing = group.allgather("empty", "", test_timeout);
    ASSERT_TRUE(nothing.ok()) << nothing.status();
    EXPECT_EQ(*nothing, std::vector<std::string>(expected.size()));
    if (group.rank() == 0) {
      EXPECT_TRUE(group.put("a", value).ok());
    }
    EXPECT_TRUE(group.barrier("a", test_timeout).ok());
    const auto of_first = group.get("a", test_timeout);
    ASSERT_TRUE(of_first.ok()) << of_first.status();
    EXPECT_EQ(*of_first, expected[0]);
    EXPECT_EQ(group.barrier("a", test_timeout).code(), base::StatusCode::kAlreadyExists);
    EXPECT_TRUE(boot.barrier("end", test_timeout).ok());
  });
}

TEST_P(Group, DoesNotWaitForOthersAndNamesWhoIsMissing) {
  test_job job(GetParam(), 5);
  job.run([](bootstrap& boot) {
    group_bootstrap group(boot, "x", group_of(boot.rank()));
    if (boot.rank() % 2 == 1) {
      EXPECT_TRUE(group.barrier("b", test_timeout).ok());
    } else if (boot.rank() != 2) {
      const base::Status late = group.barrier("b", std::chrono::milliseconds(200));
      EXPECT_EQ(late.code(), base::StatusCode::kDeadlineExceeded) << late;
      EXPECT_THAT(std::string(late.message()), HasSubstr("rank 2 did not arrive"));
    }
    EXPECT_TRUE(boot.barrier("end", test_timeout).ok());
  });
}

// A rank that is lost while members wait ends their wait, whether it is one of them or not.
TEST_P(Group, ALostRankIsNotWaitedFor) {
  for (const int lost : {2, 3}) {
    test_job job(GetParam(), 5);
    job.run([lost](bootstrap& boot) {
      group_bootstrap group(boot, "x", group_of(boot.rank()));
      if (boot.rank() == 4) {
        group.report_lost(1);  // that is rank 2
      } else if (boot.rank() == 1 && lost == 3) {
        group.report_lost(1);  // that is rank 3
      } else if (boot.rank() == 0) {
        const base::Status left = group.barrier("b", test_timeout);
        EXPECT_TRUE(base::IsUnavailable(left)) << left;
        const std::optional<int> first = boot.first_lost();
        ASSERT_TRUE(first.has_value());
        EXPECT_THAT(std::string(left.message()), HasSubstr(base::StrCat("rank ", *first)));
        EXPECT_EQ(group.first_lost(), *first == 2 ? 1 : -1);
      }
      EXPECT_TRUE(boot.barrier("end", test_timeout).ok());
    });
  }
}

}  // namespace
}  // namespace lci::boot
