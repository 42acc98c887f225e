// Environments of launchers that give no bootstrap which we understand, as their documentation describes them.

#include "bootstrap/foreign.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace {

using atl::bootstrap::find_foreign_task;

struct found {
  bool several = false;
  std::string launcher;
  std::string text;  ///< as printed
  int tasks = 0;
};

found look_at(std::map<std::string, std::string> const& environment) {
  auto const task = find_foreign_task([&](char const* name) {
    auto const at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  });
  if (!task) return {};
  return {true, task->launcher, explain(*task, "pmix: no; local: no"), task->tasks};
}

bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

std::map<std::string, std::string> const slurm_allocation{
    {"SLURM_JOB_ID", "71"}, {"SLURM_NTASKS", "4"}, {"SLURM_NPROCS", "4"}, {"SLURM_JOB_NUM_NODES", "1"}};

TEST(foreign_launcher, srun_without_pmix) {
  auto step = slurm_allocation;
  step.insert({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}});
  auto const first = look_at(step);
  ASSERT_TRUE(first.several);
  EXPECT_EQ(first.tasks, 4);
  for (char const* const part :
       {"Slurm's srun", "SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=0", "pmix: no; local: no",
        "`srun --mpi=pmix -n 4 PROGRAM`", "--mpi=pmi2", "`srun --mpi=list`", "`upcxx-run -n 4 PROGRAM`",
        "ATOLL_BOOTSTRAP=solo", "GASNET_PSHM_NODES"}) {
    EXPECT_TRUE(has(first.text, part)) << part << " is not in: " << first.text;
  }
  step["SLURM_PROCID"] = "3";
  auto const last = look_at(step);
  EXPECT_TRUE(has(last.text, "task 3") && has(last.text, "task 0 says more")) << last.text;
}

TEST(foreign_launcher, srun_for_pmi2_is_srun) {
  auto step = slurm_allocation;
  step.insert({{"SLURM_STEP_NUM_TASKS", "2"},
               {"SLURM_PROCID", "1"},
               {"PMI_FD", "9"},
               {"PMI_SIZE", "2"},
               {"PMI_RANK", "1"}});
  EXPECT_EQ(look_at(step).launcher, "Slurm's srun");
}

TEST(foreign_launcher, shells_of_a_slurm_allocation_are_alone) {
  EXPECT_FALSE(look_at(slurm_allocation).several);
  auto script = slurm_allocation;  // of sbatch
  script.insert({{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_TASK_PID", "12"}});
  EXPECT_FALSE(look_at(script).several);
  auto interactive = slurm_allocation;  // salloc, where it starts the shell as a step
  interactive.insert({{"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}});
  EXPECT_FALSE(look_at(interactive).several);
}

TEST(foreign_launcher, hydra) {
  std::map<std::string, std::string> rank{{"PMI_RANK", "0"},
                                          {"PMI_SIZE", "3"},
                                          {"PMI_FD", "7"},
                                          {"MPI_LOCALNRANKS", "3"},
                                          {"MPI_LOCALRANKID", "0"}};
  auto const alone = look_at(rank);
  EXPECT_TRUE(has(alone.text, "MPICH's or Intel's mpiexec") && has(alone.text, "PMI_SIZE=3, PMI_RANK=0"))
      << alone.text;
  EXPECT_TRUE(has(alone.text, "Open MPI's `mpirun -n 3 PROGRAM`")) << alone.text;
  // Its processes on two hosts are two tasks of srun.
  rank.insert({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}});
  EXPECT_EQ(look_at(rank).tasks, 3);
  EXPECT_FALSE(look_at({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"MPI_LOCALNRANKS", "1"}}).several);
}

TEST(foreign_launcher, hydra_with_a_port) {
  auto const rank =
      look_at({{"PMI_PORT", "h1:4711"}, {"PMI_ID", "0"}, {"MPI_LOCALNRANKS", "1"}, {"MPI_LOCALRANKID", "0"}});
  EXPECT_TRUE(rank.several);
  EXPECT_TRUE(has(rank.text, "PMI_ID=0") && has(rank.text, "`mpiexec -n N PROGRAM`, without that option"))
      << rank.text;
}

TEST(foreign_launcher, others) {
  EXPECT_EQ(look_at({{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}})
                .launcher,
            "Flux");
  EXPECT_FALSE(
      look_at({{"FLUX_JOB_SIZE", "2"}, {"FLUX_URI", "local:///x"}}).several);  // shell of an instance
  EXPECT_TRUE(look_at({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}).several);
  EXPECT_TRUE(look_at({{"MV2_COMM_WORLD_RANK", "0"}, {"MV2_COMM_WORLD_SIZE", "2"}}).several);
  EXPECT_TRUE(look_at({{"JSM_NAMESPACE_RANK", "0"}, {"JSM_NAMESPACE_SIZE", "2"}}).several);
  EXPECT_TRUE(has(look_at({{"PALS_RANKID", "0"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).launcher, "PALS"));
  EXPECT_TRUE(look_at({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).several);
  // No variable says how many: a rank above 0 does.
  EXPECT_FALSE(look_at({{"ALPS_APP_PE", "0"}}).several);
  EXPECT_TRUE(look_at({{"ALPS_APP_PE", "1"}}).several);
}

TEST(foreign_launcher, nonsense_and_nothing_are_alone) {
  EXPECT_FALSE(look_at({}).several);
  EXPECT_FALSE(look_at({{"PMI_RANK", "zero"}, {"PMI_SIZE", "2"}}).several);
  EXPECT_FALSE(look_at({{"PMI_SIZE", "2"}}).several);
  EXPECT_FALSE(look_at({{"PMI_RANK", "0"}, {"PMI_SIZE", "2x"}}).several);
}

}  // namespace
