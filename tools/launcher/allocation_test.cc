#include "tools/launcher/allocation.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"

namespace lci::launcher {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class allocation_test : public testing::Test {
 protected:
  allocation_test() {
    for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "PBS_NODEFILE",
                             "LSB_DJOB_HOSTFILE", "PE_HOSTFILE", "OAR_NODEFILE"}) {
      ::unsetenv(name);
    }
    std::string path = testing::TempDir() + "allocation-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    directory_ = path;
    ::setenv("PATH", directory_.c_str(), 1);
  }

  // The variable names a file with this text.
  void set_file(const char* variable, const char* text) {
    const std::string path = base::StrCat(directory_, "/", variable);
    std::ofstream(path) << text;
    ::setenv(variable, path.c_str(), 1);
  }
  void install(const char* program) {
    const std::string path = base::StrCat(directory_, "/", program);
    std::ofstream(path) << "#!/bin/sh\n";
    EXPECT_EQ(::chmod(path.c_str(), 0700), 0);
  }
  // "a=2 b=1", or the error.
  static std::string hosts() {
    const base::StatusOr<allocation> found = find_allocation();
    if (!found.ok()) return base::StrCat("error: ", found.status().message());
    std::string text;
    for (const host_slots& host : found->hosts) {
      base::StrAppend(&text, text.empty() ? "" : " ", host.name, "=", host.slots);
    }
    return text;
  }
  static std::string agent() { return find_allocation().value().agent; }

  std::string directory_;
};

TEST_F(allocation_test, outside_of_a_batch_system_there_are_no_hosts) {
  EXPECT_EQ(hosts(), "");
  EXPECT_EQ(agent(), "");
}

TEST_F(allocation_test, slurm) {
  ::setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
  ::setenv("SLURM_TASKS_PER_NODE", "3,1", 1);
  EXPECT_EQ(hosts(), "n1=3 n2=1");
  EXPECT_EQ(agent(), "");
  install("srun");
  EXPECT_THAT(agent(), StartsWith("srun "));
}

TEST_F(allocation_test, pbs_has_a_line_for_each_rank) {
  set_file("PBS_NODEFILE", "a.cluster\na.cluster\nb.cluster\n");
  EXPECT_EQ(hosts(), "a.cluster=2 b.cluster=1");
  EXPECT_EQ(agent(), "");
}

TEST_F(allocation_test, lsf_has_a_line_for_each_slot) {
  set_file("LSB_DJOB_HOSTFILE", "a\nb\nb\n");
  EXPECT_EQ(hosts(), "a=1 b=2");
  install("blaunch");
  EXPECT_EQ(agent(), "blaunch -no-shell %h");
}

TEST_F(allocation_test, grid_engine_has_columns) {
  set_file("PE_HOSTFILE",
           "a.cluster 2 all.q@a.cluster UNDEFINED\n"
           "b.cluster 1 all.q@b.cluster <NULL>\n"
           "b.cluster 3 fast.q@b.cluster 0,1:0,2\n");
  EXPECT_EQ(hosts(), "a.cluster=2 b.cluster=4");
  install("qrsh");
  EXPECT_EQ(agent(), "qrsh -inherit %h");
}

TEST_F(allocation_test, oar_has_a_line_for_each_core) {
  set_file("OAR_NODEFILE", "a\na\nb\nb\n");
  EXPECT_EQ(hosts(), "a=2 b=2");
  install("oarsh");
  EXPECT_EQ(agent(), "oarsh %h");
}

TEST_F(allocation_test, errors_name_the_variable) {
  ::setenv("PBS_NODEFILE", "/no/such/file", 1);
  EXPECT_THAT(hosts(), HasSubstr("error: PBS_NODEFILE=/no/such/file: No such file"));
  EXPECT_THAT(hosts(), HasSubstr("--host"));
  for (const char* text : {"", "a b c\n", "-x\n"}) {
    set_file("PBS_NODEFILE", text);
    EXPECT_THAT(hosts(), HasSubstr("error: PBS_NODEFILE=")) << text;
  }
  ::unsetenv("PBS_NODEFILE");
  for (const char* text : {"", "a\n", "a x all.q\n", "a 0 all.q\n"}) {
    set_file("PE_HOSTFILE", text);
    EXPECT_THAT(hosts(), HasSubstr("error: PE_HOSTFILE=")) << text;
  }
}

}  // namespace
}  // namespace lci::launcher
