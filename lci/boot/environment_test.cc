#include "lci/boot/environment.h"

#include <stdlib.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lci::boot {
namespace {

using testing::HasSubstr;
using testing::Not;
using variables = std::vector<std::pair<const char*, const char*>>;

// All variables of the table's launchers, so that the launcher of this test does not matter.
constexpr const char* all_variables[] = {"LCI_RANK",
                                         "LCI_SIZE",
                                         "LCI_LOCAL_RANK",
                                         "LCI_LOCAL_SIZE",
                                         "LCI_JOB_ID",
                                         "RANK",
                                         "WORLD_SIZE",
                                         "LOCAL_RANK",
                                         "LOCAL_WORLD_SIZE",
                                         "GROUP_WORLD_SIZE",
                                         "TORCHELASTIC_RUN_ID",
                                         "MASTER_ADDR",
                                         "MASTER_PORT",
                                         "TORCHELASTIC_RESTART_COUNT",
                                         "OMPI_COMM_WORLD_RANK",
                                         "OMPI_COMM_WORLD_SIZE",
                                         "OMPI_COMM_WORLD_LOCAL_RANK",
                                         "OMPI_COMM_WORLD_LOCAL_SIZE",
                                         "PMIX_NAMESPACE",
                                         "PMIX_RANK",
                                         "MV2_COMM_WORLD_RANK",
                                         "MV2_COMM_WORLD_SIZE",
                                         "MV2_COMM_WORLD_LOCAL_RANK",
                                         "MV2_COMM_WORLD_LOCAL_SIZE",
                                         "PALS_RANKID",
                                         "PALS_LOCAL_RANKID",
                                         "PALS_LOCAL_SIZE",
                                         "PALS_APID",
                                         "PMI_RANK",
                                         "PMI_SIZE",
                                         "PMI_JOBID",
                                         "MPI_LOCALRANKID",
                                         "MPI_LOCALNRANKS",
                                         "JSM_NAMESPACE_RANK",
                                         "JSM_NAMESPACE_SIZE",
                                         "JSM_NAMESPACE_LOCAL_RANK",
                                         "JSM_NAMESPACE_LOCAL_SIZE",
                                         "FLUX_TASK_RANK",
                                         "FLUX_JOB_SIZE",
                                         "FLUX_TASK_LOCAL_ID",
                                         "FLUX_JOB_NNODES",
                                         "FLUX_JOB_ID",
                                         "SLURM_PROCID",
                                         "SLURM_NTASKS",
                                         "SLURM_STEP_NUM_TASKS",
                                         "SLURM_STEP_NUM_NODES",
                                         "SLURM_JOB_ID",
                                         "SLURM_STEP_ID"};

void set_environment(const variables& set) {
  for (const char* name : all_variables) ::unsetenv(name);
  for (const auto& [name, value] : set) ::setenv(name, value, 1);
}

struct known_launcher {
  const char* name;
  variables set;
  const char* launcher;
  job_position position;
  bool several_nodes;
  const char* job;  // nullptr: the job is named after the launching process
};

const known_launcher known[] = {
    {"lcrun",
     {{"LCI_RANK", "2"},
      {"LCI_SIZE", "4"},
      {"LCI_LOCAL_RANK", "2"},
      {"LCI_LOCAL_SIZE", "4"},
      {"LCI_JOB_ID", "ab-12"}},
     "lcrun",
     {2, 4, 2, 4},
     false,
     "LCI_RANK.ab-12"},
    {"by_hand", {{"LCI_RANK", "1"}, {"LCI_SIZE", "2"}}, "lcrun", {1, 2, 0, 0}, false, nullptr},
    {"torchrun",
     {{"RANK", "5"},
      {"WORLD_SIZE", "8"},
      {"LOCAL_RANK", "1"},
      {"LOCAL_WORLD_SIZE", "4"},
      {"GROUP_WORLD_SIZE", "2"},
      {"TORCHELASTIC_RUN_ID", "run"},
      {"MASTER_ADDR", "host-1"},
      {"MASTER_PORT", "29500"},
      {"TORCHELASTIC_RESTART_COUNT", "0"}},
     "torchrun",
     {5, 8, 1, 4},
     true,
     "RANK.run.host-1.29500.0"},
    {"torchrun_style",
     {{"RANK", "0"}, {"WORLD_SIZE", "2"}},
     "torchrun",
     {0, 2, 0, 0},
     false,
     nullptr},
    {"open_mpi",
     {{"OMPI_COMM_WORLD_RANK", "3"},
      {"OMPI_COMM_WORLD_SIZE", "6"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
      {"PMIX_NAMESPACE", "prterun-host-17@1"},
      {"PMIX_RANK", "3"}},
     "Open MPI",
     {3, 6, 1, 2},
     true,
     nullptr},
    {"mvapich",
     {{"MV2_COMM_WORLD_RANK", "1"},
      {"MV2_COMM_WORLD_SIZE", "2"},
      {"MV2_COMM_WORLD_LOCAL_RANK", "1"},
      {"MV2_COMM_WORLD_LOCAL_SIZE", "2"},
      {"PMI_RANK", "1"},
      {"PMI_SIZE", "2"}},
     "MVAPICH",
     {1, 2, 1, 2},
     false,
     nullptr},
    {"pals",
     {{"PALS_RANKID", "7"},
      {"PMI_RANK", "7"},
      {"PMI_SIZE", "8"},
      {"PALS_LOCAL_RANKID", "3"},
      {"PALS_LOCAL_SIZE", "4"},
      {"PALS_APID", "f00"}},
     "PALS",
     {7, 8, 3, 4},
     true,
     "PALS_RANKID.f00"},
    {"jsrun",
     {{"JSM_NAMESPACE_RANK", "3"},
      {"JSM_NAMESPACE_SIZE", "8"},
      {"JSM_NAMESPACE_LOCAL_RANK", "1"},
      {"JSM_NAMESPACE_LOCAL_SIZE", "2"},
      {"PMIX_NAMESPACE", "7"},
      {"PMIX_RANK", "3"}},
     "jsrun",
     {3, 8, 1, 2},
     true,
     "JSM_NAMESPACE_RANK.7"},
    {"flux",
     {{"FLUX_TASK_RANK", "1"},
      {"FLUX_JOB_SIZE", "2"},
      {"FLUX_TASK_LOCAL_ID", "1"},
      {"FLUX_JOB_NNODES", "1"},
      {"FLUX_JOB_ID", "42"}},
     "Flux",
     {1, 2, 1, 2},
     false,
     "FLUX_TASK_RANK.42"},
    {"hydra",
     {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}},
     "MPICH",
     {1, 2, 1, 2},
     false,
     nullptr},
    {"hydra_on_several_machines",
     {{"PMI_RANK", "1"},
      {"PMI_SIZE", "4"},
      {"MPI_LOCALRANKID", "1"},
      {"MPI_LOCALNRANKS", "2"},
      {"LCI_JOB_ID", "x"}},
     "Hydra",
     {1, 4, 1, 2},
     true,
     "PMI_RANK.x"},
    {"hydra_within_slurm",
     {{"PMI_RANK", "3"},
      {"PMI_SIZE", "4"},
      {"MPI_LOCALRANKID", "1"},
      {"MPI_LOCALNRANKS", "2"},
      {"SLURM_PROCID", "1"},
      {"SLURM_STEP_NUM_TASKS", "2"}},
     "MPICH",
     {3, 4, 1, 2},
     true,
     nullptr},
    {"slurm",
     {{"SLURM_PROCID", "2"},
      {"SLURM_STEP_NUM_TASKS", "4"},
      {"SLURM_STEP_NUM_NODES", "2"},
      {"SLURM_JOB_ID", "17"},
      {"SLURM_STEP_ID", "3"}},
     "Slurm",
     {2, 4, 0, 0},
     true,
     "SLURM_PROCID.17.3"},
    {"slurm_on_one_node",
     {{"SLURM_PROCID", "2"},
      {"SLURM_STEP_NUM_TASKS", "4"},
      {"SLURM_STEP_NUM_NODES", "1"},
      {"SLURM_JOB_ID", "17"},
      {"SLURM_STEP_ID", "3"}},
     "Slurm",
     {2, 4, 2, 4},
     false,
     "SLURM_PROCID.17.3"},
    {"slurm_with_pmix",
     {{"SLURM_PROCID", "1"},
      {"SLURM_STEP_NUM_TASKS", "4"},
      {"SLURM_STEP_NUM_NODES", "2"},
      {"SLURM_JOB_ID", "17"},
      {"SLURM_STEP_ID", "0"},
      {"PMIX_RANK", "1"}},
     "Slurm",
     {1, 4, 0, 0},
     true,
     "SLURM_PROCID.17.0"},
    {"lcrun_within_slurm",
     {{"LCI_RANK", "0"},
      {"LCI_SIZE", "2"},
      {"LCI_JOB_ID", "x"},
      {"SLURM_PROCID", "3"},
      {"SLURM_STEP_NUM_TASKS", "4"}},
     "lcrun",
     {0, 2, 0, 0},
     false,
     "LCI_RANK.x"},
};

class launcher_table : public testing::TestWithParam<known_launcher> {};

INSTANTIATE_TEST_SUITE_P(all, launcher_table, testing::ValuesIn(known),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(launcher_table, is_recognized) {
  set_environment(GetParam().set);
  const auto found = read_launch();
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->has_value());
  const launch& job = **found;
  EXPECT_THAT(job.launcher, HasSubstr(GetParam().launcher));
  EXPECT_EQ(job.position.rank, GetParam().position.rank);
  EXPECT_EQ(job.position.size, GetParam().position.size);
  EXPECT_EQ(job.position.local_rank, GetParam().position.local_rank);
  EXPECT_EQ(job.position.local_size, GetParam().position.local_size);
  EXPECT_EQ(job.several_nodes, GetParam().several_nodes);
  if (GetParam().job != nullptr) {
    EXPECT_EQ(job.job, GetParam().job);
    EXPECT_TRUE(job.job_is_global);
  }
  EXPECT_LE(job.job.size(), 64u);
  EXPECT_EQ(
      job.job.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "._-"),
      std::string::npos)
      << job.job;
}

// A shell may have the variable of an earlier job, and start several jobs at once.
TEST(environment, on_one_machine_the_launcher_names_the_job) {
  set_environment({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"LCI_JOB_ID", "x"}});
  const auto found = read_launch();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT((*found)->job, Not(HasSubstr("x")));
  EXPECT_FALSE((*found)->job_is_global);
}

TEST(environment, without_a_launcher_there_is_none) {
  for (const variables& set : {
           variables{},
           variables{{"RANK", "captain"}},  // the variable has another use
           variables{{"WORLD_SIZE", "3"}},
           variables{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},  // a batch script itself
           variables{{"LCI_JOB_ID", "x"}},
       }) {
    set_environment(set);
    const auto found = read_launch();
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_FALSE(found->has_value());
  }
}

TEST(environment, invalid_variables_are_an_error_that_says_what_to_set) {
  const std::pair<variables, const char*> invalid[] = {
      {{{"LCI_RANK", "0"}},
       "started by lcrun or the user (LCI_RANK is set), but LCI_SIZE is not set"},
      {{{"OMPI_COMM_WORLD_RANK", "1"}}, "OMPI_COMM_WORLD_SIZE is not set"},
      {{{"LCI_SIZE", "2"}}, "LCI_RANK is not set"},
      {{{"PMI_RANK", "1"}}, "PMI_SIZE is not set"},
      {{{"PMIX_RANK", "1"}}, "does not say how many"},
      {{{"LCI_RANK", "2"}, {"LCI_SIZE", "2"}}, "LCI_RANK=\"2\""},
      {{{"LCI_RANK", "-1"}, {"LCI_SIZE", "2"}}, "LCI_RANK=\"-1\""},
      {{{"LCI_RANK", "0"}, {"LCI_SIZE", "0"}}, "LCI_SIZE=\"0\""},
      {{{"LCI_RANK", "0"}, {"LCI_SIZE", "two"}}, "LCI_SIZE=\"two\""},
      {{{"LCI_RANK", "0"}, {"LCI_SIZE", "99999999999"}}, "LCI_SIZE=\"99999999999\""},
      {{{"LCI_RANK", "0"}, {"LCI_SIZE", "2"}, {"LCI_LOCAL_RANK", "0"}, {"LCI_LOCAL_SIZE", "3"}},
       "LCI_LOCAL_SIZE=\"3\""},
      {{{"LCI_RANK", "0"}, {"LCI_SIZE", "2"}, {"LCI_LOCAL_RANK", "2"}, {"LCI_LOCAL_SIZE", "2"}},
       "LCI_LOCAL_RANK=\"2\""},
  };
  for (const auto& [set, text] : invalid) {
    set_environment(set);
    const base::Status status = read_launch().status();
    EXPECT_TRUE(base::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_THAT(std::string(status.message()), HasSubstr("set LCI_RANK and LCI_SIZE"));
  }
}

TEST(environment, jobs_have_different_names_however_odd_the_launcher_s) {
  std::vector<std::string> names;
  for (const char* id : {"a/b", "a_b", "a b", "..", "a@1"}) {
    set_environment({{"PALS_RANKID", "0"}, {"PMI_SIZE", "2"}, {"PALS_APID", id}});
    names.push_back((*read_launch())->job);
  }
  const std::string long_name(200, 'x');
  for (const std::string& id : {long_name + "1", long_name + "2"}) {
    set_environment({{"PALS_RANKID", "0"}, {"PMI_SIZE", "2"}, {"PALS_APID", id.c_str()}});
    names.push_back((*read_launch())->job);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace lci::boot
