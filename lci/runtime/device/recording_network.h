// A network that records what passes through it.
#ifndef LCI_RUNTIME_DEVICE_RECORDING_NETWORK_H_
#define LCI_RUNTIME_DEVICE_RECORDING_NETWORK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/net/backend.h"
#include "lci/observe/recorder.h"
#include "lci/runtime/core/wire.h"
#include "lci/runtime/device/forwarding_network.h"

namespace lci::rt {

// Records each operation that the network accepts, and each completion. A device of a rank that
// does not record is not wrapped.
//
// Messages carry nothing for the recording. Both sides count the messages of a pair of ranks, whose
// order the device keeps, so the count of an arrival names its message. Where several threads post
// to one rank, or poll, concurrently, consecutive messages may be counted in another order than
// they travel in.
class recording_network final : public forwarding_network {
 public:
  struct place {
    observe::event_sink to;
    uint8_t context = 0;  // number of the net context
    uint16_t device = 0;
    int ranks = 1;
    imm_layout imm;
  };
  recording_network(std::unique_ptr<net::device> network, const place& where);

  error_t post(const net::op& operation) override;
  error_t post_short(net::short_op what, net_imm_data_t imm, void* buffer, size_t size,
                     const net::remote_place* where) override;
  bool add(int rank, net::remote_region remote, uint64_t remote_offset, int64_t value) override;
  error_t poll(net::completion* out, size_t max, size_t* count) override;

 private:
  // Messages, and puts that notify, which travel apart from them.
  struct counts {
    std::atomic<uint64_t> sent{0};
    std::atomic<uint64_t> arrived{0};
    std::atomic<uint64_t> put{0};
    std::atomic<uint64_t> notified{0};
  };
  static constexpr size_t page_ranks = 64;
  struct page {
    counts ranks[page_ranks];
  };

  observe::event make(observe::event_kind kind, uint64_t time, int rank) const;
  counts& counts_of(int rank);
  // An operation has been answered, that began at event->time; its form is set.
  void answered(observe::event* posted, error_t result);
  // Describes an operation; post() or post_short() then starts it.
  observe::event describe(const net::op& operation);
  // Sets form, size, tag and detail. `bytes`: the first `known` ones of a message of `size` with
  // this immediate data.
  void describe_message(net_imm_data_t imm, const void* bytes, size_t known, size_t size,
                        observe::event* out) const;
  void describe_put(net_imm_data_t imm, net_imm_data_t high, observe::event* out) const;
  void describe(const net::completion& found, observe::event* out);

  const place where_;
  const bool has_wide_imm_;  // of puts: at least 32 bits
  // Null: nothing has been exchanged with these ranks.
  std::vector<std::atomic<page*>> pages_;

 public:
  ~recording_network() override;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_DEVICE_RECORDING_NETWORK_H_
