#ifndef LCI_NET_EXCHANGE_H_
#define LCI_NET_EXCHANGE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::net {

// A step of the start that all ranks take. Each rank sends the others a value, and gets the values
// of all ranks by rank. If a rank sends an error instead, all ranks return that error immediately,
// so that none waits for a timeout. `name`: as for bootstrap::allgather. Aborted: a rank is lost
// (bootstrap::first_lost), seen by this rank or by the one that sends the error.
base::StatusOr<std::vector<std::string>> exchange(boot::bootstrap& boot, std::string_view name,
                                                  const base::StatusOr<std::string>& local);

// As exchange(), without values.
base::Status agree(boot::bootstrap& boot, std::string_view name, const base::Status& local);

// exchange(); then accept(rank, its value) for each rank, until one fails; then agree() on the
// result: after a success, every rank has accepted the values of all ranks.
base::Status exchange_and_accept(
    boot::bootstrap& boot, std::string_view name, const base::StatusOr<std::string>& local,
    const std::function<base::Status(int rank, const std::string& value)>& accept);

// The same. In the agreement, each rank also sends the others answer(), of when it has accepted all
// values. Returns the answers by rank.
base::StatusOr<std::vector<std::string>> exchange_and_answer(
    boot::bootstrap& boot, std::string_view name, const base::StatusOr<std::string>& local,
    const std::function<base::Status(int rank, const std::string& value)>& accept,
    const std::function<std::string()>& answer);

// Aborted, naming the rank, if the job has lost one. For loops that wait for other ranks, now and
// then: it may ask a server.
base::Status check_for_loss(boot::bootstrap& boot);

// As agree(), for ranks that need each other to make progress until all have agreed: `meanwhile` is
// called again and again, and may still find an error. Uses bootstrap::get alone. A thread for it
// would make the program one that has threads, in which the C library's locks and system calls take
// longer for good (a tenth of the time of a message over TCP). Rank 0 asks for each of the others.
base::Status agree_while(boot::bootstrap& boot, std::string_view name, const base::Status& local,
                         const std::function<base::Status()>& meanwhile);

}  // namespace lci::net

#endif  // LCI_NET_EXCHANGE_H_
