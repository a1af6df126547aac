#include "lci/boot/bootstrap.h"

#include <poll.h>

#include <algorithm>

#include "lci/base/strings.h"
#include "lci/io/deadline.h"

namespace lci::boot {

bool sleep_until_readable(int descriptor, bootstrap::duration timeout) {
  pollfd readable = {descriptor, POLLIN, 0};
  return ::poll(&readable, 1, io::poll_milliseconds(io::deadline_after(timeout))) > 0;
}

base::StatusOr<std::string> bootstrap::watch(std::string_view key, int wake, duration timeout) {
  constexpr duration pause{500};
  const io::steady::time_point deadline = io::deadline_after(timeout);
  for (;;) {
    base::StatusOr<std::string> value = get(key, duration(0));
    if (value.ok() || !base::IsDeadlineExceeded(value.status())) return value;
    const auto left = std::chrono::duration_cast<duration>(deadline - io::steady::now());
    if (left.count() <= 0 || sleep_until_readable(wake, std::min(left, pause))) return value;
  }
}

std::optional<int> bootstrap::first_lost() {
  const base::StatusOr<std::string> known = get(lost_key, duration(0));
  int rank = 0;
  if (!known.ok() || !base::SimpleAtoi(*known, &rank)) return std::nullopt;
  return rank;
}

void bootstrap::report_lost(int rank) {
  // Somebody may have been faster, or the job may have ended.
  static_cast<void>(put(lost_key, base::StrCat(rank)));
}

}  // namespace lci::boot
