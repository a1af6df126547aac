#include "lci/net/shm/host.h"

#include <sys/stat.h>

#include "lci/base/strings.h"
#include "lci/boot/process.h"

namespace lci::net::shm {

uint64_t host_number() { return base::Fnv1a(boot::boot_id()); }

uint64_t process_numbering() {
  struct stat ns = {};
  if (stat("/proc/self/ns/pid", &ns) != 0) ns.st_ino = 0;
  return base::Fnv1a(base::StrCat(boot::process_domain(), "/", ns.st_ino));
}

}  // namespace lci::net::shm
