#include "lci/net/exchange.h"

#include <algorithm>
#include <chrono>

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

namespace {

// Waits for `key` in pieces, which grow, so that many ranks don't keep the store busy.
absl::StatusOr<std::string> get_while(boot::bootstrap& boot, absl::string_view key,
                                      const std::function<absl::Status()>& meanwhile) {
  constexpr std::chrono::milliseconds longest{20};
  const auto deadline = std::chrono::steady_clock::now() + boot.default_timeout();
  for (std::chrono::milliseconds piece{1};; piece = std::min(2 * piece, longest)) {
    auto value = boot.get(key, piece);
    if (value.ok() || !absl::IsDeadlineExceeded(value.status()) ||
        std::chrono::steady_clock::now() > deadline) {
      return value;
    }
    if (absl::Status trouble = meanwhile(); !trouble.ok()) {
      // Who has what it waited for may be done and gone by now.
      value = boot.get(key, boot::bootstrap::duration::zero());
      return value.ok() ? value : trouble;
    }
  }
}

std::string word(const absl::Status& of) {
  return of.ok() ? std::string(1, good) : absl::StrCat(absl::string_view(&bad, 1), of.message());
}

absl::Status meaning(absl::string_view word, absl::string_view who) {
  if (!word.empty() && word[0] == good) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(who, "can't go on: ", word.empty() ? word : word.substr(1)));
}

}  // namespace

absl::Status agree_while(boot::bootstrap& boot, absl::string_view name, const absl::Status& ours,
                         const std::function<absl::Status()>& meanwhile) {
  const std::string verdict = absl::StrCat(name, "-all");
  absl::Status status = ours;
  if (boot.rank() != 0) {
    const absl::Status told = boot.put(absl::StrCat(name, "-", boot.rank()), word(ours));
    if (!ours.ok()) return ours;  // the cause, whatever else has happened
    if (!told.ok()) return told;
    const auto all = get_while(boot, verdict, meanwhile);
    return all.ok() ? meaning(*all, "") : all.status();
  }
  for (int r = 1; r < boot.size() && status.ok(); ++r) {
    const auto theirs = get_while(boot, absl::StrCat(name, "-", r), meanwhile);
    status = theirs.ok() ? meaning(*theirs, absl::StrCat("rank ", r, " ")) : theirs.status();
  }
  const absl::Status told = boot.put(verdict, word(status));
  return status.ok() ? told : status;
}

absl::Status agree(boot::bootstrap& boot, absl::string_view name, const absl::Status& ours) {
  return exchange(boot, name, ours.ok() ? absl::StatusOr<std::string>("") : ours).status();
}

}  // namespace lci::net
