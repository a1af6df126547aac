#include "lci/net/shm/backend.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/net/shm/context.h"

namespace lci::net::shm {
namespace {

bool available() {
  const int fd = memfd_create("lci-probe", MFD_CLOEXEC);
  if (fd < 0) return false;
  close(fd);
  return true;
}

// The restriction of Yama, a security module of the kernel; empty: it is not there.
std::string trace_scope() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  std::string scope;
  std::getline(file, scope);
  return scope;
}

base::StatusOr<std::vector<backend_fact>> describe() {
  if (!available()) {
    return base::UnavailableError(base::StrCat("the kernel makes no shared memory (memfd_create): ",
                                               base::error_text(errno)));
  }
  const std::string scope = trace_scope();
  return std::vector<backend_fact>{
      {"reach", "ranks of one host"},
      {"copies of large messages", scope.empty() || scope[0] <= '1'
                                       ? "through the kernel or a ring, whichever is faster"
                                       : "through a ring: kernel.yama.ptrace_scope is " + scope}};
}

std::vector<backend_fact> common(const net_context_attr_t&, const device_attr_t& devices) {
  return {{"shm_eager_size", base::StrCat(devices.shm_eager_size)}};
}

std::vector<variable> variables() {
  return {
      {"LCI_SHM_CMA", "auto, on, off", "auto",
       "shm: whether ranks copy each other's memory through the kernel; auto: where the kernel "
       "allows it"},
      {"LCI_SHM_DISTANCE", "auto, near, far", "auto",
       "shm: whether the processors of two ranks count as distant, which decides how messages of 1 "
       "KiB and more and puts of 2 KiB and more are copied; auto: as measured"},
  };
}

}  // namespace

const backend_entry backend = {
    attr_backend_t::shm, "shm",
    /*preference=*/10,   available, shm_context::make, describe, common, variables};

}  // namespace lci::net::shm
