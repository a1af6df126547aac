#include "lci/boot/group.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "lci/base/strings.h"
#include "lci/io/deadline.h"
#include "lci/io/record.h"

namespace lci::boot {
namespace {

// First byte of the value that the first member puts for the others.
constexpr char ok_mark = '+';
constexpr char error_mark = '-';
// Extra time of the other members, so that the first member can report an error before they time
// out.
constexpr std::chrono::milliseconds notification_grace{1000};

job_position position_in(const bootstrap& parent, const std::vector<int>& members) {
  job_position position;
  position.rank =
      static_cast<int>(std::find(members.begin(), members.end(), parent.rank()) - members.begin());
  position.size = static_cast<int>(members.size());
  position.local_rank = position.rank;
  position.local_size = position.size;
  return position;
}

}  // namespace

group_bootstrap::group_bootstrap(bootstrap& parent, std::string_view scope,
                                 std::vector<int> members)
    : bootstrap(position_in(parent, members), parent.default_timeout()),
      parent_(parent),
      members_(std::move(members)),
      scope_(base::StrCat(scope, "/", members_.front(), "/")),
      job_id_(base::StrCat(parent.job_id(), "-", scope, members_.front())) {}

base::Status group_bootstrap::put(std::string_view key, std::string_view value) {
  return parent_.put(base::StrCat(scope_, "k/", key), value);
}

base::StatusOr<std::string> group_bootstrap::get(std::string_view key, duration timeout) {
  return parent_.get(base::StrCat(scope_, "k/", key), timeout);
}

base::StatusOr<std::vector<std::string>> group_bootstrap::meet(std::string_view what,
                                                               std::string_view name,
                                                               std::string_view value,
                                                               duration timeout) {
  const base::StatusOr<std::string> all =
      collect(base::StrCat(what == "barrier" ? "b/" : "a/", name), value, timeout);
  if (!all.ok()) return all.status();
  std::vector<std::string> values;
  if (!io::decode_record(*all, &values) || values.size() != members_.size()) {
    return base::DataLossError(base::StrCat(what, " ", name));
  }
  return values;
}

std::optional<int> group_bootstrap::first_lost() {
  const std::optional<int> lost = parent_.first_lost();
  if (!lost) return lost;
  const auto member = std::find(members_.begin(), members_.end(), *lost);
  return member == members_.end() ? -1 : static_cast<int>(member - members_.begin());
}

base::StatusOr<std::string> group_bootstrap::get_of_parent(const std::string& key,
                                                           duration timeout) {
  constexpr duration look_period{500};
  const io::steady::time_point deadline = io::deadline_after(timeout);
  for (;;) {
    const duration left(io::poll_milliseconds(deadline));
    base::StatusOr<std::string> value = parent_.get(key, std::min(left, look_period));
    if (!base::IsDeadlineExceeded(value.status()) || left <= look_period) return value;
    if (const std::optional<int> lost = parent_.first_lost()) {
      return base::UnavailableError(base::StrCat("rank ", *lost, " is lost"));
    }
  }
}

base::StatusOr<std::string> group_bootstrap::collect(std::string_view name, std::string_view value,
                                                     duration timeout) {
  const std::string all_key = base::StrCat(scope_, name, "/all");
  const auto key_of = [&](int member) { return base::StrCat(scope_, name, "/", member); };
  if (rank() != 0) {
    if (base::Status notified = parent_.put(key_of(rank()), value); !notified.ok()) return notified;
    base::StatusOr<std::string> all = get_of_parent(all_key, timeout + notification_grace);
    if (!all.ok()) return all.status();
    if (all->empty() || all->front() != ok_mark) {
      const std::string_view text = std::string_view(*all).substr(all->empty() ? 0 : 1);
      return parent_.first_lost() ? base::UnavailableError(text)
                                  : base::DeadlineExceededError(text);
    }
    return all->substr(1);
  }
  std::vector<std::string> values = {std::string(value)};
  const io::steady::time_point deadline = io::deadline_after(timeout);
  base::Status status;
  for (int r = 1; r < size() && status.ok(); ++r) {
    const base::StatusOr<std::string> theirs =
        get_of_parent(key_of(r), duration(io::poll_milliseconds(deadline)));
    if (theirs.ok()) {
      values.push_back(*theirs);
    } else {
      status = base::Status(
          theirs.status().code(),
          base::StrCat("\"", name, "\" of ", size(), " ranks of rank ", members_.front(),
                       "'s host: rank ", members_[static_cast<size_t>(r)],
                       " did not arrive: ", theirs.status().message()));
    }
  }
  const std::string all = io::encode_record(values);
  const base::Status notified = parent_.put(
      all_key, status.ok() ? base::StrCat(std::string(1, ok_mark), all)
                           : base::StrCat(std::string(1, error_mark), status.message()));
  if (!status.ok()) return status;
  if (!notified.ok()) return notified;
  return all;
}

}  // namespace lci::boot
