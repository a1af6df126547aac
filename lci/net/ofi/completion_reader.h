#ifndef LCI_NET_OFI_COMPLETION_READER_H_
#define LCI_NET_OFI_COMPLETION_READER_H_

#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>

#include "lci/net/ofi/core.h"
#include "lci/net/ofi/failure_detector.h"
#include "lci/net/ofi/packet_path.h"
#include "lci/net/ofi/rma.h"
#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {

// Reads the completion queue, and gives each entry to the part whose operation it ends; then reads
// the records of received packets, and delivers them, or gives them to the part that they are for.
//
// Thread safety: the caller holds the device's lock.
class completion_reader {
 public:
  completion_reader(device_core& core, packet_path& packets, rma& accesses,
                    failure_detector& failures)
      : core_(core), packets_(packets), rma_(accesses), failures_(failures) {}

  // Reads the completion queue until it is empty; reads nothing while received packets are left to
  // be read, or while the poll in progress has no room left.
  void read();
  // Delivers the records of received packets, as far as the poll in progress has room.
  void give();

 private:
  void take(const fi_cq_data_entry& entry);
  void take_error();
  void take_remote_write(uint64_t data);
  void break_down(int64_t code);
  void read_packet(packet& arrived);
  bool take(packet& from, const incoming_record& record);

  device_core& core_;
  packet_path& packets_;
  rma& rma_;
  failure_detector& failures_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_COMPLETION_READER_H_
