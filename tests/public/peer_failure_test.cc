// A rank that dies, among others that communicate with it, and among some that never did: they get
// peer_failure_error that names it, and continue with the rest. Run without lcrun, which would end
// the job: the ranks are children of this program.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

constexpr int victim = 1;
// A pipe. Each rank writes a byte when the victim may be killed.
int said[2];

// With a barrier, ranks have communicated before; without, nobody has, and all only wait.
void survive(bool with_barrier) {
  const int rank = lci::get_rank_me();
  const int ranks = lci::get_rank_n();
  lci::comp_t queue = lci::alloc_cq();
  const lci::rcomp_t rcomp = lci::register_rcomp(queue);
  if (with_barrier) lci::barrier();
  EXPECT(write(said[1], "", 1) == 1);
  while (rank == victim) lci::progress();

  int failed = -1;
  while (failed < 0) {
    try {
      lci::progress();
    } catch (const lci::peer_failure_error& error) {
      failed = error.failed_rank();
    }
  }
  EXPECT(failed == victim);
  bool refused = false;
  try {
    static_cast<void>(lci::post_am(victim, nullptr, 0, lci::COMP_NULL, rcomp));
  } catch (const lci::peer_failure_error& error) {
    refused = error.failed_rank() == victim;
  }
  EXPECT(refused);

  // The others are still there, for small messages and for large ones: one to the next of them, and
  // then a word to each.
  int next = (rank + 1) % ranks;
  if (next == victim) ++next;
  std::vector<char> large(300000, 'x');
  lci::comp_t sent = lci::alloc_sync();
  int words = 0;
  const auto take = [&] {
    lci::progress();
    const lci::status_t status = lci::cq_pop(queue);
    if (!status.is_done()) return size_t{0};
    if (status.get_size() == 0) ++words;
    if (status.get_size() > 0) {
      EXPECT(static_cast<char*>(status.get_buffer())[status.get_size() - 1] == 'x');
      std::free(status.get_buffer());
    }
    return status.get_size();
  };
  size_t got = 0;
  lci::status_t status;
  do {
    status = lci::post_am(next, large.data(), large.size(), sent, rcomp);
    got += take();
  } while (status.is_retry());
  EXPECT(status.is_posted());
  while (got == 0) got = take();
  EXPECT(got == large.size());
  lci::sync_wait(sent, &status);
  EXPECT(status.is_done());
  for (int to = 0; to < ranks; ++to) {
    if (to == rank || to == victim) continue;
    while (lci::post_am(to, nullptr, 0, lci::COMP_NULL, rcomp).is_retry()) take();
  }
  while (words < ranks - 2) EXPECT(take() == 0);
  lci::free_comp(&sent);
  lci::g_runtime_fina();  // the survivors wait for each other
}

// Groups: 0, 1 and 2; 0 and 2; 3 and 4. Operations of the first one end, and those of the others
// continue, as does the program's view of the failure.
void survive_in_groups() {
  const int rank = lci::get_rank_me();
  lci::group_t first = lci::split_group(rank < 3 ? 0 : -1, rank);
  lci::group_t rest = lci::split_group(rank == victim ? -1 : rank / 3, rank);
  lci::barrier();
  EXPECT(write(said[1], "", 1) == 1);
  while (rank == victim) lci::progress();

  const auto add = [&rest] {
    const uint64_t own = 1;
    uint64_t sum = 0;
    lci::allreduce_x(&own, &sum, 1, sizeof(own), lci::reduce_sum<uint64_t>).group(rest)();
    EXPECT(sum == 2);
  };
  if (!first.is_empty()) {
    for (int call = 0; call < 2; ++call) {
      int failed = -1;
      try {
        lci::barrier_x().group(first)();
      } catch (const lci::peer_failure_error& error) {
        failed = error.failed_rank();
      }
      EXPECT(failed == victim);
    }
  } else {
    // Until one of these operations, or this call, finds the failure.
    int failed = -1;
    for (uint64_t found = 0; found == 0;) {
      try {
        add();
        lci::progress();
      } catch (const lci::peer_failure_error& error) {
        failed = error.failed_rank();
      }
      // Both leave together.
      const uint64_t own = failed < 0 ? 0 : 1;
      lci::allreduce_x(&own, &found, 1, sizeof(own), lci::reduce_min<uint64_t>).group(rest)();
    }
    EXPECT(failed == victim);
  }
  for (int round = 0; round < 100; ++round) add();
  lci::free_group(&rest);
  if (!first.is_empty()) {
    try {
      lci::free_group(&first);
    } catch (const lci::peer_failure_error& error) {
      EXPECT(error.failed_rank() == victim);
    }
  }
  lci::g_runtime_fina();
}

// Which ranks pass a completion object.
enum class completions { nobody, everybody, even_ranks };

// The victim dies during operations of large data, by the given path. Operations with a completion
// object end with `fatal`.
template <size_t pipe_max_size, completions who>
void survive_large_collectives() {
  setenv("LCI_ATTR_COLL_PIPE_MAX_SIZE", std::to_string(pipe_max_size).c_str(), 1);
  lci::g_runtime_init();
  constexpr size_t bytes = size_t{400} << 10;
  const int ranks = lci::get_rank_n();
  const bool has_completion = who == completions::everybody ||
                              (who == completions::even_ranks && lci::get_rank_me() % 2 == 0);
  lci::comp_t done = lci::alloc_sync();
  int failed = -1;
  const auto progress = [&failed] {
    try {
      lci::progress();
    } catch (const lci::peer_failure_error& error) {
      failed = error.failed_rank();
    }
  };
  // Returns whether the operation succeeded.
  const auto run = [&](auto call) {
    if (!has_completion) {
      call();
      return true;
    }
    call.comp(done)();
    lci::status_t status;
    while (!lci::sync_test(done, &status)) progress();
    EXPECT(status.is_done() || status.error.errorcode == lci::errorcode_t::fatal);
    return status.is_done();
  };
  try {
    // An exception unmaps these buffers, while other ranks may still read them.
    std::vector<char> own(bytes, 'x');
    std::vector<char> all(bytes * static_cast<size_t>(ranks));
    for (int call = 0;
         run(lci::broadcast_x(own.data(), bytes, call % ranks)) &&
         run(lci::allgather_x(own.data(), all.data(), bytes)) &&
         run(lci::gather_x(own.data(), all.data(), bytes, call % ranks)) &&
         run(lci::reduce_x(own.data(), all.data(), bytes / sizeof(uint64_t), sizeof(uint64_t),
                           lci::reduce_sum<uint64_t>, call % ranks));
         ++call) {
      if (call == 3) EXPECT(write(said[1], "", 1) == 1);
    }
  } catch (const lci::peer_failure_error& error) {
    failed = error.failed_rank();
  }
  while (failed < 0) progress();
  EXPECT(failed == victim);
  lci::free_comp(&done);
  lci::g_runtime_fina();
}

int start_rank(int rank, int ranks, void (*body)(), const std::string& dir) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv("LCI_BOOT", "file", 1);
  setenv("LCI_BOOT_DIR", dir.c_str(), 1);
  setenv("LCI_JOB_ID", "peer-failure", 1);
  setenv("LCI_RANK", std::to_string(rank).c_str(), 1);
  setenv("LCI_SIZE", std::to_string(ranks).c_str(), 1);
  std::_Exit(run_test(body));
}

int run_job(int ranks, void (*body)()) {
  const char* tmp = std::getenv("TEST_TMPDIR");
  std::string dir = std::string(tmp != nullptr ? tmp : "/tmp") + "/peer-failure-XXXXXX";
  if (mkdtemp(dir.data()) == nullptr || pipe(said) != 0) return 1;
  std::vector<pid_t> children;
  for (int r = 0; r < ranks; ++r) children.push_back(start_rank(r, ranks, body, dir));
  close(said[1]);
  char byte = 0;
  for (int r = 0; r < ranks && read(said[0], &byte, 1) == 1; ++r) continue;
  kill(children[victim], SIGKILL);
  close(said[0]);
  int failures = 0;
  for (int r = 0; r < ranks; ++r) {
    int status = 0;
    waitpid(children[static_cast<size_t>(r)], &status, 0);
    const bool expected =
        r == victim ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0;
    if (!expected) {
      std::fprintf(stderr, "rank %d of %d ended with status %d\n", r, ranks, status);
      ++failures;
    }
  }
  // The last rank removes the directory of the job.
  if (rmdir(dir.c_str()) != 0) {
    std::fprintf(stderr, "%d ranks leave something in %s\n", ranks, dir.c_str());
    ++failures;
  }
  return failures;
}

}  // namespace

int main() {
  int failures = run_job(3, [] {
    lci::g_runtime_init();
    survive(/*with_barrier=*/true);
  });
  failures += run_job(4, [] {
    lci::g_runtime_init();
    survive(/*with_barrier=*/false);
  });
  failures += run_job(5, [] {
    lci::g_runtime_init();
    survive_in_groups();
  });
  constexpr size_t kernel = 0;
  constexpr size_t pipes = size_t{1} << 30;
  failures += run_job(4, survive_large_collectives<kernel, completions::nobody>);
  failures += run_job(4, survive_large_collectives<kernel, completions::everybody>);
  failures += run_job(4, survive_large_collectives<kernel, completions::even_ranks>);
  failures += run_job(4, survive_large_collectives<pipes, completions::nobody>);
  failures += run_job(4, survive_large_collectives<pipes, completions::everybody>);
  return failures == 0 ? 0 : 1;
}
