#include "lci/net/ofi/regions.h"

#include <set>

#include "gtest/gtest.h"

namespace lci::net::ofi {
namespace {

bool use(const region_table& table, remote_region region, uint64_t offset, size_t size,
         unsigned char* expected) {
  return table.use(region, offset, size, [&](const region_table::region&, unsigned char* at) {
    EXPECT_EQ(at, expected);
  });
}

TEST(Regions, AreOpenOnlyWithinTheirBounds) {
  region_table table(1000);
  table.set_key_bytes(region_table::name_key_bytes);
  unsigned char bytes[100];
  region_table::region& open = table.open(bytes, 100);
  const remote_region key = region_table::remote(open);
  EXPECT_TRUE(use(table, key, 0, 100, bytes));
  EXPECT_TRUE(use(table, key, 60, 40, bytes + 60));
  EXPECT_TRUE(use(table, key, 100, 0, bytes + 100));
  EXPECT_FALSE(use(table, key, 0, 101, bytes));
  EXPECT_FALSE(use(table, key, 101, 0, bytes));
  EXPECT_FALSE(use(table, key, ~uint64_t{0}, 2, bytes));
  EXPECT_FALSE(use(table, {key.base, key.key ^ 1}, 0, 1, bytes));
  EXPECT_FALSE(use(table, {key.base, key.key ^ uint64_t{1} << 40}, 0, 1, bytes));
  EXPECT_FALSE(use(table, {key.base + 1, key.key}, 0, 1, bytes));
  EXPECT_FALSE(use(table, {~uint64_t{0}, key.key}, 0, 1, bytes));
  EXPECT_FALSE(use(table, {}, 0, 0, bytes));
  table.close(open);
  EXPECT_FALSE(use(table, key, 0, 1, bytes));
}

TEST(Regions, AKeyIsNeverReused) {
  region_table table(~uint64_t{0} - 5);  // wraps around
  std::set<uint64_t> keys;
  unsigned char byte;
  for (int i = 0; i < 20; ++i) {
    region_table::region& open = table.open(&byte, 1);
    EXPECT_NE(open.key, 0u);
    EXPECT_TRUE(keys.insert(open.key).second);
    EXPECT_EQ(&table.at(region_table::local(open)), &open);
    table.close(open);
  }
}

TEST(Regions, KeysFitWhatTheProviderUses) {
  region_table table(~uint64_t{0} - 5);
  table.set_key_bytes(4);
  unsigned char byte;
  for (int i = 0; i < 20; ++i) {
    const uint64_t key = table.open(&byte, 1).key;
    EXPECT_NE(key, 0u);
    EXPECT_LE(key, 0xffffffffu);
  }
}

TEST(Regions, AllOpenRegionsAreVisited) {
  region_table table(1);
  unsigned char bytes[3];
  region_table::region& first = table.open(&bytes[0], 1);
  table.open(&bytes[1], 1);
  table.open(&bytes[2], 1);
  table.close(first);
  std::set<unsigned char*> seen;
  table.for_each([&](const region_table::region& open) { seen.insert(open.address); });
  EXPECT_EQ(seen, (std::set<unsigned char*>{&bytes[1], &bytes[2]}));
}

}  // namespace
}  // namespace lci::net::ofi
