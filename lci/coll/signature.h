// The part of a rank's call of a collective operation that must be equal on all ranks.
#ifndef LCI_COLL_SIGNATURE_H_
#define LCI_COLL_SIGNATURE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace lci::coll {

enum class operation_kind : uint8_t {
  none,
  barrier,
  broadcast,
  reduce,
  reduce_scatter,
  allreduce,
  allgather,
  alltoall,
  finalization,  // the barrier inside free_runtime
  gather,
  scatter,
  scan,
  exscan,
  reduce_scatterv,
  allgatherv,
  alltoallv,
  alloc_group,  // an allgather, then a barrier, of the ranks that make groups
  free_group,
};

// By kind: the name of the function that programs call.
constexpr const char* operation_names[] = {"nothing",
                                           "barrier",
                                           "broadcast",
                                           "reduce",
                                           "reduce_scatter",
                                           "allreduce",
                                           "allgather",
                                           "alltoall",
                                           "free_runtime",
                                           "gather",
                                           "scatter",
                                           "scan",
                                           "exscan",
                                           "reduce_scatterv",
                                           "allgatherv",
                                           "alltoallv",
                                           "alloc_group or split_group",
                                           "free_group"};
static_assert(sizeof(operation_names) / sizeof(*operation_names) ==
              static_cast<size_t>(operation_kind::free_group) + 1);
constexpr const char* name_of(operation_kind kind) {
  return operation_names[static_cast<size_t>(kind)];
}
// The same of an operation of a group: "barrier of a group". As long-lived.
const char* name_in_group(operation_kind kind);

struct signature {
  operation_kind kind = operation_kind::none;
  int32_t root = -1;       // -1: the operation has none
  uint64_t size = 0;       // bytes; of a block, where each rank has several
  uint64_t item_size = 0;  // bytes; 0: the operation combines nothing
  uint64_t layout = 0;     // of hash_of(): the sizes of the ranks' blocks, where they differ

  friend bool operator==(const signature& left, const signature& right) {
    return left.kind == right.kind && left.root == right.root && left.size == right.size &&
           left.item_size == right.item_size && left.layout == right.layout;
  }
  friend bool operator!=(const signature& left, const signature& right) { return !(left == right); }
};

inline uint64_t mix_hash(uint64_t value) {
  value *= 0x9fb21c651e98df25;
  return value ^ (value >> 32);
}

// A hash of the sizes of all blocks; never 0.
inline uint64_t hash_of(const size_t* sizes, size_t count) {
  uint64_t hash = count + 1;
  for (size_t i = 0; i < count; ++i) hash = mix_hash(hash ^ sizes[i]) + i;
  return hash == 0 ? 1 : hash;
}

// A hash of a sequence of signatures: of the sequence with hash `before`, and then `next`. Two
// ranks that have called different operations have different hashes from then on (but for a chance
// of 2^-64 per operation).
inline uint64_t extend_hash(uint64_t before, const signature& next) {
  uint64_t hash = mix_hash(before + static_cast<uint64_t>(next.kind) +
                           (static_cast<uint64_t>(static_cast<uint32_t>(next.root)) << 8));
  hash = mix_hash(hash ^ next.size);
  hash = mix_hash(hash + next.item_size);
  return next.layout == 0 ? hash : mix_hash(hash ^ next.layout);
}

// "broadcast of 80000 bytes from rank 1".
std::string to_text(const signature& described);

}  // namespace lci::coll

#endif  // LCI_COLL_SIGNATURE_H_
