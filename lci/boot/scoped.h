#ifndef LCI_BOOT_SCOPED_H_
#define LCI_BOOT_SCOPED_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lci/boot/bootstrap.h"

namespace lci::boot {

// A part of another bootstrap's names: everything that is called x here is called <scope>/x there,
// so that two users of one job never meet. `parent` outlives it. Aborting is the job's, not the
// scope's.
class scoped_bootstrap final : public bootstrap {
 public:
  // `scope` is short (at most 8 characters) and [A-Za-z0-9_-], since it becomes part of job_id.
  scoped_bootstrap(bootstrap& parent, absl::string_view scope)
      : bootstrap(parent.position(), parent.default_timeout()),
        parent_(parent),
        scope_(absl::StrCat(scope, "/")),
        job_id_(absl::StrCat(parent.job_id(), "-", scope)) {}

  absl::string_view name() const override { return parent_.name(); }
  absl::string_view job_id() const override { return job_id_; }
  absl::Status put(absl::string_view key, absl::string_view value) override {
    return parent_.put(absl::StrCat(scope_, key), value);
  }
  absl::StatusOr<std::string> get(absl::string_view key, duration timeout) override {
    return parent_.get(absl::StrCat(scope_, key), timeout);
  }
  absl::Status barrier(absl::string_view name, duration timeout) override {
    return parent_.barrier(absl::StrCat(scope_, name), timeout);
  }
  absl::StatusOr<std::vector<std::string>> allgather(absl::string_view name,
                                                     absl::string_view value,
                                                     duration timeout) override {
    return parent_.allgather(absl::StrCat(scope_, name), value, timeout);
  }
  void abort(absl::string_view reason) override { parent_.abort(reason); }

 private:
  bootstrap& parent_;
  const std::string scope_;
  const std::string job_id_;
};

}  // namespace lci::boot

#endif  // LCI_BOOT_SCOPED_H_
