// Every label of a third-party library compiles, links and runs: one real call each.

#include <benchmark/benchmark.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/fabric.h>
#include <zlib.h>

#include <cstring>
#include <libcuckoo/cuckoohash_map.hh>
#include <string>
#include <vector>

#include "absl/base/casts.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/numeric/bits.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(abseil_labels, strings_and_status) {
  EXPECT_EQ(absl::StrCat("rank ", 3), "rank 3");
  EXPECT_EQ(absl::StrFormat("%04x", 255), "00ff");
  absl::StatusOr<int> refused = absl::InvalidArgumentError("no such rank");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("such"));
  EXPECT_EQ(absl::FormatDuration(absl::Milliseconds(1500)), "1.5s");
}

TEST(abseil_labels, containers) {
  absl::flat_hash_map<std::string, int> map = {{"a", 1}};
  absl::flat_hash_set<int> set = {1, 2};
  EXPECT_EQ(map.at("a"), 1);
  EXPECT_TRUE(set.contains(2));
  EXPECT_EQ(absl::HashOf(1, 2), absl::HashOf(1, 2));
  std::vector<int> values = {1, 2, 3};
  EXPECT_THAT(absl::MakeSpan(values).subspan(1), ElementsAre(2, 3));
  EXPECT_EQ(absl::optional<int>(4).value_or(0), 4);
}

TEST(abseil_labels, small_things) {
  int ran = 0;
  {
    absl::Cleanup cleanup = [&] { ++ran; };
    const auto count = [&] { ++ran; };
    absl::FunctionRef<void()> function = count;
    function();
  }
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(absl::bit_width(255U), 8);
  EXPECT_EQ(absl::bit_cast<unsigned>(1.0F), 0x3f800000U);
  absl::BitGen generator;
  EXPECT_LT(absl::Uniform(generator, 0, 10), 10);
}

TEST(benchmark_label, registers) {
  EXPECT_NE(benchmark::RegisterBenchmark("nothing", [](benchmark::State&) {}), nullptr);
}

TEST(libfabric_label, has_the_version_it_was_compiled_for) {
  EXPECT_GE(fi_version(), static_cast<unsigned>(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)));
}

TEST(ibverbs_label, names_a_status) {
  EXPECT_THAT(std::string(ibv_wc_status_str(IBV_WC_SUCCESS)), HasSubstr("success"));
}

TEST(zlib_label, sums_as_its_specification_says) {
  const char* digits = "123456789";
  const auto* bytes = reinterpret_cast<const Bytef*>(digits);
  EXPECT_EQ(crc32(0, bytes, static_cast<uInt>(std::strlen(digits))), 0xcbf43926U);
}

TEST(libcuckoo_label, counts) {
  libcuckoo::cuckoohash_map<int, int> table;
  table.upsert(
      7, [](int& count) { ++count; }, 1);
  table.upsert(
      7, [](int& count) { ++count; }, 1);
  EXPECT_EQ(table.find(7), 2);
}

}  // namespace
