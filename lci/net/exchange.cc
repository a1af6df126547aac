#include "lci/net/exchange.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lci::net {
namespace {

// First byte of what travels: what follows is the value, or what went wrong.
constexpr char good = '+';
constexpr char bad = '-';

}  // namespace

absl::StatusOr<std::vector<std::string>> exchange(boot::bootstrap& boot, absl::string_view name,
                                                  const absl::StatusOr<std::string>& ours) {
  const std::string told = ours.ok()
                               ? absl::StrCat(absl::string_view(&good, 1), *ours)
                               : absl::StrCat(absl::string_view(&bad, 1), ours.status().message());
  auto all = boot.allgather(name, told, boot.default_timeout());
  if (!ours.ok()) return ours.status();  // the cause, whatever else has happened
  if (!all.ok()) return all.status();
  for (size_t r = 0; r < all->size(); ++r) {
    std::string& theirs = (*all)[r];
    if (theirs.empty() || theirs[0] != good) {
      return absl::FailedPreconditionError(absl::StrCat(
          "rank ", r, " can't go on: ", theirs.empty() ? "" : absl::string_view(theirs).substr(1)));
    }
    theirs.erase(0, 1);
  }
  return all;
}

absl::Status agree(boot::bootstrap& boot, absl::string_view name, const absl::Status& ours) {
  return exchange(boot, name, ours.ok() ? absl::StatusOr<std::string>("") : ours).status();
}

}  // namespace lci::net
