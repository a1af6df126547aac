#include "tools/launcher/hosts.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "lci/base/strings.h"

namespace lci::launcher {
namespace {

using testing::HasSubstr;

std::string text_of(const base::StatusOr<std::vector<host_slots>>& hosts) {
  if (!hosts.ok()) return base::StrCat("error: ", hosts.status().message());
  std::string text;
  for (const host_slots& host : *hosts) {
    base::StrAppend(&text, text.empty() ? "" : " ", host.name, "=", host.slots);
  }
  return text;
}

TEST(Hosts, ReadsLists) {
  EXPECT_EQ(text_of(parse_host_list("-H", "a:2,b")), "a=2 b=1");
  EXPECT_EQ(text_of(parse_host_list("-H", "a,b,a:3")), "a=4 b=1");
  EXPECT_EQ(text_of(parse_host_list("-H", "me@a:2, b.c.d")), "me@a=2 b.c.d=1");
  EXPECT_EQ(text_of(parse_host_list("-H", "10.0.0.1:2,[fe80::1%eth0]:3,::1,[::2]")),
            "10.0.0.1=2 fe80::1%eth0=3 ::1=1 ::2=1");
}

TEST(Hosts, RefusesBadLists) {
  for (const char* text : {"", ",", "a,,b", "-oProxyCommand=x", "a b", "a;b", "a:0", "a:x", "a:-1",
                           "a:99999999999", "$(x)", "a/b", ":3", "[::1", "::1]", "[::1:2"}) {
    EXPECT_THAT(text_of(parse_host_list("-H", text)), HasSubstr("error: -H")) << text;
  }
}

TEST(Hosts, ReadsFiles) {
  EXPECT_EQ(text_of(parse_host_file("f", "# ours\na slots=2\n\n b:3 # fast\r\nc\nc\n")),
            "a=2 b=3 c=2");
  EXPECT_EQ(text_of(parse_host_file("f", "a\tslots=2")), "a=2");
}

TEST(Hosts, RefusesBadFiles) {
  for (const char* text : {"", "# nothing\n", "a slots=0", "a slots=", "a max=2", "a slots=1 b",
                           "-x", "a\nb slots=two\n"}) {
    EXPECT_THAT(text_of(parse_host_file("file f", text)), HasSubstr("error: file f")) << text;
  }
  EXPECT_THAT(text_of(parse_host_file("f", "a\nb slots=two\n")), HasSubstr("line 2"));
  EXPECT_THAT(text_of(parse_host_file("f", "a slots=2 max_slots=4\n")),
              HasSubstr("\"max_slots=4\" is not understood"));
}

TEST(Hosts, ReadsAllocationsOfSlurm) {
  EXPECT_EQ(text_of(parse_slurm("a", "")), "a=1");
  EXPECT_EQ(text_of(parse_slurm("a,b", "4,2")), "a=4 b=2");
  EXPECT_EQ(text_of(parse_slurm("n[1-3,07],login", "2(x4),1")), "n1=2 n2=2 n3=2 n07=2 login=1");
  EXPECT_EQ(text_of(parse_slurm("n[008-011]", "1(x4)")), "n008=1 n009=1 n010=1 n011=1");
  EXPECT_EQ(text_of(parse_slurm("r[0-1]n[1-2]x", "3(x4)")), "r0n1x=3 r0n2x=3 r1n1x=3 r1n2x=3");
}

TEST(Hosts, RefusesBadAllocations) {
  for (const char* nodes :
       {"", "n[1-", "n[3-1]", "n[a-b]", "n[]", "n[1-4000000000]", "a b", "n[1-60000]x[1-60000]"}) {
    EXPECT_THAT(text_of(parse_slurm(nodes, "")), HasSubstr("error: SLURM_JOB_NODELIST")) << nodes;
  }
  for (const char* tasks : {"2(x3)", "x", "2(x", "0,1", "2(x1000000000000),1", "1,1,1"}) {
    EXPECT_THAT(text_of(parse_slurm("a,b", tasks)), HasSubstr("error: SLURM_TASKS_PER_NODE"))
        << tasks;
  }
}

TEST(Hosts, KnowsItsOwnNames) {
  char own[256] = {};
  ASSERT_EQ(gethostname(own, sizeof(own) - 1), 0);
  const std::string full = own;
  for (const std::string& name : {std::string("localhost"), full, full.substr(0, full.find('.'))}) {
    EXPECT_TRUE(is_this_host(name)) << name;
  }
  EXPECT_FALSE(is_this_host(full + "x"));
  EXPECT_FALSE(is_this_host("no-such-host.example"));
  EXPECT_FALSE(is_this_host(""));
}

TEST(Hosts, SharesRanksOut) {
  const std::vector<host_slots> hosts = {{"a", 2}, {"b", 1}, {"c", 3}};
  const auto counts = [&](int ranks, int per_host) {
    return *distribute_ranks(hosts, ranks, per_host);
  };
  EXPECT_EQ(counts(0, 0), (std::vector<int>{2, 1, 3}));
  EXPECT_EQ(counts(1, 0), (std::vector<int>{1, 0, 0}));
  EXPECT_EQ(counts(4, 0), (std::vector<int>{2, 1, 1}));
  EXPECT_EQ(counts(9, 0),
            (std::vector<int>{4, 2, 3}));  // more ranks than slots: the slots are filled once more
  EXPECT_EQ(counts(0, 2), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(counts(3, 2), (std::vector<int>{2, 1, 0}));
  EXPECT_THAT(std::string(distribute_ranks(hosts, 7, 2).status().message()), HasSubstr("--ppn 2"));
}

TEST(Hosts, SlotsAreTakenInTurn) {
  const std::vector<host_slots> hosts = {{"a", 1}, {"b", 3}, {"c", 2}};
  EXPECT_EQ(*distribute_ranks(hosts, 4, 0, true), (std::vector<int>{1, 2, 1}));
  EXPECT_EQ(*distribute_ranks(hosts, 0, 0, true), (std::vector<int>{1, 3, 2}));
  EXPECT_EQ(*distribute_ranks(hosts, 8, 0, true), (std::vector<int>{2, 4, 2}));
  EXPECT_EQ(*distribute_ranks(hosts, 4, 2, true), (std::vector<int>{2, 1, 1}));
}

TEST(Hosts, RanksArePlaced) {
  using placed = std::vector<std::vector<int>>;
  EXPECT_EQ(place_ranks({2, 0, 3}, false), (placed{{0, 1}, {}, {2, 3, 4}}));
  EXPECT_EQ(place_ranks({2, 0, 3}, true), (placed{{0, 2}, {}, {1, 3, 4}}));
}

}  // namespace
}  // namespace lci::launcher
