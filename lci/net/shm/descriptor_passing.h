// Passes file descriptors between ranks of a machine. So they get each other's memory where they may
// not open it by its name in /proc: where each rank has a container of its own, with its own user or
// PID namespace, and where a program has file capabilities or hides itself otherwise (see
// PR_SET_DUMPABLE in prctl(2)).
#ifndef LCI_NET_SHM_DESCRIPTOR_PASSING_H_
#define LCI_NET_SHM_DESCRIPTOR_PASSING_H_

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::net::shm {

constexpr size_t max_passed_descriptors = 3;

using accept_descriptors = std::function<base::Status(int rank, const std::vector<int>& given)>;

// A step of the start that all ranks take, those without partners too. Gives copies of `own`, which
// are up to max_passed_descriptors and stay the caller's, to each of `partners`, which have this
// rank among theirs. Calls accept(rank, given) once for each partner, in any order, with copies of
// what that gives, which are closed after the call. `name`: as for bootstrap::allgather.
//
// The descriptors travel through UNIX sockets whose names are those of a network namespace
// (SCM_RIGHTS), so ranks in different ones cannot pass any: an error that says so. An error of one
// rank is an error of all ranks. Aborted: a rank is lost. DeadlineExceeded: a partner has given
// nothing within bootstrap::default_timeout().
base::Status pass_descriptors(boot::bootstrap& boot, std::string_view name,
                              const std::vector<int>& own, const std::vector<int>& partners,
                              const accept_descriptors& accept);

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_DESCRIPTOR_PASSING_H_
