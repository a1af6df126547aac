#ifndef LCI_RUNTIME_AGREEMENT_H_
#define LCI_RUNTIME_AGREEMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"

namespace lci::rt {

// What the ranks of a job must have chosen alike, compared before the first message. Ranks that
// disagree learn it at once and by name: without it they would wait for each other until a timeout,
// or read each other's messages wrongly.
//
// Thread safety: none; one thread.
class agreement {
 public:
  // `name` is for people, and unique. An attribute's name stands with its variable in the message:
  // see attribute().
  void add(std::string_view name, std::string_view value);
  // Adds the setting of an attribute: of "packet_size", "packet_size (LCI_ATTR_PACKET_SIZE)".
  void attribute(std::string_view name, std::string_view value);

  // What this rank tells the others besides, and need not be alike: the name of its host.
  void tell(std::string_view note) { note_ = note; }

  // Tells the other ranks; collective, with `name` as for bootstrap::allgather. `own` is not OK if
  // this rank can't go on, which all ranks then learn. Returns the notes, by rank; or, on all
  // ranks, an error if they disagree:
  //
  //   the ranks disagree: backend (LCI_ATTR_BACKEND) is shm on ranks 0, 2-3, ofi on rank 1;
  //   set it alike on all ranks
  base::StatusOr<std::vector<std::string>> meet(boot::bootstrap& boot, std::string_view name,
                                                const base::Status& own) const;

  // What meet() exchanges, and the comparison of all ranks' texts; for tests.
  std::string encode() const;
  static base::StatusOr<std::vector<std::string>> compare(const std::vector<std::string>& told);

 private:
  struct setting {
    std::string name;
    std::string value;
  };
  std::vector<setting> settings_;
  std::string note_;
};

// Ranks in increasing order as people write them: "rank 3", "ranks 0, 2-4".
std::string rank_list(const std::vector<int>& ranks);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_AGREEMENT_H_
