#include "lci/boot/group.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lci/boot/deadline.h"

namespace lci::boot {
namespace {

// First byte of what the first member tells the others.
constexpr char good = '+';
constexpr char bad = '-';
// The first member says what went wrong before the others give up.
constexpr std::chrono::milliseconds time_to_tell{1000};

job_position position_in(const bootstrap& parent, const std::vector<int>& members) {
  job_position position;
  position.rank =
      static_cast<int>(std::find(members.begin(), members.end(), parent.rank()) - members.begin());
  position.size = static_cast<int>(members.size());
  position.local_rank = position.rank;
  position.local_size = position.size;
  return position;
}

void append(absl::string_view value, std::string* all) {
  const uint64_t size = value.size();
  all->append(reinterpret_cast<const char*>(&size), sizeof(size));
  all->append(value.data(), value.size());
}

}  // namespace

group_bootstrap::group_bootstrap(bootstrap& parent, absl::string_view scope,
                                 std::vector<int> members)
    : bootstrap(position_in(parent, members), parent.default_timeout()),
      parent_(parent),
      members_(std::move(members)),
      scope_(absl::StrCat(scope, "/", members_.front(), "/")),
      job_id_(absl::StrCat(parent.job_id(), "-", scope, members_.front())) {}

absl::Status group_bootstrap::put(absl::string_view key, absl::string_view value) {
  return parent_.put(absl::StrCat(scope_, "k/", key), value);
}

absl::StatusOr<std::string> group_bootstrap::get(absl::string_view key, duration timeout) {
  return parent_.get(absl::StrCat(scope_, "k/", key), timeout);
}

absl::Status group_bootstrap::barrier(absl::string_view name, duration timeout) {
  return gather(absl::StrCat("b/", name), "", timeout).status();
}

absl::StatusOr<std::vector<std::string>> group_bootstrap::allgather(absl::string_view name,
                                                                    absl::string_view value,
                                                                    duration timeout) {
  const absl::StatusOr<std::string> all = gather(absl::StrCat("a/", name), value, timeout);
  if (!all.ok()) return all.status();
  std::vector<std::string> values;
  absl::string_view rest = *all;
  for (int r = 0; r < size(); ++r) {
    uint64_t bytes = 0;
    if (rest.size() >= sizeof(bytes)) {
      std::memcpy(&bytes, rest.data(), sizeof(bytes));
      rest.remove_prefix(sizeof(bytes));
    }
    if (bytes > rest.size()) return absl::DataLossError(absl::StrCat("allgather ", name));
    values.emplace_back(rest.substr(0, bytes));
    rest.remove_prefix(bytes);
  }
  return values;
}

absl::StatusOr<std::string> group_bootstrap::gather(absl::string_view name, absl::string_view value,
                                                    duration timeout) {
  const std::string all_key = absl::StrCat(scope_, name, "/all");
  const auto key_of = [&](int member) { return absl::StrCat(scope_, name, "/", member); };
  if (rank() != 0) {
    if (absl::Status told = parent_.put(key_of(rank()), value); !told.ok()) return told;
    absl::StatusOr<std::string> all = parent_.get(all_key, timeout + time_to_tell);
    if (!all.ok()) return all.status();
    if (all->empty() || all->front() != good) {
      return absl::DeadlineExceededError(absl::string_view(*all).substr(all->empty() ? 0 : 1));
    }
    return all->substr(1);
  }
  std::string all(1, good);
  append(value, &all);
  const steady::time_point deadline = deadline_after(timeout);
  absl::Status status;
  for (int r = 1; r < size() && status.ok(); ++r) {
    const absl::StatusOr<std::string> theirs =
        parent_.get(key_of(r), duration(poll_milliseconds(deadline)));
    if (theirs.ok()) {
      append(*theirs, &all);
    } else {
      status = absl::Status(
          theirs.status().code(),
          absl::StrCat("\"", name, "\" of ", size(), " ranks of rank ", members_.front(),
                       "'s host: rank ", members_[static_cast<size_t>(r)],
                       " did not arrive: ", theirs.status().message()));
    }
  }
  if (!status.ok()) all = absl::StrCat(absl::string_view(&bad, 1), status.message());
  const absl::Status told = parent_.put(all_key, all);
  if (!status.ok()) return status;
  if (!told.ok()) return told;
  return all.substr(1);
}

}  // namespace lci::boot
