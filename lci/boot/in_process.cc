#include "lci/boot/in_process.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lci::boot {
namespace {

// What the ranks share.
struct job {
  explicit job(int ranks) : size(ranks) {}

  const int size;
  std::string id;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string, std::less<>> values;  // guarded by mutex
  std::string aborted;                                     // guarded by mutex; empty: not
};

class in_process final : public bootstrap {
 public:
  in_process(std::shared_ptr<job> shared, job_position position, duration default_timeout)
      : bootstrap(position, default_timeout), job_(std::move(shared)) {}

  absl::string_view name() const override { return "in_process"; }
  absl::string_view job_id() const override { return job_->id; }

  absl::Status put(absl::string_view key, absl::string_view value) override {
    if (key.empty() || key.size() > max_key_size || value.size() > max_value_size) {
      return absl::InvalidArgumentError(absl::StrCat("a key of ", key.size(), " or a value of ",
                                                     value.size(), " bytes is out of bounds"));
    }
    const std::lock_guard<std::mutex> guard(job_->mutex);
    if (!job_->aborted.empty()) return absl::AbortedError(job_->aborted);
    if (!job_->values.emplace(std::string(key), std::string(value)).second) {
      return absl::AlreadyExistsError(absl::StrCat("key \"", key, "\" was put before"));
    }
    job_->changed.notify_all();
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> get(absl::string_view key, duration timeout) override {
    std::unique_lock<std::mutex> guard(job_->mutex);
    const std::string name(key);
    const bool found = job_->changed.wait_for(
        guard, timeout, [&] { return !job_->aborted.empty() || job_->values.count(name) != 0; });
    if (!job_->aborted.empty()) return absl::AbortedError(job_->aborted);
    if (!found)
      return absl::DeadlineExceededError(absl::StrCat("key \"", key, "\" did not appear"));
    return job_->values.find(name)->second;
  }

  absl::Status barrier(absl::string_view name, duration timeout) override {
    return allgather(absl::StrCat("barrier ", name), "", timeout).status();
  }

  absl::StatusOr<std::vector<std::string>> allgather(absl::string_view name,
                                                     absl::string_view value,
                                                     duration timeout) override {
    const auto key = [name](int r) { return absl::StrCat("gather ", name, " ", r); };
    const absl::Status mine = put(key(rank()), value);
    if (!mine.ok()) return mine;
    std::vector<std::string> all;
    std::vector<int> missing;
    std::unique_lock<std::mutex> guard(job_->mutex);
    job_->changed.wait_for(guard, timeout, [&] {
      missing.clear();
      for (int r = 0; r < size(); ++r) {
        if (job_->values.count(key(r)) == 0) missing.push_back(r);
      }
      return !job_->aborted.empty() || missing.empty();
    });
    if (!job_->aborted.empty()) return absl::AbortedError(job_->aborted);
    if (!missing.empty()) {
      return absl::DeadlineExceededError(absl::StrCat(
          "\"", name, "\": these ranks did not arrive: ", absl::StrJoin(missing, ", ")));
    }
    for (int r = 0; r < size(); ++r) all.push_back(job_->values.find(key(r))->second);
    return all;
  }

  void abort(absl::string_view reason) override {
    const std::lock_guard<std::mutex> guard(job_->mutex);
    if (job_->aborted.empty()) job_->aborted = absl::StrCat("rank ", rank(), " aborted: ", reason);
    job_->changed.notify_all();
  }

 private:
  const std::shared_ptr<job> job_;
};

}  // namespace

std::vector<std::unique_ptr<bootstrap>> make_in_process_job(int size,
                                                            bootstrap::duration default_timeout) {
  static std::atomic<int> jobs{0};
  const auto shared = std::make_shared<job>(size);
  shared->id = absl::StrCat("in-process-", jobs.fetch_add(1));
  std::vector<std::unique_ptr<bootstrap>> ranks;
  for (int r = 0; r < size; ++r) {
    ranks.push_back(
        std::make_unique<in_process>(shared, job_position{r, size, r, size}, default_timeout));
  }
  return ranks;
}

}  // namespace lci::boot
