#include "lci/observe/rank_report.h"

#include <string>

#include "gtest/gtest.h"

namespace lci::observe {
namespace {

rank_report example() {
  rank_report report;
  report.rank = 3;
  report.size = 5;
  report.pid = 4711;
  report.host = "a host";
  report.program = "100 % \"mine\"\n";
  report.waits.push_back(
      {12, "barrier", rank_report::any_rank, 7, 31, "prog(main+0x12)", true, 9, 80, 1, 2, true});
  report.messages.push_back({rank_report::message::kind::announced, 1, 2, -1, true, ~uint64_t{0},
                             65536, 3, 30, "tag_only"});
  report.transfers.push_back({1, true, 4, 9, 1 << 20, true});
  report.devices.push_back(
      {0, 29, 1000, 2, 1, 5, 100, rank_report::device::arrivals::some, 1, 2, 3});
  report.refused.push_back({12, 0, 1, 512, "retry_nomem", 7});
  report.waiting.push_back({0, "put", 1, 8, "retry_lock", 9});
  report.queues.push_back({"", 17});
  report.engines.push_back({0, 7, "barrier"});
  report.failed.push_back(2);
  report.left_out = 6;
  return report;
}

TEST(RankReport, IsTheSameAfterTheTrip) {
  const std::string text = encode(example());
  const auto back = decode(text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(encode(*back), text);
  EXPECT_EQ(back->program, "100 % \"mine\"\n");
  EXPECT_EQ(back->messages[0].tag, ~uint64_t{0});
  EXPECT_EQ(back->messages[0].peer, rank_report::any_rank);
  EXPECT_EQ(back->waits[0].call, "barrier");
  EXPECT_EQ(back->queues[0].name, "");
}

// Input from another process is never trusted.
TEST(RankReport, WhatIsNoReportIsRefused) {
  const std::string bytes = encode(example());
  ASSERT_TRUE(decode(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode(bytes + '\0').ok());
  EXPECT_FALSE(decode("HTTP/1.1\n\n").ok());
  EXPECT_FALSE(decode("lci-report 3" + bytes.substr(12)).ok());
  rank_report unknown_kind = example();
  unknown_kind.messages[0].what = static_cast<rank_report::message::kind>(3);
  EXPECT_FALSE(decode(encode(unknown_kind)).ok());
  rank_report unknown_arrivals = example();
  unknown_arrivals.devices[0].messages = static_cast<rank_report::device::arrivals>(3);
  EXPECT_FALSE(decode(encode(unknown_arrivals)).ok());
}

TEST(RankReport, ListsAreCut) {
  rank_report full = example();
  full.failed.assign(1000, 1);
  full.queues.assign(1000, {"a", 1});
  const auto report = decode(encode(full));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->failed.size(), rank_report::most_entries);
  EXPECT_EQ(report->queues.size(), rank_report::most_entries);
  EXPECT_EQ(report->waits.size(), 1u);
}

TEST(RankReport, JsonQuotesTexts) {
  const std::string json = to_json(example());
  EXPECT_NE(json.find("\"program\": \"100 % \\\"mine\\\"\\u000a\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"kind\": \"announced\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"any_tag\": true"), std::string::npos) << json;
}

}  // namespace
}  // namespace lci::observe
