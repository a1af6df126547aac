// A rank that dies while others communicate with it: they get peer_failure_error that names it, and
// go on with the rest. Run without lcrun, which would end the job: the ranks are children of this
// program.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

constexpr int ranks = 3;
constexpr int victim = 1;

void survive() {
  const int rank = lci::get_rank_me();
  const int friend_rank = rank == 0 ? 2 : 0;
  lci::comp_t queue = lci::alloc_cq();
  const lci::rcomp_t rcomp = lci::register_rcomp(queue);
  lci::barrier();
  if (rank == victim) raise(SIGKILL);

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
    lci::post_am(victim, nullptr, 0, lci::COMP_NULL, rcomp);
  } catch (const lci::peer_failure_error& error) {
    refused = error.failed_rank() == victim;
  }
  EXPECT(refused);

  // The others are still there, for small messages and for large ones.
  std::vector<char> large(300000, static_cast<char>(rank));
  lci::comp_t sent = lci::alloc_sync();
  EXPECT(lci::post_am(friend_rank, large.data(), large.size(), sent, rcomp).is_posted());
  lci::status_t status;
  do {
    lci::progress();
    status = lci::cq_pop(queue);
  } while (status.is_retry());
  EXPECT(status.get_size() == large.size());
  EXPECT(static_cast<char*>(status.get_buffer())[large.size() - 1] ==
         static_cast<char>(friend_rank));
  std::free(status.get_buffer());
  lci::sync_wait(sent, &status);
  EXPECT(status.is_done());
  // The last word between the two, so that neither leaves while the other waits.
  lci::post_am(friend_rank, nullptr, 0, lci::COMP_NULL, rcomp);
  do {
    lci::progress();
    status = lci::cq_pop(queue);
  } while (status.is_retry());
  std::_Exit(0);  // a job with a dead rank can't be finalized together
}

int start_rank(int rank, const std::string& dir) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv("LCI_BOOT", "file", 1);
  setenv("LCI_BOOT_DIR", dir.c_str(), 1);
  setenv("LCI_JOB_ID", "peer-failure", 1);
  setenv("LCI_RANK", std::to_string(rank).c_str(), 1);
  setenv("LCI_SIZE", std::to_string(ranks).c_str(), 1);
  std::_Exit(run_test([] {
    lci::g_runtime_init();
    survive();
  }));
}

}  // namespace

int main() {
  const char* tmp = std::getenv("TEST_TMPDIR");
  std::string dir = std::string(tmp != nullptr ? tmp : "/tmp") + "/peer-failure-XXXXXX";
  if (mkdtemp(dir.data()) == nullptr) return 1;
  std::vector<pid_t> children;
  for (int r = 0; r < ranks; ++r) children.push_back(start_rank(r, dir));
  int failures = 0;
  for (int r = 0; r < ranks; ++r) {
    int status = 0;
    waitpid(children[static_cast<size_t>(r)], &status, 0);
    const bool expected =
        r == victim ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0;
    if (!expected) {
      std::fprintf(stderr, "rank %d ended with status %d\n", r, status);
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
