// Every label of a third-party library compiles, links and runs: one real call each.

#include <benchmark/benchmark.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rdma/fabric.h>
#include <zlib.h>

#include <cstring>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"

namespace {

using ::testing::HasSubstr;

TEST(abseil_labels, strings) {
  EXPECT_EQ(absl::StrCat("rank ", 3), "rank 3");
  EXPECT_EQ(absl::StrFormat("%04x", 255), "00ff");
  EXPECT_EQ(absl::optional<int>(4).value_or(0), 4);
}

TEST(abseil_labels, flat_hash_map) {
  absl::flat_hash_map<int, int> counts;
  ++counts[7];
  ++counts[7];
  EXPECT_EQ(counts.at(7), 2);
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

}  // namespace
