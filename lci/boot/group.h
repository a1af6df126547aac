#ifndef LCI_BOOT_GROUP_H_
#define LCI_BOOT_GROUP_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/boot/bootstrap.h"

namespace lci::boot {

// Some ranks of a job as a job of their own, with ranks 0 .. n-1 in the order of their ranks there,
// for what only they do together (as those of one host). Groups of one job do not wait for each
// other. `parent` outlives it.
//
// Everything that is called x here is called <scope>/<first member>/x there, with another name for
// each member of a collective. Collectives go through the first member: a rank that does not come
// is named by its rank in the parent. A member that dies is only missed at the timeout. Aborting is
// the whole job's.
class group_bootstrap final : public bootstrap {
 public:
  // `members`: ranks of the parent, ascending, this one among them. `scope` is short, and
  // [A-Za-z0-9_-].
  group_bootstrap(bootstrap& parent, std::string_view scope, std::vector<int> members);

  std::string_view name() const override { return parent_.name(); }
  std::string_view job_id() const override { return job_id_; }
  base::Status put(std::string_view key, std::string_view value) override;
  base::StatusOr<std::string> get(std::string_view key, duration timeout) override;
  base::Status barrier(std::string_view name, duration timeout) override;
  // All values together are at most max_value_size bytes, with 8 more for each.
  base::StatusOr<std::vector<std::string>> allgather(std::string_view name, std::string_view value,
                                                     duration timeout) override;
  void abort(std::string_view reason) override { parent_.abort(reason); }

 private:
  // What all have told, one behind the other; or the error, on the first member.
  base::StatusOr<std::string> gather(std::string_view name, std::string_view value,
                                     duration timeout);

  bootstrap& parent_;
  const std::vector<int> members_;
  const std::string scope_;
  const std::string job_id_;
};

}  // namespace lci::boot

#endif  // LCI_BOOT_GROUP_H_
