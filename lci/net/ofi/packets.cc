#include "lci/net/ofi/packets.h"

#include <sys/mman.h>

#include <utility>

#include "lci/base/strings.h"

namespace lci::net::ofi {

packet_memory::~packet_memory() {
  registration_.reset();
  if (memory_ != nullptr) munmap(memory_, size_);
}

base::Status packet_memory::make(size_t count, size_t bytes, operation::kind what) {
  if (count == 0) return base::OkStatus();
  constexpr size_t line = 64;
  const size_t stride = (bytes + line - 1) / line * line;
  size_ = count * stride;
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return base::ResourceExhaustedError(
        base::StrCat("no memory for ", count, " packets of ", bytes, " bytes"));
  }
  memory_ = memory;
  packets_ = base::make_aligned_array<packet>(count);
  count_ = count;
  for (size_t i = 0; i < count; ++i) {
    packets_[i].what = what;
    packets_[i].bytes = static_cast<unsigned char*>(memory_) + i * stride;
  }
  return base::OkStatus();
}

base::Status packet_memory::register_in(domain& with, uint64_t key) {
  if (count_ == 0) return base::OkStatus();
  base::StatusOr<fid_ptr<fid_mr>> registered = with.register_local(memory_, size_, key);
  if (!registered.ok()) return registered.status();
  registration_ = *std::move(registered);
  return base::OkStatus();
}

}  // namespace lci::net::ofi
