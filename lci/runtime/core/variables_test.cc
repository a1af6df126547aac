#include "lci/runtime/core/variables.h"

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::rt {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> unknown_of(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  std::vector<std::string> texts;
  for (const unknown_variable& each : unknown_variables(environment.data())) {
    texts.push_back(each.name + " -> " + each.nearest);
  }
  return texts;
}

TEST(Variables, WhatTheLibraryReadsIsKnown) {
  EXPECT_THAT(unknown_of({"LCI_RANK=0", "LCI_LOG_LEVEL=info", "LCI_ATTR_PACKET_SIZE=1024",
                          "LCI_ATTR_BACKEND=shm", "LCI_SIM_SEED=7"}),
              IsEmpty());
}

TEST(Variables, WhatBelongsToOthersIsNotLookedAt) {
  EXPECT_THAT(
      unknown_of({"PATH=/bin", "LCIX=1", "LCT_LOG_LEVEL=warn", "LCRUN_TIMEOUT=1",
                  "LCI_ROOT=/opt/lci", "LCI_VERSION=2", "LCI_JOB_NODE=0", "LCI_TEST_SEEDS=3"}),
      IsEmpty());
}

TEST(Variables, AMisspelledNameFindsTheRightOne) {
  EXPECT_THAT(
      unknown_of(
          {"LCI_LOGLEVEL=info", "LCI_ATTR_PAKET_SIZE=1", "LCI_BOOT_ADRESS=a:1", "LCI_SHM_CAM=off"}),
      ElementsAre("LCI_ATTR_PAKET_SIZE -> LCI_ATTR_PACKET_SIZE", "LCI_BOOT_ADRESS -> LCI_BOOT_ADDR",
                  "LCI_LOGLEVEL -> LCI_LOG_LEVEL", "LCI_SHM_CAM -> LCI_SHM_CMA"));
}

TEST(Variables, AForgottenAttrIsFound) {
  EXPECT_THAT(
      unknown_of({"LCI_BACKEND=shm", "LCI_PACKET_SIZE=1024", "LCI_USE_REG_CACHE=1"}),
      ElementsAre("LCI_BACKEND -> LCI_ATTR_BACKEND", "LCI_PACKET_SIZE -> LCI_ATTR_PACKET_SIZE",
                  "LCI_USE_REG_CACHE -> LCI_ATTR_USE_REG_CACHE"));
}

TEST(Variables, NothingIsProposedForANameLikeNoOther) {
  EXPECT_THAT(unknown_of({"LCI_COFFEE_WITH_MILK=1"}), ElementsAre("LCI_COFFEE_WITH_MILK -> "));
}

// The sources are the arguments of the test.
std::vector<std::string> sources;

// Each name in quotes that begins with LCI_ and is a whole variable. The tables of the backends
// name each of theirs once more.
TEST(Variables, TheTableHasAllNamesInTheSourcesAndNoOther) {
  ASSERT_GT(sources.size(), 50u);
  std::multiset<std::string> named;
  const std::regex quoted("\"(LCI_[A-Z_]+[A-Z])\"");
  for (const std::string& source : sources) {
    if (source.rfind("lci/", 0) != 0 || source.rfind("lci/runtime/core/variables.", 0) == 0)
      continue;
    std::ifstream file(source);
    ASSERT_TRUE(file) << source;
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    for (std::sregex_iterator it(text.begin(), text.end(), quoted), end; it != end; ++it) {
      named.insert((*it)[1]);
    }
  }
  for (const net::backend_entry* backend : net::list_backends()) {
    if (backend->variables == nullptr) continue;
    for (const variable& each : backend->variables()) {
      const auto in_table = named.find(std::string(each.name));
      ASSERT_NE(in_table, named.end()) << each.name;
      named.erase(in_table);
    }
  }
  const std::set<std::string> read(named.begin(), named.end());
  std::set<std::string> described;
  for (const variable& each : variables()) {
    EXPECT_TRUE(described.insert(std::string(each.name)).second) << each.name;
    EXPECT_FALSE(each.values.empty()) << each.name;
    EXPECT_FALSE(each.meaning.empty()) << each.name;
  }
  EXPECT_EQ(described, read);
}

}  // namespace
}  // namespace lci::rt

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lci::rt::sources.assign(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}
