#include "lci/net/shm/host.h"

#include <sys/stat.h>

#include "lci/base/strings.h"
#include "lci/boot/process.h"

namespace lci::net::shm {

uint64_t host_number() {
  struct stat ns = {};
  if (stat("/proc/self/ns/pid", &ns) != 0) ns.st_ino = 0;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : base::StrCat(boot::process_domain(), "/", ns.st_ino)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace lci::net::shm
