// The hosts and processors on which lcrun places ranks.
#include <sched.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/launcher/testing/lcrun_driver.h"

namespace lci::launcher {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Several hosts, whose helpers the agent starts on this host.
std::vector<std::string> on_hosts(const std::string& hosts, std::vector<std::string> options) {
  options.insert(options.begin(), {"--launch-agent", "env -u %h", "-H", hosts});
  return options;
}

int processors() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  return CPU_COUNT(&set);
}

TEST(Placement, BindsToCores) {
  const result bound = run({"-n", "64", "--bind-to", "core"}, {test_child, "cores"});
  EXPECT_EQ(bound.code, 0) << bound.error;
  EXPECT_THAT(lines_of(bound.out), SizeIs(64));
  const bool one_each = processors() <= 64;
  for (const std::string& line : lines_of(bound.out)) {
    EXPECT_TRUE(line == "1" || !one_each) << line;
  }
}

TEST(Placement, ReportsBindings) {
  const result bound =
      run({"-n", "2", "--map-by", "socket", "--report-bindings"}, {test_child, "cores"});
  EXPECT_EQ(bound.code, 0) << bound.error;
  EXPECT_THAT(bound.error, HasSubstr("lcrun: rank 0: processor"));
  EXPECT_THAT(bound.error, HasSubstr("socket"));
  const result free = run({"-n", "1", "--report-bindings"}, {test_child, "cores"});
  EXPECT_THAT(free.error, HasSubstr("lcrun: rank 0: not bound\n"));
  EXPECT_EQ(free.out, std::to_string(processors()) + "\n");
  // --bind-to none wins over what --map-by implies.
  EXPECT_THAT(run({"-n", "1", "--report-bindings", "--map-by", "numa", "--bind-to", "none"},
                  {test_child, "cores"})
                  .error,
              HasSubstr("lcrun: rank 0: not bound\n"));
}

TEST(Placement, ReportsBindingsOfHosts) {
  const result r =
      run(on_hosts("a,b", {"--bind-to", "core", "--report-bindings"}), {test_child, "cores"});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(r.error, HasSubstr("lcrun: a: rank 0: processor"));
  EXPECT_THAT(r.error, HasSubstr("lcrun: b: rank 1: processor"));
}

TEST(Placement, DryRunShowsBindings) {
  const result r = run({"-n", "1", "--dry-run", "--bind-to", "socket"}, {test_child});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(r.out, HasSubstr("socket"));
}

TEST(Placement, RanksFillHostAfterHost) {
  const result r =
      run(on_hosts("a:2,b:2", {"-l", "-n", "3"}), {test_child, "variable", "LCI_LOCAL_RANK"});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(lines_of(r.out), UnorderedElementsAre("[0 a] 0", "[1 a] 1", "[2 b] 0"));
}

TEST(Placement, RanksAreDealtToTheHostsInTurn) {
  const result r = run(on_hosts("a:2,b:3", {"-l", "--map-by", "node"}),
                       {test_child, "variable", "LCI_LOCAL_RANK"});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(lines_of(r.out),
              UnorderedElementsAre("[0 a] 0", "[1 b] 0", "[2 a] 1", "[3 b] 1", "[4 b] 2"));
  // One slot of each host at a time, with fewer ranks than slots.
  const result few = run(on_hosts("a:2,b:2", {"-l", "-n", "2", "--map-by", "node", "--stdin", "1"}),
                         {test_child, "echo"}, "text");
  EXPECT_EQ(few.code, 0) << few.error;
  EXPECT_THAT(lines_of(few.out), UnorderedElementsAre("[0 a] 0 read 0", "[1 b] 1 read 4"));
}

// The failure of a rank names its host.
TEST(Placement, FailuresNameTheHostOfARankThatWasDealt) {
  const result r =
      run(on_hosts("a:2,b:2", {"--map-by", "node"}), {test_child, "exit-of-rank-1", "3"});
  EXPECT_EQ(r.code, 3);
  EXPECT_THAT(r.error, HasSubstr("rank 1 on b failed first"));
}

TEST(Placement, RanksPerHostInTheSpellingOfOpenMpi) {
  const result r = run(on_hosts("a,b", {"-l", "--map-by", "ppr:2:node"}),
                       {test_child, "variable", "LCI_LOCAL_SIZE"});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(lines_of(r.out), UnorderedElementsAre("[0 a] 2", "[1 a] 2", "[2 b] 2", "[3 b] 2"));
}

TEST(Placement, WarnsOfMoreRanksThanProcessors) {
  const std::string n = std::to_string(processors());
  const std::string more = std::to_string(processors() + 1);
  EXPECT_THAT(run({"-n", n}, {test_child, "cores"}).error, IsEmpty());
  const result r = run({"-n", more}, {test_child, "cores"});
  EXPECT_THAT(lines_of(r.error), SizeIs(1));
  EXPECT_THAT(r.error, HasSubstr("lcrun: warning: more ranks than processors on "));
  EXPECT_THAT(r.error, HasSubstr(" (" + more + " ranks, " + n + " processor"));
  EXPECT_THAT(run({"-n", more, "--oversubscribe"}, {test_child, "cores"}).error, IsEmpty());
  EXPECT_THAT(run({"-n", more}, {test_child, "cores"}, "", {{"LCRUN_OVERSUBSCRIBE", "1"}}).error,
              IsEmpty());
}

TEST(Placement, WarnsOnceForAllHosts) {
  const std::string more = std::to_string(processors() + 1);
  const result r = run(on_hosts("a:" + more + ",b,c:" + more, {}), {test_child, "cores"});
  EXPECT_EQ(r.code, 0) << r.error;
  EXPECT_THAT(lines_of(r.error), SizeIs(1));
  EXPECT_THAT(r.error, HasSubstr("on a (" + more));
  EXPECT_THAT(r.error, HasSubstr(", c (" + more));
  EXPECT_THAT(r.error, Not(HasSubstr(" b (")));
}

TEST(Placement, BadValuesAreExplained) {
  for (const auto& [options, says] :
       {std::pair(std::vector<std::string>{"--bind-to", "moon"}, "none, core, numa or socket"),
        std::pair(std::vector<std::string>{"--map-by", "ppr:2:socket"}, "ppr:N:node"),
        std::pair(std::vector<std::string>{"--map-by", "ppr:x:node"}, "--map-by"),
        std::pair(std::vector<std::string>{"--cpu-bind=rank"},
                  "none, no, cores, ldoms, ldom or sockets")}) {
    const result r = run(options, {test_child, "stay"});
    EXPECT_EQ(r.code, 2);
    EXPECT_THAT(r.error, HasSubstr(says));
  }
}

}  // namespace
}  // namespace lci::launcher
