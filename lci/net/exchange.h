#ifndef LCI_NET_EXCHANGE_H_
#define LCI_NET_EXCHANGE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::net {

// A step of the start, on all ranks: what every rank has to tell, or, if one of them is in trouble,
// the same error on all of them at once instead of a timeout on the others. `name` as for
// bootstrap::allgather. Aborted: a rank is lost (bootstrap::first_lost), on this rank or on the one
// that is in trouble.
base::StatusOr<std::vector<std::string>> exchange(boot::bootstrap& boot, std::string_view name,
                                                  const base::StatusOr<std::string>& local);

// The same with nothing to tell.
base::Status agree(boot::bootstrap& boot, std::string_view name, const base::Status& local);

// The same for ranks that need each other to do something until all are there: `meanwhile` is
// called again and again, and may find out that there is trouble after all. By get alone, since a
// thread for it would make the program one that has threads: then the C library's locks and system
// calls take longer for good (a tenth of the time of a message over TCP). Rank 0 asks for each of
// the others, so this is for what all of them are to meet in.
base::Status agree_while(boot::bootstrap& boot, std::string_view name, const base::Status& local,
                         const std::function<base::Status()>& meanwhile);

}  // namespace lci::net

#endif  // LCI_NET_EXCHANGE_H_
