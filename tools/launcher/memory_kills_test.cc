#include "tools/launcher/memory_kills.h"

#include "gtest/gtest.h"

namespace lci::launcher {
namespace {

TEST(MemoryKills, AreInALineOfTheirOwn) {
  EXPECT_EQ(parse_memory_kills("nr_free_pages 7\noom_kill 3\nnuma_hit 9\n"), 3u);
  EXPECT_EQ(parse_memory_kills("oom_kill 0\n"), 0u);
}

TEST(MemoryKills, AreUnknownWithoutThatLine) {
  EXPECT_EQ(parse_memory_kills(""), std::nullopt);
  EXPECT_EQ(parse_memory_kills("my_oom_kill 3\noom_killer 4\n"), std::nullopt);
  EXPECT_EQ(parse_memory_kills("oom_kill many\n"), std::nullopt);
}

}  // namespace
}  // namespace lci::launcher
