#include "lci/net/ibv/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "lci/base/strings.h"

namespace lci::net::ibv {

packet_memory::~packet_memory() {
  registration_.reset();
  if (memory_ != nullptr) munmap(memory_, size_);
}

base::Status packet_memory::make(const verbs& library, ibv_pd* domain, size_t count, size_t bytes) {
  constexpr size_t line = 64;
  stride_ = (bytes + line - 1) / line * line;
  size_ = std::max<size_t>(count * stride_, line);
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return base::ResourceExhaustedError(
        base::StrCat("no memory for ", count, " packets of ", bytes, " bytes"));
  }
  memory_ = memory;
  registration_ =
      own(library.reg_mr(domain, memory_, size_, IBV_ACCESS_LOCAL_WRITE), library.dereg_mr);
  if (registration_ == nullptr) {
    return failure(base::StrCat("registering ", count, " packets of ", bytes, " bytes"), errno);
  }
  return base::OkStatus();
}

}  // namespace lci::net::ibv
