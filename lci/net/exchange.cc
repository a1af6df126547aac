#include "lci/net/exchange.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "lci/base/status.h"
#include "lci/base/strings.h"

namespace lci::net {
namespace {

// The first byte of what ranks exchange. A value follows, or the message of an error: of an error
// of that rank itself, or of one that comes from a lost rank.
constexpr char ok_mark = '+';
constexpr char error_mark = '-';
constexpr char lost_mark = '!';

std::string encode(const base::StatusOr<std::string>& result) {
  if (result.ok()) return base::StrCat(ok_mark, *result);
  return base::StrCat(base::IsAborted(result.status()) ? lost_mark : error_mark,
                      result.status().message());
}

// The value of `who`, or its error, or why nothing was received.
base::StatusOr<std::string> decode(const base::StatusOr<std::string>& received,
                                   std::string_view who) {
  if (!received.ok()) return received;
  const char mark = received->empty() ? error_mark : received->front();
  const std::string text = received->empty() ? "" : received->substr(1);
  if (mark == ok_mark) return text;
  return base::Status(
      mark == lost_mark ? base::StatusCode::kAborted : base::StatusCode::kFailedPrecondition,
      base::StrCat(who, "can't continue: ", text));
}

// The status, for a rank without a value.
base::StatusOr<std::string> without_value(const base::Status& status) {
  return status.ok() ? base::StatusOr<std::string>("") : status;
}

// A collective that a rank has not entered.
base::Status as_lost(const base::Status& status) {
  return base::IsUnavailable(status) ? base::AbortedError(status.message()) : status;
}

}  // namespace

base::StatusOr<std::vector<std::string>> exchange(boot::bootstrap& boot, std::string_view name,
                                                  const base::StatusOr<std::string>& local) {
  auto all = boot.allgather(name, encode(local), boot.default_timeout());
  if (!local.ok()) return local.status();  // the cause
  if (!all.ok()) return as_lost(all.status());
  for (size_t r = 0; r < all->size(); ++r) {
    base::StatusOr<std::string> value = decode((*all)[r], base::StrCat("rank ", r, " "));
    if (!value.ok()) return value.status();
    (*all)[r] = *std::move(value);
  }
  return all;
}

base::Status agree(boot::bootstrap& boot, std::string_view name, const base::Status& local) {
  return exchange(boot, name, without_value(local)).status();
}

base::Status exchange_and_accept(
    boot::bootstrap& boot, std::string_view name, const base::StatusOr<std::string>& local,
    const std::function<base::Status(int rank, const std::string& value)>& accept) {
  return exchange_and_answer(boot, name, local, accept, [] { return std::string(); }).status();
}

base::StatusOr<std::vector<std::string>> exchange_and_answer(
    boot::bootstrap& boot, std::string_view name, const base::StatusOr<std::string>& local,
    const std::function<base::Status(int rank, const std::string& value)>& accept,
    const std::function<std::string()>& answer) {
  const auto all = exchange(boot, name, local);
  if (!all.ok()) return all.status();
  base::Status status;
  for (int r = 0; r < boot.size() && status.ok(); ++r) {
    status = accept(r, (*all)[static_cast<size_t>(r)]);
  }
  return exchange(boot, base::StrCat(name, "-accepted"),
                  status.ok() ? base::StatusOr<std::string>(answer()) : status);
}

base::Status check_for_loss(boot::bootstrap& boot) {
  const std::optional<int> lost = boot.first_lost();
  if (!lost) return base::OkStatus();
  return base::AbortedError(base::StrCat("rank ", *lost, " is lost"));
}

namespace {

// Waits for `key` in short waits that grow, so that many ranks do not keep the store busy.
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
      trouble = check_for_loss(boot);
    }
    if (!trouble.ok()) {
      // A rank that has all that it waited for may have ended by now.
      value = boot.get(key, boot::bootstrap::duration::zero());
      return value.ok() ? value : trouble;
    }
  }
}

}  // namespace

base::Status agree_while(boot::bootstrap& boot, std::string_view name, const base::Status& local,
                         const std::function<base::Status()>& meanwhile) {
  const std::string verdict = base::StrCat(name, "-all");
  base::Status status = local;
  if (boot.rank() != 0) {
    const base::Status sent =
        boot.put(base::StrCat(name, "-", boot.rank()), encode(without_value(local)));
    if (!local.ok()) return local;  // the cause
    if (!sent.ok()) return sent;
    return decode(get_while(boot, verdict, meanwhile), "").status();
  }
  for (int r = 1; r < boot.size() && status.ok(); ++r) {
    status = decode(get_while(boot, base::StrCat(name, "-", r), meanwhile),
                    base::StrCat("rank ", r, " "))
                 .status();
  }
  const base::Status sent = boot.put(verdict, encode(without_value(status)));
  return status.ok() ? sent : status;
}

}  // namespace lci::net
