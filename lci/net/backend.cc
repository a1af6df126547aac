#include "lci/net/backend.h"

#include <sys/mman.h>

#include <algorithm>

#include "lci/base/strings.h"

namespace lci::net {

error_t device::inject(int rank, net_imm_data_t imm, const void* buffer, size_t size) {
  op operation;
  operation.kind = op_kind::send;
  operation.inject = true;
  operation.rank = rank;
  operation.imm = imm;
  operation.buffer = const_cast<void*>(buffer);  // a send only reads it
  operation.size = size;
  return post(operation);
}

namespace {

op remote_op(op_kind kind, int rank, const void* buffer, size_t size, remote_region remote,
             uint64_t remote_offset) {
  op operation;
  operation.kind = kind;
  operation.rank = rank;
  operation.buffer = const_cast<void*>(buffer);  // only a get writes it
  operation.size = size;
  operation.remote = remote;
  operation.remote_offset = remote_offset;
  return operation;
}

}  // namespace

error_t device::put(int rank, const void* buffer, size_t size, remote_region remote,
                    uint64_t remote_offset) {
  return post(remote_op(op_kind::put, rank, buffer, size, remote, remote_offset));
}

error_t device::put_imm(int rank, net_imm_data_t imm, const void* buffer, size_t size,
                        remote_region remote, uint64_t remote_offset) {
  op operation = remote_op(op_kind::put_imm, rank, buffer, size, remote, remote_offset);
  operation.imm = imm;
  return post(operation);
}

error_t device::get(int rank, void* buffer, size_t size, remote_region remote,
                    uint64_t remote_offset) {
  return post(remote_op(op_kind::get, rank, buffer, size, remote, remote_offset));
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

bool context::reads_memory(int /*rank*/) const { return false; }

bool context::read_memory(int /*rank*/, void* /*to*/, uint64_t /*from*/, size_t /*size*/) const {
  return false;
}

}  // namespace lci::net
