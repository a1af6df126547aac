#ifndef LCI_BOOT_SCOPED_H_
#define LCI_BOOT_SCOPED_H_

#include <string>
#include <string_view>
#include <vector>

#include "lci/base/strings.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot {

// A part of another bootstrap's name space: a name x here is <scope>/x in the parent, so that two
// users of one job never collide. `parent` must outlive this object. An abort is not scoped: it
// aborts the job.
class scoped_bootstrap final : public bootstrap {
 public:
  // `scope` is short (at most 8 characters) and [A-Za-z0-9_-], as it becomes part of job_id.
  scoped_bootstrap(bootstrap& parent, std::string_view scope)
      : bootstrap(parent.position(), parent.default_timeout()),
        parent_(parent),
        scope_(base::StrCat(scope, "/")),
        job_id_(base::StrCat(parent.job_id(), "-", scope)) {}

  std::string_view name() const override { return parent_.name(); }
  std::string_view job_id() const override { return job_id_; }
  base::Status put(std::string_view key, std::string_view value) override {
    return parent_.put(base::StrCat(scope_, key), value);
  }
  base::StatusOr<std::string> get(std::string_view key, duration timeout) override {
    return parent_.get(base::StrCat(scope_, key), timeout);
  }
  base::StatusOr<std::vector<std::string>> meet(std::string_view what, std::string_view name,
                                                std::string_view value, duration timeout) override {
    return parent_.meet(what, base::StrCat(scope_, name), value, timeout);
  }
  std::optional<int> first_lost() override { return parent_.first_lost(); }
  void report_lost(int rank) override { parent_.report_lost(rank); }
  void abort(std::string_view reason) override { parent_.abort(reason); }

 private:
  bootstrap& parent_;
  const std::string scope_;
  const std::string job_id_;
};

}  // namespace lci::boot

#endif  // LCI_BOOT_SCOPED_H_
