#ifndef LCI_NET_IBV_SOURCE_TABLE_H_
#define LCI_NET_IBV_SOURCE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lci::net::ibv {

// Maps a local queue pair number to the rank of its peer. RDMA devices number queue pairs
// consecutively, so most lookups succeed in the first slot. Thread safety: that of a plain value.
class source_table {
 public:
  // `count`: the most numbers that are added.
  explicit source_table(size_t count) {
    size_t slots = 16;
    while (slots < 4 * count) slots *= 2;
    slots_.resize(slots);
  }

  void add(uint32_t number, int rank) {
    size_t at = number & (slots_.size() - 1);
    while (slots_[at].rank >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {number, rank};
  }
  // Returns -1 if the number was not added.
  int find(uint32_t number) const {
    for (size_t at = number & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].number == number || slots_[at].rank < 0) return slots_[at].rank;
    }
  }

 private:
  struct slot {
    uint32_t number = 0;
    int rank = -1;
  };
  std::vector<slot> slots_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_SOURCE_TABLE_H_
