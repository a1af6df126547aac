#ifndef LCI_RUNTIME_CORE_RMR_H_
#define LCI_RUNTIME_CORE_RMR_H_

#include <cstdint>

#include "lci/api/resource.hpp"
#include "lci/net/op.h"

namespace lci::rt {

// How an rmr_t says all that a put or get needs in the 24 bytes that programs reserve for it.
//
// A network names memory by a key and a base, which is a small number, the memory's address, or (of
// two networks in one) a small number in front of an address or of zeros: so mr_base need not
// repeat the address, and has room for the size, by which the poster checks bounds.
//
//   mr_base  bits 63..48  the small number
//            bits 47..46  base_kind
//            bits 45..0   bytes
enum class base_kind : uint64_t { number, number_and_zeros, number_and_address };

constexpr int rmr_number_shift = 48;
constexpr int rmr_kind_shift = 46;
constexpr uint64_t rmr_address_mask = (uint64_t{1} << rmr_number_shift) - 1;
constexpr uint64_t rmr_max_size = (uint64_t{1} << rmr_kind_shift) - 1;

constexpr uint64_t rmr_size(const rmr_t& rmr) { return rmr.mr_base & rmr_max_size; }

constexpr net::remote_region rmr_region(const rmr_t& rmr) {
  const uint64_t number = rmr.mr_base >> rmr_number_shift;
  switch (static_cast<base_kind>(rmr.mr_base >> rmr_kind_shift & 3)) {
    case base_kind::number_and_zeros:
      return {number << rmr_number_shift, rmr.opaque_rkey};
    case base_kind::number_and_address:
      return {number << rmr_number_shift | (rmr.base & rmr_address_mask), rmr.opaque_rkey};
    case base_kind::number:
      break;
  }
  return {number, rmr.opaque_rkey};
}

// False: the network's base has another form, or the memory has more than rmr_max_size bytes.
constexpr bool make_rmr(net::remote_region region, uintptr_t address, uint64_t size, rmr_t* out) {
  const uint64_t low = region.base & rmr_address_mask;
  uint64_t number = region.base >> rmr_number_shift;
  base_kind kind = base_kind::number_and_zeros;
  if (region.base >> 16 == 0) {
    kind = base_kind::number;
    number = region.base;
  } else if (low == (address & rmr_address_mask)) {
    kind = base_kind::number_and_address;
  } else if (low != 0) {
    return false;
  }
  if (size > rmr_max_size) return false;
  out->base = address;
  out->mr_base = number << rmr_number_shift | static_cast<uint64_t>(kind) << rmr_kind_shift | size;
  out->opaque_rkey = region.key;
  return true;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_RMR_H_
