#include "lci/net/shm/backend.h"

#include <sys/mman.h>
#include <unistd.h>

#include "lci/net/shm/context.h"

namespace lci::net::shm {
namespace {

bool available() {
  const int fd = memfd_create("lci-probe", MFD_CLOEXEC);
  if (fd < 0) return false;
  close(fd);
  return true;
}

}  // namespace

const backend_entry backend = {attr_backend_t::shm, "shm", /*preference=*/10, available,
                               shm_context::make};

}  // namespace lci::net::shm
