#include "lci/base/process_barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "lci/base/check.h"

namespace lci::base {
namespace {

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

bool has_process_barrier() {
  static const bool ready = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return ready;
}

std::chrono::nanoseconds process_barrier() {
  const auto begin = std::chrono::steady_clock::now();
  const auto time = [begin] { return std::chrono::steady_clock::now() - begin; };
  // The call fails only in a forked child that has not registered.
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return time();
  const bool done = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
                    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  LCI_CHECK(done, "membarrier gave error ", errno, ", though it had worked before");
  return time();
}

}  // namespace lci::base
