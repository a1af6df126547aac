#include "lci/net/capacity.h"

#include <cmath>

#include "lci/base/status.h"
#include "lci/base/strings.h"

namespace lci::net {

base::StatusOr<queue_lengths> sum_queues(size_t max_sends, size_t max_receives,
                                         size_t max_completions, double reserved_part) {
  // Beyond any network's; so that the sums can't overflow.
  constexpr size_t most = size_t{1} << 30;
  if (!(reserved_part >= 0 && reserved_part <= 0.9)) {
    return base::InvalidArgumentError(
        base::StrCat("attribute net_send_reserved_pct is ", reserved_part, ", not 0 to 0.9"));
  }
  if (max_sends < 2 || max_sends > most) {
    return base::InvalidArgumentError(base::StrCat("attribute net_max_sends is ", max_sends,
                                                   ", not 2 (one for posts, one for answers) to ",
                                                   most));
  }
  if (max_receives < 1 || max_receives > most) {
    return base::InvalidArgumentError(
        base::StrCat("attribute net_max_recvs is ", max_receives, ", not 1 to ", most));
  }
  queue_lengths queues;
  queues.sends_of_progress = std::clamp<size_t>(
      static_cast<size_t>(std::lround(static_cast<double>(max_sends) * reserved_part)), 1,
      max_sends - 1);
  queues.sends_of_posts = max_sends - queues.sends_of_progress;
  queues.receives = max_receives;
  if (max_completions < queues.completions()) {
    return base::InvalidArgumentError(base::StrCat("attribute net_max_cqes is ", max_completions,
                                                   ", less than net_max_sends + net_max_recvs, ",
                                                   max_sends, " + ", max_receives,
                                                   ": completions would be lost"));
  }
  queues.most_completions = max_completions;
  return queues;
}

}  // namespace lci::net
