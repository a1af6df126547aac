#include "lci/boot/in_process.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "lci/base/strings.h"
#include "lci/boot/job_id.h"
#include "lci/boot/messages.h"
#include "lci/io/deadline.h"

namespace lci::boot {
namespace {

// State shared by the ranks.
struct job {
  explicit job(int size) : id(make_job_id("")), left(static_cast<size_t>(size)) {}

  const std::string id;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::map<std::string, std::string, std::less<>> values;
  std::map<std::string, std::map<int, std::string>> entered;  // by describe_call: rank, value
  std::vector<bool> left;                                     // by rank
  base::Status aborted;
};

class in_process final : public bootstrap {
 public:
  in_process(std::shared_ptr<job> shared, job_position position, duration default_timeout)
      : bootstrap(position, default_timeout), job_(std::move(shared)) {}

  ~in_process() override {
    const std::lock_guard<std::mutex> lock(job_->mutex);
    job_->left[static_cast<size_t>(rank())] = true;
    job_->changed.notify_all();
  }

  std::string_view name() const override { return "local"; }
  std::string_view job_id() const override { return job_->id; }

  base::Status put(std::string_view key, std::string_view value) override {
    if (base::Status status = check_entry("put", key, value); !status.ok()) return status;
    const std::lock_guard<std::mutex> lock(job_->mutex);
    if (!job_->aborted.ok()) return job_->aborted;
    if (!job_->values.emplace(key, value).second) return already_put(describe_call("put", key));
    job_->changed.notify_all();
    return base::OkStatus();
  }

  base::StatusOr<std::string> get(std::string_view key, duration timeout) override {
    if (base::Status status = check_entry("get", key); !status.ok()) return status;
    const std::string wanted(key);
    std::unique_lock<std::mutex> lock(job_->mutex);
    job_->changed.wait_until(lock, io::deadline_after(timeout), [&] {
      return !job_->aborted.ok() || job_->values.count(wanted) != 0;
    });
    if (!job_->aborted.ok()) return job_->aborted;
    const auto found = job_->values.find(wanted);
    if (found != job_->values.end()) return found->second;
    return timed_out(describe_call("get", key), position_, timeout, did_not_appear());
  }

  base::StatusOr<std::vector<std::string>> meet(std::string_view what, std::string_view name,
                                                std::string_view value, duration timeout) override {
    if (base::Status status = check_entry(what, name, value); !status.ok()) return status;
    const std::string call = describe_call(what, name);
    std::unique_lock<std::mutex> lock(job_->mutex);
    if (!job_->aborted.ok()) return job_->aborted;
    std::map<int, std::string>& entered = job_->entered[call];
    if (!entered.emplace(rank(), value).second) return already_entered(call);
    const auto all_entered = [&] { return entered.size() == static_cast<size_t>(size()); };
    if (all_entered()) job_->changed.notify_all();
    std::vector<int> missing, gone;
    job_->changed.wait_until(lock, io::deadline_after(timeout), [&] {
      missing.clear();
      gone.clear();
      for (int r = 0; r < size(); ++r) {
        if (entered.count(r) != 0) continue;
        missing.push_back(r);
        if (job_->left[static_cast<size_t>(r)]) gone.push_back(r);
      }
      return !job_->aborted.ok() || missing.empty() || !gone.empty();
    });
    if (all_entered()) {
      std::vector<std::string> all;
      for (const auto& [r, v] : entered) all.push_back(v);
      return all;
    }
    if (!job_->aborted.ok()) return job_->aborted;
    if (!gone.empty()) {
      const auto [first, is_new] =
          job_->values.emplace(std::string(lost_key), base::StrCat(gone.front()));
      int lost = gone.front();
      if (!is_new && !base::SimpleAtoi(first->second, &lost)) lost = gone.front();
      return base::UnavailableError(left_without(call, {lost}));
    }
    return timed_out(call, position_, timeout, did_not_arrive(missing));
  }

  void abort(std::string_view reason) override {
    const std::lock_guard<std::mutex> lock(job_->mutex);
    if (!job_->aborted.ok()) return;
    job_->aborted = aborted_by(rank(), reason);
    job_->changed.notify_all();
  }

 private:
  const std::shared_ptr<job> job_;
};

}  // namespace

std::vector<std::unique_ptr<bootstrap>> make_in_process_job(int size,
                                                            bootstrap::duration default_timeout) {
  const auto shared = std::make_shared<job>(size);
  std::vector<std::unique_ptr<bootstrap>> ranks;
  for (int r = 0; r < size; ++r) {
    ranks.push_back(
        std::make_unique<in_process>(shared, job_position{r, size, r, size}, default_timeout));
  }
  return ranks;
}

}  // namespace lci::boot
