#include "lci/base/thread_place.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "lci/base/thread_number.h"

namespace lci::base::internal {

// The kernel numbers threads in the order of their creation. (Until the numbers begin again, once in
// millions of threads; then places still differ.)
uint32_t find_thread_place() {
  const long self = syscall(SYS_gettid);
  DIR* const listed = opendir("/proc/self/task");
  if (listed == nullptr) return this_thread_place = thread_number();
  uint32_t before = 0;
  while (const dirent* const entry = readdir(listed)) {
    const long id = std::strtol(entry->d_name, nullptr, 10);
    if (id > 0 && id < self) ++before;
  }
  closedir(listed);
  return this_thread_place = before;
}

}  // namespace lci::base::internal
