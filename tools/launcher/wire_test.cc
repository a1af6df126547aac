#include "tools/launcher/wire.h"

#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::launcher::wire {
namespace {

using testing::HasSubstr;

// Encodes and decodes a frame.
template <class Frame>
Frame again(const Frame& frame) {
  std::string bytes;
  append_frame(&bytes, frame);
  kind which{};
  std::string_view body;
  EXPECT_EQ(take_frame(bytes, max_lcrun_body, &which, &body), taken::frame);
  EXPECT_EQ(which, Frame::is);
  EXPECT_EQ(body.size() + header_size, bytes.size());
  Frame result;
  EXPECT_TRUE(decode(body, &result));
  // decode() refuses a body that is truncated or too long. take_frame() waits for the rest of a
  // header.
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(take_frame(std::string_view(bytes).substr(0, size), max_lcrun_body, &which, &body),
              taken::incomplete);
    Frame cut;
    if (size >= header_size) {
      EXPECT_FALSE(decode(std::string_view(bytes).substr(header_size, size - header_size), &cut));
    }
  }
  Frame longer;
  EXPECT_FALSE(decode(bytes.substr(header_size) + '\0', &longer));
  return result;
}

TEST(Wire, FramesComeBackAsTheyWere) {
  launch_request e;
  e.token = std::string("a\0b", 3);
  e.node = 7;
  e.host_timeout_ms = 1;
  e.start_timeout_ms = 0xffffffff;
  e.addresses = {"10.0.0.1:5", ""};
  const launch_request e2 = again(e);
  EXPECT_EQ(e2.token, e.token);
  EXPECT_EQ(e2.node, 7u);
  EXPECT_EQ(e2.host_timeout_ms, 1u);
  EXPECT_EQ(e2.start_timeout_ms, 0xffffffffu);
  EXPECT_EQ(e2.addresses, e.addresses);

  adopted a;
  a.children = {{3, {"ssh", "c"}}, {4, {}}};
  const adopted a2 = again(a);
  ASSERT_EQ(a2.children.size(), 2u);
  EXPECT_EQ(a2.children[0].node, 3u);
  EXPECT_EQ(a2.children[0].command, a.children[0].command);
  EXPECT_TRUE(a2.children[1].command.empty());

  rank_assignment s;
  s.mark = "M=1";
  s.programs = {{0, {"p", "x y"}, "/w", {"A=1"}}, {3, {"q"}, "", {}}};
  s.environment = {"B=2"};
  s.own = {"C=3"};
  s.ranks = {2, 5};
  s.stdin_rank = 4;
  s.bind_to = 1;
  s.map_by = 2;
  s.report_bindings = 1;
  const rank_assignment s2 = again(s);
  EXPECT_EQ(s2.mark, s.mark);
  ASSERT_EQ(s2.programs.size(), 2u);
  EXPECT_EQ(s2.programs[0].command, s.programs[0].command);
  EXPECT_EQ(s2.programs[0].wdir, "/w");
  EXPECT_EQ(s2.programs[0].environment, s.programs[0].environment);
  EXPECT_EQ(s2.programs[1].first_rank, 3u);
  EXPECT_EQ(s2.environment, s.environment);
  EXPECT_EQ(s2.own, s.own);
  EXPECT_EQ(s2.ranks, s.ranks);
  EXPECT_EQ(s2.stdin_rank, 4u);
  EXPECT_EQ(s2.bind_to, 1u);
  EXPECT_EQ(s2.map_by, 2u);
  EXPECT_EQ(s2.report_bindings, 1u);

  const output o = again(output{1, 2, "text"});
  EXPECT_EQ(o.rank, 1u);
  EXPECT_EQ(o.stream, 2u);
  EXPECT_EQ(o.bytes, "text");
  const rank_stopped stopped = again(rank_stopped{4, 1});
  EXPECT_EQ(stopped.rank, 4u);
  EXPECT_EQ(stopped.stopped, 1u);
  const failed f = again(failed{3, "why"});
  EXPECT_EQ(f.code, 3u);
  EXPECT_EQ(f.what, "why");
}

TEST(Wire, AnEmptyBodyIsOneOfAFrameWithoutFields) {
  std::string bytes;
  append_frame(&bytes, finished{});
  EXPECT_EQ(bytes.size(), header_size);
  finished f;
  EXPECT_TRUE(decode("", &f));
  EXPECT_FALSE(decode("x", &f));
}

TEST(Wire, ACountThatLiesIsRefused) {
  adopted a;
  EXPECT_FALSE(decode(std::string_view("\xff\xff\xff\xff", 4), &a));
}

TEST(Wire, FramesHaveALimit) {
  std::string bytes;
  append_frame(&bytes, refused{std::string(100, 'x')});
  kind which{};
  std::string_view body;
  EXPECT_EQ(take_frame(bytes, 104, &which, &body), taken::frame);
  EXPECT_EQ(take_frame(bytes, 103, &which, &body), taken::too_large);
  EXPECT_EQ(take_frame(bytes.substr(0, header_size), 103, &which, &body), taken::too_large);
}

TEST(Wire, PreamblesAreChecked) {
  std::string ours;
  append_preamble(&ours);
  ASSERT_EQ(ours.size(), preamble_size);
  EXPECT_EQ(check_preamble(ours), "");
  EXPECT_THAT(check_preamble("SSH-2.0-"), HasSubstr("not lcrun"));
  ours[4] = 9;
  EXPECT_THAT(check_preamble(ours), HasSubstr("version 9"));
}

}  // namespace
}  // namespace lci::launcher::wire
