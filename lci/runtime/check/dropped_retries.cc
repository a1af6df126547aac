#include "lci/runtime/check/dropped_retries.h"

#include <algorithm>

namespace lci::rt {

void dropped_retries::retried(const posted_operation& posted, int64_t thread) {
  std::vector<open_post>& same = open_[key_of(posted)];
  for (const open_post& each : same) {
    if (each.thread == thread) return;
  }
  same.push_back({posted, thread, next_number_++, observe::call_stack::here()});
}

void dropped_retries::accepted(const posted_operation& posted, int64_t thread) {
  const auto found = open_.find(key_of(posted));
  if (found == open_.end()) return;
  std::vector<open_post>& same = found->second;
  auto ended = std::find_if(same.begin(), same.end(),
                            [thread](const open_post& each) { return each.thread == thread; });
  if (ended == same.end()) ended = same.begin();
  same.erase(ended);
  if (same.empty()) open_.erase(found);
}

dropped_retries::dropped dropped_retries::take(const void* runtime) {
  dropped taken;
  uint64_t number_of_first = ~uint64_t{0};
  for (auto each = open_.begin(); each != open_.end();) {
    if (std::get<0>(each->first) != runtime) {
      ++each;
      continue;
    }
    for (const open_post& one : each->second) {
      ++taken.posts;
      if (one.number > number_of_first) continue;
      number_of_first = one.number;
      taken.first = one.posted;
      taken.thread = one.thread;
      taken.stack = one.stack;
    }
    each = open_.erase(each);
  }
  return taken;
}

}  // namespace lci::rt
