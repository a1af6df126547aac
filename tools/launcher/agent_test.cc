#include "tools/launcher/agent.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::launcher {
namespace {

using testing::ElementsAre;

TEST(Agent, SplitsWordsAsAShellDoes) {
  EXPECT_THAT(*split_words("  ssh -p 22\t-l me "), ElementsAre("ssh", "-p", "22", "-l", "me"));
  EXPECT_THAT(*split_words(R"(a 'b c' "d \"e\" 'f'" g\ h i''j "")"),
              ElementsAre("a", "b c", "d \"e\" 'f'", "g h", "ij", ""));
  EXPECT_THAT(*split_words(R"('a\b' a\\b $HOME)"), ElementsAre("a\\b", "a\\b", "$HOME"));
  for (const char* text : {"", "  ", "''", "a 'b", "a \"b"}) {
    EXPECT_EQ(split_words(text).status().code(), base::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Agent, PutsTheHostWhereItBelongs) {
  EXPECT_THAT(agent_command({"ssh", "-x"}, "a", {"/bin/l", "-o"}),
              ElementsAre("ssh", "-x", "a", "/bin/l", "-o"));
  EXPECT_THAT(agent_command({"ip", "netns", "exec", "%h"}, "a", {"/bin/l"}),
              ElementsAre("ip", "netns", "exec", "a", "/bin/l"));
  EXPECT_THAT(agent_command({"x", "--node=%h.d", "100%%"}, "a", {"l"}),
              ElementsAre("x", "--node=a.d", "100%", "l"));
  // %%h is no host.
  EXPECT_THAT(agent_command({"x", "%%h"}, "a", {"l"}), ElementsAre("x", "%h", "a", "l"));
}

TEST(Agent, MakesDockerPassStandardInputOn) {
  EXPECT_THAT(agent_command({"docker", "exec", "%h"}, "a", {"l"}),
              ElementsAre("docker", "exec", "-i", "a", "l"));
}

TEST(Agent, QuotesForTheShellThatSshStarts) {
  EXPECT_THAT(agent_command({"/usr/bin/ssh"}, "a", {"/my dir/it's", "--b"}),
              ElementsAre("/usr/bin/ssh", "a", "'/my dir/it'\\''s'", "--b"));
  EXPECT_THAT(agent_command({"ip", "%h"}, "a", {"/my dir/l"}), ElementsAre("ip", "a", "/my dir/l"));
}

}  // namespace
}  // namespace lci::launcher
