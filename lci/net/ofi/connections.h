#ifndef LCI_NET_OFI_CONNECTIONS_H_
#define LCI_NET_OFI_CONNECTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/net/ofi/completion_reader.h"
#include "lci/net/ofi/core.h"
#include "lci/net/ofi/failure_detector.h"
#include "lci/net/ofi/packet_path.h"
#include "lci/net/ofi/processes.h"
#include "lci/net/ofi/provider.h"
#include "lci/net/ofi/rma.h"

namespace lci::net::ofi {

// The first and the last exchange with each peer: addresses through the bootstrap, a greeting, and
// a bye.
//
// Thread safety: one thread at a time; it takes the device's lock itself.
class connections {
 public:
  connections(device_core& core, const process_table& processes, const provider& from,
              packet_path& packets, rma& accesses, failure_detector& failures,
              completion_reader& reader);

  // Collective: connects the open endpoints of all ranks, so that every rank can reach all others
  // when it returns. `opened`: whether this rank's is open. An error names what is missing.
  base::Status connect(boot::bootstrap& boot, const base::Status& opened);

  // Says bye to all ranks for which nothing is left to send, so that they take the end of this
  // device for no failure. Returns whether the network has everything, byes included; else the
  // device has to be polled.
  bool say_bye();
  // Logs the ranks to which say_bye() could not send everything.
  void warn_of_unsent();

 private:
  struct greeting {
    bool sent = false;
    bool bye_sent = false;
  };

  // Ranks that have still to be greeted, or that have not greeted this one.
  struct absentees {
    int count = 0;
    int last = -1;  // the last of them
  };

  base::StatusOr<std::string> make_offer() const;
  base::Status take_offer(int rank, const std::string& bytes);
  base::Status greet(boot::bootstrap& boot);
  base::Status exchange_greetings(boot::bootstrap& boot);
  absentees greet_all();
  void progress();
  bool descriptor_settles();
  base::Status first_failure(boot::bootstrap& boot) const;
  std::string unreachable(int rank, std::string_view reason) const;

  device_core& core_;
  const process_table& processes_;
  const provider& provider_;
  packet_path& packets_;
  rma& rma_;
  failure_detector& failures_;
  completion_reader& reader_;
  std::vector<greeting> peers_;  // by rank
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_CONNECTIONS_H_
