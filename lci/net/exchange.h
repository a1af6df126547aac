#ifndef LCI_NET_EXCHANGE_H_
#define LCI_NET_EXCHANGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lci/boot/bootstrap.h"

namespace lci::net {

// A step of the start, on all ranks: what every rank has to tell, or, if one of them is in trouble,
// the same error on all of them at once instead of a timeout on the others. `name` as for
// bootstrap::allgather.
absl::StatusOr<std::vector<std::string>> exchange(boot::bootstrap& boot, absl::string_view name,
                                                  const absl::StatusOr<std::string>& ours);

// The same with nothing to tell.
absl::Status agree(boot::bootstrap& boot, absl::string_view name, const absl::Status& ours);

}  // namespace lci::net

#endif  // LCI_NET_EXCHANGE_H_
