// The bootstrap of a rank under the deterministic scheduler: another rank runs while it waits.
#ifndef LCI_TESTING_RANKS_TURN_TAKING_BOOTSTRAP_H_
#define LCI_TESTING_RANKS_TURN_TAKING_BOOTSTRAP_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/testing/ranks/deterministic_scheduler.h"

namespace lci {

class turn_taking_bootstrap final : public boot::bootstrap {
  template <class Wait>
  static auto waiting(const Wait& wait) {
    deterministic_scheduler* const scheduler = deterministic_scheduler::of_this_thread();
    return scheduler == nullptr ? wait() : scheduler->meet(wait);
  }

 public:
  explicit turn_taking_bootstrap(std::unique_ptr<boot::bootstrap> real)
      : bootstrap(real->position(), real->default_timeout()), real_(std::move(real)) {}

  std::string_view name() const override { return real_->name(); }
  std::string_view job_id() const override { return real_->job_id(); }
  base::Status put(std::string_view key, std::string_view value) override {
    return real_->put(key, value);
  }
  base::StatusOr<std::string> get(std::string_view key, duration timeout) override {
    return real_->get(key, timeout);
  }
  base::StatusOr<std::vector<std::string>> meet(std::string_view what, std::string_view name,
                                                std::string_view value, duration timeout) override {
    return waiting([&] { return real_->meet(what, name, value, timeout); });
  }
  void abort(std::string_view reason) override { real_->abort(reason); }

 private:
  const std::unique_ptr<boot::bootstrap> real_;
};

}  // namespace lci

#endif  // LCI_TESTING_RANKS_TURN_TAKING_BOOTSTRAP_H_
