#include "tools/launcher/addresses.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Addresses, TakesTheInterfaceThatIsAskedFor) {
  for (const char* name : {"lo", "127.0.0.1"}) {
    const auto found = find_reachable(name);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->bind, "127.0.0.1");
    EXPECT_THAT(found->addresses, ElementsAre("127.0.0.1"));
  }
}

TEST(Addresses, NamesWhatThereIs) {
  const auto found = find_reachable("nosuch0");
  EXPECT_EQ(found.status().code(), base::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("nosuch0"));
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("lo (127.0.0.1)"));
}

TEST(Addresses, FindsSomeWithoutBeingAsked) {
  const auto found = find_reachable("");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->addresses, Not(IsEmpty()));
}

}  // namespace
}  // namespace lci::launcher
