#include "lci/net/backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <string_view>

#include "lci/base/strings.h"

namespace lci::net {

base::Status check_limits(const device_limits& limits) {
  const auto refuse = [](std::string_view limit, auto value, const auto&... expected) {
    return base::InternalError(base::StrCat(limit, " is ", value, ", not ", expected...));
  };
  if (limits.max_inject < 64) return refuse("max_inject", limits.max_inject, "at least 64");
  if (limits.max_send < limits.max_inject) {
    return refuse("max_send", limits.max_send, "at least max_inject, ", limits.max_inject);
  }
  if (limits.max_rma == 0) return refuse("max_rma", limits.max_rma, "at least 1");
  const int bits = limits.put_imm_bits;
  if (limits.has_put_imm && bits != 8 && bits != 16 && bits != 32 && bits != 64) {
    return refuse("put_imm_bits", bits, "8, 16, 32 or 64");
  }
  return base::OkStatus();
}

error_t device::post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                           const remote_place* where) {
  const device_limits& most = limits(what.rank);
  const bool is_short = what.kind == op_kind::send
                            ? size <= most.max_inject
                            : size < most.rma_short && !most.needs_registration;
  if (!is_short) return errorcode_t::retry;
  return post(make_op(what, imm, buffer, size, where));
}

bool device::add(int, remote_region, uint64_t, int64_t) { return false; }

namespace {

// An empty mapping is none.
size_t mapped_bytes(size_t size) { return std::max<size_t>(size, 1); }

}  // namespace

base::StatusOr<context::allocation> context::allocate_memory(size_t size) {
  void* memory = mmap(nullptr, mapped_bytes(size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return base::ResourceExhaustedError(base::StrCat("no memory for ", size, " bytes"));
  }
  const base::StatusOr<local_region> region = register_memory(memory, size);
  if (!region.ok()) {
    munmap(memory, mapped_bytes(size));
    return region.status();
  }
  return allocation{memory, size, *region};
}

void context::free_memory(const allocation& freed) {
  deregister_memory(freed.region);
  munmap(freed.address, mapped_bytes(freed.size));
}

void* context::map_memory(int /*rank*/, remote_region /*region*/, size_t /*size*/) {
  return nullptr;
}

bool context::reaches_memory(int /*rank*/) const { return false; }

bool context::read_memory(int /*rank*/, void* /*to*/, uint64_t /*from*/, size_t /*size*/) const {
  return false;
}

bool context::write_memory(int /*rank*/, uint64_t /*to*/, const void* /*from*/,
                           size_t /*size*/) const {
  return false;
}

}  // namespace lci::net
