#ifndef LCI_NET_SHM_RING_POSITION_H_
#define LCI_NET_SHM_RING_POSITION_H_

#include <cstdint>

namespace lci::net::shm {

// The cell up to which a ring has been read. Its reader reads it as a plain number: a load of an
// atomic one is an instruction of its own.
//
// Thread safety: get() and set() by the reader, one thread at a time; look() by any, at any time.
class ring_position {
 public:
  uint32_t get() const { return cell_; }
  void set(uint32_t at) { __atomic_store_n(&cell_, at, __ATOMIC_RELAXED); }
  uint32_t look() const { return __atomic_load_n(&cell_, __ATOMIC_RELAXED); }

 private:
  uint32_t cell_ = 0;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_RING_POSITION_H_
