// The suite with ranks that have a user namespace each, as with a container for each rank, so that
// none may open the memory of another one by its name. A test that may not make namespaces passes,
// and says that it has checked nothing.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "lci/net/shm/backend.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

base::StatusOr<std::unique_ptr<context>> make_hidden(boot::bootstrap& boot,
                                                     const context_config& config) {
  // Once in a process: what it then is may make none.
  static const int error = unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
  if (error != 0) return base::ErrnoToStatus(error, "making a user namespace");
  return shm::backend.make(boot, config);
}

bool may_make_namespaces() {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

std::vector<backend_under_test> tested() {
  if (!may_make_namespaces()) {
    std::puts("NOTHING WAS CHECKED: user namespaces are not permitted here");
    return {};
  }
  static const backend_entry hidden = [] {
    backend_entry entry = shm::backend;
    entry.make = make_hidden;
    return entry;
  }();
  std::vector<backend_under_test> all;
  for (const int ranks : {1, 2, 3, 4}) all.push_back({"shm", &hidden, ranks, true});
  return all;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);
INSTANTIATE_TEST_SUITE_P(HiddenShm, Conformance, testing::ValuesIn(tested()), name_of);

}  // namespace
}  // namespace lci::net::conformance
