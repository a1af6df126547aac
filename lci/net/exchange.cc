#include "lci/net/exchange.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "lci/base/status.h"
#include "lci/base/strings.h"

namespace lci::net {
namespace {

// First byte of what travels: what follows is the value, or what went wrong, by itself or since a
// rank is lost.
constexpr char ok_mark = '+';
constexpr char error_mark = '-';
constexpr char lost_mark = '!';

std::string word_of(const base::Status& error) {
  const char mark = base::IsAborted(error) ? lost_mark : error_mark;
  return base::StrCat(std::string_view(&mark, 1), error.message());
}

// `word` is not one that begins with ok_mark.
base::Status error_in(std::string_view word, std::string_view who) {
  const std::string text = base::StrCat(who, "can't go on: ", word.empty() ? word : word.substr(1));
  return !word.empty() && word[0] == lost_mark ? base::AbortedError(text)
                                               : base::FailedPreconditionError(text);
}

// A collective that a rank has not entered.
base::Status as_lost(const base::Status& status) {
  return base::IsUnavailable(status) ? base::AbortedError(status.message()) : status;
}

}  // namespace

base::StatusOr<std::vector<std::string>> exchange(boot::bootstrap& boot, std::string_view name,
                                                  const base::StatusOr<std::string>& local) {
  const std::string message =
      local.ok() ? base::StrCat(std::string_view(&ok_mark, 1), *local) : word_of(local.status());
  auto all = boot.allgather(name, message, boot.default_timeout());
  if (!local.ok()) return local.status();  // the cause, whatever else has happened
  if (!all.ok()) return as_lost(all.status());
  for (size_t r = 0; r < all->size(); ++r) {
    std::string& theirs = (*all)[r];
    if (theirs.empty() || theirs[0] != ok_mark) {
      return error_in(theirs, base::StrCat("rank ", r, " "));
    }
    theirs.erase(0, 1);
  }
  return all;
}

namespace {

// Waits for `key` in pieces, which grow, so that many ranks don't keep the store busy.
base::StatusOr<std::string> get_while(boot::bootstrap& boot, std::string_view key,
                                      const std::function<base::Status()>& meanwhile) {
  constexpr std::chrono::milliseconds longest{20};
  constexpr std::chrono::milliseconds look_period{200};
  const auto deadline = std::chrono::steady_clock::now() + boot.default_timeout();
  auto next_look = std::chrono::steady_clock::now() + look_period;
  for (std::chrono::milliseconds piece{1};; piece = std::min(2 * piece, longest)) {
    auto value = boot.get(key, piece);
    if (value.ok() || !base::IsDeadlineExceeded(value.status()) ||
        std::chrono::steady_clock::now() > deadline) {
      return value;
    }
    base::Status trouble = meanwhile();
    if (const auto now = std::chrono::steady_clock::now(); trouble.ok() && now > next_look) {
      next_look = now + look_period;
      if (const std::optional<int> lost = boot.first_lost()) {
        trouble = base::AbortedError(base::StrCat("rank ", *lost, " is lost"));
      }
    }
    if (!trouble.ok()) {
      // Who has what it waited for may be done and gone by now.
      value = boot.get(key, boot::bootstrap::duration::zero());
      return value.ok() ? value : trouble;
    }
  }
}

std::string word(const base::Status& of) { return of.ok() ? std::string(1, ok_mark) : word_of(of); }

base::Status meaning(std::string_view word, std::string_view who) {
  if (!word.empty() && word[0] == ok_mark) return base::OkStatus();
  return error_in(word, who);
}

}  // namespace

base::Status agree_while(boot::bootstrap& boot, std::string_view name, const base::Status& local,
                         const std::function<base::Status()>& meanwhile) {
  const std::string verdict = base::StrCat(name, "-all");
  base::Status status = local;
  if (boot.rank() != 0) {
    const base::Status sent = boot.put(base::StrCat(name, "-", boot.rank()), word(local));
    if (!local.ok()) return local;  // the cause, whatever else has happened
    if (!sent.ok()) return sent;
    const auto all = get_while(boot, verdict, meanwhile);
    return all.ok() ? meaning(*all, "") : all.status();
  }
  for (int r = 1; r < boot.size() && status.ok(); ++r) {
    const auto theirs = get_while(boot, base::StrCat(name, "-", r), meanwhile);
    status = theirs.ok() ? meaning(*theirs, base::StrCat("rank ", r, " ")) : theirs.status();
  }
  const base::Status sent = boot.put(verdict, word(status));
  return status.ok() ? sent : status;
}

base::Status agree(boot::bootstrap& boot, std::string_view name, const base::Status& local) {
  return exchange(boot, name, local.ok() ? base::StatusOr<std::string>("") : local).status();
}

}  // namespace lci::net
