#include "lci/io/connection_race.h"

#include <errno.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "lci/base/strings.h"
#include "lci/io/socket.h"

namespace lci::io {

connection_race::connection_race(std::vector<std::string> addresses,
                                 std::chrono::milliseconds stagger)
    : addresses_(std::move(addresses)), stagger_(stagger) {}

std::optional<connection_race::finish> connection_race::next(steady::time_point deadline) {
  for (;;) {
    const steady::time_point now = steady::now();
    const bool is_over = now >= deadline;
    if (begun_ < addresses_.size() && (runners_.empty() || is_over || now >= next_begin_)) {
      const size_t address = begun_++;
      next_begin_ = now + stagger_;
      if (const base::Status begun = begin(address); !begun.ok()) return fail(address, begun);
      continue;
    }
    if (runners_.empty()) return std::nullopt;
    const bool has_more = begun_ < addresses_.size();
    const size_t answered = wait(has_more ? std::min(deadline, next_begin_) : deadline);
    if (answered < runners_.size()) {
      if (std::optional<finish> ended = take(answered)) return ended;
    } else if (is_over) {
      const size_t address = runners_[0].address;
      return end(address, base::DeadlineExceededError(
                              base::StrCat("nobody answers at ", addresses_[address])));
    }
  }
}

base::Status connection_race::begin(size_t address) {
  base::StatusOr<std::vector<unique_fd>> sockets = begin_connecting(addresses_[address]);
  if (!sockets.ok()) return sockets.status();
  for (unique_fd& socket : *sockets) runners_.push_back({address, std::move(socket)});
  return base::OkStatus();
}

size_t connection_race::wait(steady::time_point until) const {
  std::vector<pollfd> waits;
  waits.reserve(runners_.size());
  for (const runner& each : runners_) waits.push_back({each.socket.get(), POLLOUT, 0});
  while (poll(waits.data(), waits.size(), poll_milliseconds(until)) < 0 && errno == EINTR) {
  }
  const auto answered =
      std::find_if(waits.begin(), waits.end(), [](const pollfd& one) { return one.revents != 0; });
  return static_cast<size_t>(answered - waits.begin());
}

// Returns the end of the attempt, if this runner decides it.
std::optional<connection_race::finish> connection_race::take(size_t answered) {
  const size_t address = runners_[answered].address;
  unique_fd socket = std::move(runners_[answered].socket);
  runners_.erase(runners_.begin() + static_cast<std::ptrdiff_t>(answered));
  const base::Status result = connect_result(socket.get());
  if (result.ok()) return end(address, std::move(socket));
  const bool has_another =
      std::any_of(runners_.begin(), runners_.end(),
                  [address](const runner& one) { return one.address == address; });
  if (has_another) return std::nullopt;
  return fail(address, result);
}

connection_race::finish connection_race::fail(size_t address, const base::Status& why) {
  if (base::IsInvalidArgument(why)) return end(address, why);
  return end(address,
             base::WithPrefix(base::StrCat("cannot connect to ", addresses_[address], ": "), why));
}

connection_race::finish connection_race::end(size_t address, base::StatusOr<unique_fd> socket) {
  runners_.erase(std::remove_if(runners_.begin(), runners_.end(),
                                [address](const runner& one) { return one.address == address; }),
                 runners_.end());
  return {addresses_[address], std::move(socket)};
}

}  // namespace lci::io
