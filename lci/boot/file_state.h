// State of a round, accumulated from its records.
#ifndef LCI_BOOT_FILE_STATE_H_
#define LCI_BOOT_FILE_STATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/file_log.h"
#include "lci/boot/process.h"
#include "lci/boot/rank_state.h"

namespace lci::boot {

// Thread safety: one thread at a time.
class file_state {
 public:
  struct member {
    bool joined = false;
    bool left = false;
    process_id process;
    std::string domain;  // process_domain() of the process
    std::string node;    // node_name() of the process
    uint32_t local_rank = 0;
    uint32_t local_size = 0;  // 0: to be counted
  };
  struct collective {
    std::vector<std::optional<std::string>> values;  // by rank
    size_t entered = 0;
  };
  struct abort_record {
    int rank;
    std::string reason;
  };

  explicit file_state(uint32_t size);

  // Reads the new records. Needs the log's flock.
  base::Status read(file_log* log);

  const std::vector<member>& members() const { return members_; }
  bool all_joined() const { return joined_ == members_.size(); }
  const std::map<std::string, std::string>& values() const { return values_; }
  const std::optional<abort_record>& aborted() const { return aborted_; }

  // Returns nullptr if no rank has entered it. `which` is barrier or allgather.
  const collective* find(file_layout::kind which, std::string_view name) const;
  // Drops the values after this rank has copied them; the collective stays known.
  void forget_values(file_layout::kind which, std::string_view name);

  // Whether the rank's process has died without leaving, as far as this process can know: it cannot
  // know about a process on another machine or in another PID namespace.
  bool has_died(const member& m) const;
  // As far as has_died() knows.
  rank_state state_of(const member& m) const;
  bool has_connected_ranks() const;

  std::vector<int> not_joined() const;
  std::vector<int> left() const;
  std::vector<int> died() const;
  std::vector<int> left_or_died() const;

 private:
  template <class Predicate>
  std::vector<int> ranks_if(const Predicate& predicate) const;
  void apply(file_layout::kind kind, int rank, std::string_view name, std::string_view value);

  std::vector<member> members_;
  size_t joined_ = 0;
  std::map<std::string, std::string> values_;
  std::map<std::pair<file_layout::kind, std::string>, collective> collectives_;
  std::optional<abort_record> aborted_;
  const std::string domain_ = process_domain();
};

// Encodes the value of a join record.
std::string encode_join(const file_state::member& m);

}  // namespace lci::boot

#endif  // LCI_BOOT_FILE_STATE_H_
