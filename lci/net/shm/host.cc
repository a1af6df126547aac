#include "lci/net/shm/host.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "lci/base/strings.h"
#include "lci/boot/process.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {
namespace {

// ~0: there is no limit.
template <class Resource>
uint64_t limit_of(Resource resource) {
  rlimit limit = {};
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                             : ~uint64_t{0};
}

}  // namespace

uint64_t host_number() { return base::Fnv1a(boot::boot_id()); }

uint64_t process_numbering() {
  struct stat ns = {};
  if (stat("/proc/self/ns/pid", &ns) != 0) ns.st_ino = 0;
  return base::Fnv1a(base::StrCat(boot::process_domain(), "/", ns.st_ino));
}

size_t reserve_bytes(int ranks) {
  // The stack lies near the last address that a process has.
  const auto last_address = reinterpret_cast<uintptr_t>(&ranks);
  const uint64_t addresses = std::min<uint64_t>(last_address, limit_of(RLIMIT_AS));
  // The rest of the process has three quarters.
  const uint64_t share = addresses / 4 / static_cast<uint64_t>(ranks);
  const uint64_t memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t bytes = std::min({share, memory, limit_of(RLIMIT_FSIZE)});
  return std::max<uint64_t>(bytes / page_size, 2) * page_size;
}

}  // namespace lci::net::shm
