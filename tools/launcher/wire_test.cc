#include "tools/launcher/wire.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace lci::launcher::wire {
namespace {

// Encodes and decodes a frame. decode() refuses a body that is truncated or too long.
template <class Frame>
Frame again(const Frame& frame) {
  const std::string body = encode(frame);
  Frame result;
  EXPECT_TRUE(decode(body, &result));
  for (size_t size = 0; size < body.size(); ++size) {
    Frame cut;
    EXPECT_FALSE(decode(std::string_view(body).substr(0, size), &cut));
  }
  Frame longer;
  EXPECT_FALSE(decode(body + '\0', &longer));
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
  s.programs = {{0, {"p", "x y"}, "/w", {"A=1"}, ""}, {3, {"q"}, "", {}, ""}};
  s.environment = {"B=2"};
  s.own = {"C=3"};
  s.ranks = {2, 5};
  s.stdin_rank = 4;
  s.bind_to = binding::core;
  s.map_by = mapping::numa;
  s.report_bindings = true;
  const rank_assignment s2 = again(s);
  EXPECT_EQ(s2.mark, s.mark);
  ASSERT_EQ(s2.programs.size(), 2u);
  EXPECT_EQ(s2.programs[0].command, s.programs[0].command);
  EXPECT_EQ(s2.programs[0].wdir, "/w");
  EXPECT_EQ(s2.programs[0].environment, s.programs[0].environment);
  EXPECT_EQ(s2.programs[1].first_rank, 3);
  EXPECT_EQ(s2.environment, s.environment);
  EXPECT_EQ(s2.own, s.own);
  EXPECT_EQ(s2.ranks, s.ranks);
  EXPECT_EQ(s2.stdin_rank, 4);
  EXPECT_EQ(s2.bind_to, binding::core);
  EXPECT_EQ(s2.map_by, mapping::numa);
  EXPECT_TRUE(s2.report_bindings);

  const hello h = again(hello{5, 6, "host", 7});
  EXPECT_EQ(h.node, 5u);
  EXPECT_EQ(h.nodes, 6u);
  EXPECT_EQ(h.host, "host");
  EXPECT_EQ(h.processors, 7u);
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
  EXPECT_EQ(encode(finished{}), "");
  finished f;
  EXPECT_TRUE(decode("", &f));
  EXPECT_FALSE(decode("x", &f));
}

TEST(Wire, AFlagThatIsNeitherSetNorClearIsRefused) {
  std::string body = encode(rank_assignment{});
  body[body.size() - 4] = 2;
  rank_assignment s;
  EXPECT_FALSE(decode(body, &s));
}

TEST(Wire, ACountThatLiesIsRefused) {
  adopted a;
  EXPECT_FALSE(decode(std::string_view("\xff\xff\xff\xff", 4), &a));
}

}  // namespace
}  // namespace lci::launcher::wire
