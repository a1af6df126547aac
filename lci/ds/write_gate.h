// Memory to which other threads, of one process or of several, write until its owner closes it.
#ifndef LCI_DS_WRITE_GATE_H_
#define LCI_DS_WRITE_GATE_H_

#include <atomic>
#include <cstdint>

#include "lci/ds/atomics.h"

namespace lci::ds {

// The owner's side. Bytes of 0 are an open gate.
//
// Thread safety: open() before any writer uses the gate; the other members by any thread.
template <class Atomics>
class basic_write_gate {
 public:
  void open() { is_closed_.store(0, std::memory_order_relaxed); }
  // No write begins any more once the owner has then found, for each writer, that it does not write
  // to the owner's memory.
  void close() { is_closed_.store(1, std::memory_order_seq_cst); }                    // C1
  bool is_closed() const { return is_closed_.load(std::memory_order_seq_cst) != 0; }  // W2

 private:
  typename Atomics::template atomic<uint32_t> is_closed_{0};
};

// The side of a writer, which announces each write before it looks at the gate. Bytes of 0 are a
// writer that does not write.
//
// Thread safety: write() by one thread at a time, and writes_to() by any thread.
//
// Invariant: of a write that begins, and an owner that closes its gate and then calls writes_to()
// until that returns false, everything that the write does is visible to the owner.
// Memory orders
//   C, W  The writer stores its announcement (W1) and loads the gate (W2), and the owner stores to
//         the gate (C1) and loads the announcement (C2). The four are sequentially consistent: the
//         writer sees the closed gate, or the owner sees the announcement.
//   D     The end of the write (D1) is a release, and C2 acquires it.
template <class Atomics>
class basic_gated_writer {
 public:
  // Calls write(), whose result it returns, unless the gate is closed; then it returns false.
  // `owner`: a number that each owner of memory has for itself, less than UINT32_MAX.
  template <class Write>
  bool write(const basic_write_gate<Atomics>& gate, uint32_t owner, const Write& write) {
    target_.store(owner + 1, std::memory_order_seq_cst);  // W1
    const bool is_written = !gate.is_closed() && write();
    target_.store(0, std::memory_order_release);  // D1
    return is_written;
  }

  bool writes_to(uint32_t owner) const {
    return target_.load(std::memory_order_seq_cst) == owner + 1;  // C2
  }

 private:
  typename Atomics::template atomic<uint32_t> target_{0};
};

using write_gate = basic_write_gate<std_atomics>;
using gated_writer = basic_gated_writer<std_atomics>;

}  // namespace lci::ds

#endif  // LCI_DS_WRITE_GATE_H_
