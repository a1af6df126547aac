#ifndef LCI_BOOT_GROUP_H_
#define LCI_BOOT_GROUP_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/boot/bootstrap.h"

namespace lci::boot {

// A subset of a job's ranks as a job of their own, with ranks 0 .. n-1 in the order of their ranks
// in the parent, for work that only these ranks share (such as the ranks of one host). Groups of
// one job do not wait for each other. `parent` must outlive this object.
//
// A name x here is <scope>/<first member>/x in the parent, with a separate name for each member of
// a collective. Collectives go through the first member; errors name a missing rank by its rank in
// the parent. A lost rank of the parent ends what waits. An abort aborts the whole job.
class group_bootstrap final : public bootstrap {
 public:
  // `members`: ascending ranks of the parent, this rank included. `scope` is short, and
  // [A-Za-z0-9_-].
  group_bootstrap(bootstrap& parent, std::string_view scope, std::vector<int> members);

  std::string_view name() const override { return parent_.name(); }
  std::string_view job_id() const override { return job_id_; }
  base::Status put(std::string_view key, std::string_view value) override;
  base::StatusOr<std::string> get(std::string_view key, duration timeout) override;
  // The size of all values together, plus 4 bytes for each and 5, is at most max_value_size.
  base::StatusOr<std::vector<std::string>> meet(std::string_view what, std::string_view name,
                                                std::string_view value, duration timeout) override;
  // Also of ranks of the parent that are no members: these have the number -1.
  std::optional<int> first_lost() override;
  void report_lost(int rank) override { parent_.report_lost(members_[static_cast<size_t>(rank)]); }
  void abort(std::string_view reason) override { parent_.abort(reason); }

 private:
  // As parent_.get, but Unavailable when a rank of the parent is lost.
  base::StatusOr<std::string> get_of_parent(const std::string& key, duration timeout);
  // Returns the values of all members (lci/io/record.h), or the error, on the first member.
  base::StatusOr<std::string> collect(std::string_view name, std::string_view value,
                                      duration timeout);

  bootstrap& parent_;
  const std::vector<int> members_;
  const std::string scope_;
  const std::string job_id_;
};

}  // namespace lci::boot

#endif  // LCI_BOOT_GROUP_H_
