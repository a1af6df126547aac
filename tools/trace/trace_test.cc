// The texts and the JSON that lci_trace writes.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/observe/recording.h"
#include "tools/trace/chrome.h"
#include "tools/trace/files.h"
#include "tools/trace/text.h"

namespace lci::trace {
namespace {

using observe::event;
using observe::event_kind;
using observe::recording;
using observe::wire_form;
using testing::HasSubstr;
using testing::Not;

event make(event_kind kind, wire_form form = wire_form::none) {
  event made;
  made.kind = kind;
  made.form = form;
  made.peer = 1;
  made.tag = 7;
  made.size = 8;
  made.sequence = 5;
  made.detail = 1;
  return made;
}

std::vector<recording> two_ranks() {
  std::vector<recording> made(2);
  for (int r = 0; r < 2; ++r) {
    recording& each = made[static_cast<size_t>(r)];
    each.rank = r;
    each.ranks = 2;
    each.pid = 100 + r;
    each.job = "job";
    each.host = "n1";
    each.program = "hello";
    each.threads.resize(1);
    each.threads[0].number = 0;
    each.threads[0].tid = 100;
    each.threads[0].name = "hello";
  }
  event post = make(event_kind::post, wire_form::tagged);
  post.time = 1000;
  post.duration = 250;
  made[0].threads[0].events = {post};
  event poll = make(event_kind::poll);
  poll.peer = event::no_peer;
  poll.time = 1400;
  poll.duration = 700;
  event arrival = make(event_kind::arrival, wire_form::tagged);
  arrival.peer = 0;
  arrival.time = 2100;
  event other = arrival;
  other.sequence = 6;
  made[1].threads[0].events = {poll, arrival, other};
  return made;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Text, SaysWhatAMessageIs) {
  EXPECT_EQ(to_text(make(event_kind::post, wire_form::tagged)),
            "post            send to rank 1, tag 7, 8 bytes, engine 1, number 5");
  EXPECT_EQ(to_text(make(event_kind::arrival, wire_form::active_message)),
            "arrival         active message from rank 1, tag 7, 8 bytes, remote completion 1, "
            "number 5");
  event waits = make(event_kind::receive);
  waits.peer = event::no_peer;
  waits.flags = event::any_tag | event::of_library;
  EXPECT_EQ(to_text(waits),
            "receive         a receive with any tag from any rank, engine 1 waits, of a collective "
            "operation");
  event begins = make(event_kind::collective);
  begins.peer = event::no_peer;
  observe::set_name(&begins, "allreduce");
  EXPECT_EQ(to_text(begins), "collective      allreduce 1 begins, 8 bytes");
}

TEST(Text, NoKindAndFormIsWithoutText) {
  for (int kind = 1; kind < observe::event_kinds; ++kind) {
    for (int form = 0; form < observe::wire_forms; ++form) {
      const event made = make(static_cast<event_kind>(kind), static_cast<wire_form>(form));
      EXPECT_GT(to_text(made).size(), 16u) << kind << " " << form;
    }
  }
}

TEST(Show, HasTheLastEventsOfEachThread) {
  std::vector<recording> ranks = two_ranks();
  ranks[1].has_ended = true;
  ranks[1].keep_reasons = observe::keep_peer_lost;
  const std::string all = show(ranks, 20);
  EXPECT_THAT(all,
              HasSubstr("rank 0 of 2, process 100 of hello on n1, job job: it is gone, and has "
                        "not finalized\n"));
  EXPECT_THAT(all, HasSubstr("it has finalized; it has lost a peer\n"));
  EXPECT_THAT(all, HasSubstr("thread 0 \"hello\" (100): the last 3 of 3 events\n"));
  EXPECT_THAT(all, HasSubstr("-0.001100  post            send to rank 1"));
  EXPECT_THAT(all, HasSubstr(" 0.000000  arrival"));
  const std::string last = show(ranks, 1);
  EXPECT_THAT(last, HasSubstr("the last 1 of 3 events\n"));
  EXPECT_THAT(last, HasSubstr("number 6\n"));
  EXPECT_THAT(last, Not(HasSubstr("arrival         send from rank 0, tag 7, 8 bytes, engine 1, "
                                  "number 5\n")));
  EXPECT_THAT(show(std::vector<recording>(1), 5), HasSubstr("no events"));
}

TEST(Chrome, HasASliceForEachEndAndAnArrowBetweenThem) {
  const chrome_trace trace = make_chrome_trace(two_ranks());
  EXPECT_EQ(trace.events, 4u);
  EXPECT_EQ(trace.arrows, 1u);
  EXPECT_EQ(trace.only_sent, 0u);
  EXPECT_EQ(trace.only_arrived, 1u);
  EXPECT_THAT(trace.json,
              HasSubstr("{\"ph\":\"X\",\"dur\":0.250,\"name\":\"send\",\"cat\":\"post\","
                        "\"pid\":0,\"tid\":0,\"ts\":0.000,"));
  EXPECT_THAT(trace.json, HasSubstr("\"name\":\"poll\",\"cat\":\"network\",\"pid\":1,\"tid\":0,"
                                    "\"ts\":0.400,"));
  // The completions of a poll: a nanosecond each.
  EXPECT_THAT(trace.json, HasSubstr("\"dur\":0.001,\"name\":\"arrival: send\",\"cat\":\"arrival\","
                                    "\"pid\":1,\"tid\":0,\"ts\":1.100,"));
  EXPECT_THAT(trace.json, HasSubstr("\"ts\":1.101,"));
  EXPECT_THAT(trace.json,
              HasSubstr("{\"ph\":\"s\",\"id\":0,\"name\":\"message\",\"cat\":\"message\","
                        "\"pid\":0,\"tid\":0,\"ts\":0.000}"));
  EXPECT_THAT(trace.json, HasSubstr("{\"ph\":\"f\",\"bp\":\"e\",\"id\":0,\"name\":\"message\","
                                    "\"cat\":\"message\",\"pid\":1,\"tid\":0,\"ts\":1.100}"));
  EXPECT_EQ(count(trace.json, "\"ph\":\"s\""), 1u);
  EXPECT_EQ(count(trace.json, "\"ph\":\"f\""), 1u);
}

TEST(Chrome, NamesThatAreNoTextAreEscaped) {
  std::vector<recording> ranks = two_ranks();
  ranks[0].threads[0].name = "a\"b\\\n";
  EXPECT_THAT(make_chrome_trace(ranks).json, HasSubstr(R"(thread 0 a\\\"b\\\\\\n")"));
}

TEST(Chrome, OfNothingIsATrace) {
  EXPECT_THAT(make_chrome_trace({}).json, HasSubstr("\"traceEvents\":[\n]}"));
}

TEST(Files, MissingOnesAreNamed) {
  const auto none = read_job({testing::TempDir() + "/nothing.lcirec"}, "");
  ASSERT_TRUE(none.ok());
  ASSERT_EQ(none->unreadable.size(), 1u);
  EXPECT_THAT(none->unreadable[0], HasSubstr("nothing.lcirec: No such file"));
}

}  // namespace
}  // namespace lci::trace
