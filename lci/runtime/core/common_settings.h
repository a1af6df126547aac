#ifndef LCI_RUNTIME_CORE_COMMON_SETTINGS_H_
#define LCI_RUNTIME_CORE_COMMON_SETTINGS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/status.h"
#include "lci/base/system.h"
#include "lci/boot/bootstrap.h"

namespace lci::rt {

// The settings that all ranks of a job must share, compared before the first message. Ranks that
// disagree are notified at once, with the name: without it they would wait for each other until a
// timeout, or read each other's messages wrongly.
//
// Thread safety: none; one thread.
class common_settings {
 public:
  // `host`: the name of this rank's host, which is also sent to the others.
  explicit common_settings(std::string host = base::host_name()) : host_(std::move(host)) {}

  // `name` is for people, and unique. An attribute's name stands with its variable in the message:
  // see attribute().
  void add(std::string_view name, std::string_view value);
  // Adds the setting of an attribute: of "packet_size", "packet_size (LCI_ATTR_PACKET_SIZE)".
  void attribute(std::string_view name, std::string_view value);

  struct outcome {
    std::vector<std::string> hosts;  // by rank
    // Of each setting that is not the same on all ranks the values, each with its ranks:
    // "backend (LCI_ATTR_BACKEND) is shm on ranks 0, 2-4, ofi on rank 1". Empty: the ranks agree.
    std::string differences;
  };
  // Tells the other ranks; collective, with `name` as for bootstrap::allgather. If `own` is not OK,
  // this rank can't continue, and all ranks learn it. Returns the same on all ranks, or an error.
  base::StatusOr<outcome> exchange(boot::bootstrap& boot, std::string_view name,
                                   const base::Status& own) const;
  // The same, but differences are an error. Returns the names of the hosts, by rank.
  base::StatusOr<std::vector<std::string>> meet(boot::bootstrap& boot, std::string_view name,
                                                const base::Status& own) const;

  // The message of exchange(), and its comparison of the messages of all ranks; for tests.
  std::string encode() const;
  static base::StatusOr<outcome> compare(const std::vector<std::string>& reports);

 private:
  struct setting {
    std::string name;
    std::string value;
  };

  const std::string host_;
  std::vector<setting> settings_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_COMMON_SETTINGS_H_
