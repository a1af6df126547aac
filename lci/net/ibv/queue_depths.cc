#include "lci/net/ibv/queue_depths.h"

#include <algorithm>

#include "lci/base/status.h"
#include "lci/base/strings.h"

namespace lci::net::ibv {
namespace {

// Bounds of a send queue's depth. A queue deeper than what the network holds at a time gains
// nothing; a shallower one leaves the network idle.
constexpr size_t most = 256;
constexpr size_t least = 16;

}  // namespace

base::StatusOr<queue_depths> choose_queue_depths(const queue_lengths& wanted, size_t ranks,
                                                 const device_capacity& has) {
  const size_t queues = 2 * ranks;
  const size_t heartbeats = ranks;  // one in flight to each rank
  const size_t receives = std::min({wanted.receives, queues * most, has.receives});
  if (has.completions < receives + queues * least + heartbeats || has.depth < least) {
    return base::ResourceExhaustedError(
        base::StrCat("the RDMA device has completion queues of ", has.completions,
                     " entries and send queues of ", has.depth, "; ", ranks, " ranks need ",
                     receives + queues * least + heartbeats,
                     " (attribute "
                     "net_max_recvs, ",
                     wanted.receives, ", may be less) and ", least));
  }
  const size_t room = std::min(wanted.most_completions, has.completions);
  const size_t taken = receives + heartbeats;
  const size_t share = room > taken ? (room - taken) / queues : 0;
  queue_depths chosen;
  chosen.depth =
      static_cast<uint32_t>(std::clamp(std::min({share, wanted.sends(), has.depth}), least, most));
  chosen.receives = static_cast<uint32_t>(std::min(receives, queues * chosen.depth));
  chosen.completions = static_cast<uint32_t>(chosen.receives + queues * chosen.depth + heartbeats);
  return chosen;
}

}  // namespace lci::net::ibv
