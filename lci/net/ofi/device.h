#ifndef LCI_NET_OFI_DEVICE_H_
#define LCI_NET_OFI_DEVICE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/status.h"
#include "lci/net/backend.h"
#include "lci/net/ofi/completion_reader.h"
#include "lci/net/ofi/connections.h"
#include "lci/net/ofi/context.h"
#include "lci/net/ofi/core.h"
#include "lci/net/ofi/failure_detector.h"
#include "lci/net/ofi/packet_path.h"
#include "lci/net/ofi/rma.h"

namespace lci::net::ofi {

// An endpoint with a completion queue and, where possible, a domain of its own. It is composed of
// parts; each uses those above it in this list:
//
//   device_core        what all parts share: endpoint, lock, states of the peers, completions
//   packet_path        records to and from the peers, in packets: coalescing and credits
//   rma                puts and gets
//   failure_detector   finds ranks that have failed, and cleans up after them
//   completion_reader  reads the completion queue and the records of received packets
//   connections        addresses, greetings and byes
//
// The device itself takes the lock, and calls the parts in the order of a post or a poll.
//
// Thread safety: that of net::device. One lock, which post and poll only try, keeps threads from
// waiting in the provider, whose own locks block (SC'25 paper, section 5.2.4). release takes no
// lock.
class alignas(base::cache_line_size) ofi_device final : public device {
 public:
  static base::StatusOr<std::unique_ptr<device>> make(ofi_context& context, boot::bootstrap& boot,
                                                      const device_config& config);
  ~ofi_device() override;

  error_t post(const op& operation) override;
  error_t post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                     const remote_place* where) override;
  error_t poll(completion* out, size_t max, size_t* count) override;
  void release(const completion& received) override;
  bool drained() override;
  bool has_left(int rank) override;
  bool has_died(int rank) override { return context_.processes().has_ended(rank); }
  std::vector<int> wait_descriptors() const override;
  std::chrono::microseconds arm() override;

 private:
  ofi_device(ofi_context& context, const device_config& config);
  base::Status open();
  void process_pending();

  ofi_context& context_;
  const device_config config_;
  device_core core_;
  packet_path packets_;
  rma rma_;
  failure_detector failures_;
  completion_reader reader_;
  connections connections_;
  uint32_t polls_ = 0;
  bool connected_ = false;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_DEVICE_H_
