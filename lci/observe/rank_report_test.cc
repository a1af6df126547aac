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
      {12, "barrier", rank_report::any_rank, 7, 31, "prog(main+0x12)", true, 9, 80});
  report.messages.push_back(
      {rank_report::message::kind::announced, 1, 2, -1, true, ~uint64_t{0}, 65536, 3, 30});
  report.transfers.push_back({1, true, 4, 9, 1 << 20, true});
  report.devices.push_back({0, 29, 1000, 2, 1, 5, 100});
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

// What another process sends is never trusted.
TEST(RankReport, WhatIsNoReportIsRefused) {
  const std::string text = encode(example());
  for (const char* bad : {"", "lci-report 2", "lci-report 1\nrank 0 1 2 a b 0\n", "HTTP/1.1\n\n"}) {
    EXPECT_FALSE(decode(bad).ok()) << bad;
  }
  const std::string head = "lci-report 2\nrank 0 1 2 a b 0\n";
  ASSERT_TRUE(decode(head).ok());
  for (const char* line :
       {"device 1 2 3 4 5 6", "device 1 2 3 4 5 6 7 8", "device 1 2 3 4 5 6 x", "device",
        "unknown 1", "queue %4 1", "queue %zz 1", "message 3 0 0 0 0 0 0 0 0", "failed "}) {
    EXPECT_FALSE(decode(head + line + "\n").ok()) << line;
  }
  // Every text that is cut off is refused or is a shorter report, and never more than that.
  for (size_t size = 0; size < text.size(); ++size) {
    const auto part = decode(text.substr(0, size));
    if (part.ok()) {
      EXPECT_LE(encode(*part).size(), text.size() + 1) << size;
    }
  }
}

TEST(RankReport, ListsAreCut) {
  std::string text = "lci-report 2\nrank 0 1 2 a b 0\n";
  for (int i = 0; i < 1000; ++i) text += "failed 1\n";
  const auto report = decode(text);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->failed.size(), rank_report::most_entries);
}

TEST(RankReport, JsonQuotesTexts) {
  const std::string json = to_json(example());
  EXPECT_NE(json.find("\"program\": \"100 % \\\"mine\\\"\\u000a\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"kind\": \"announced\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"any_tag\": true"), std::string::npos) << json;
}

}  // namespace
}  // namespace lci::observe
