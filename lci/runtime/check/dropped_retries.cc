#include "lci/runtime/check/dropped_retries.h"

namespace lci::rt {

void dropped_retries::retried(const posted_operation& posted, int64_t thread) {
  const key arguments = key_of(posted);
  if (open_.count(arguments) > 0) return;
  open_[arguments] = {posted, thread, next_number_++, observe::call_stack::here()};
}

dropped_retries::dropped dropped_retries::take(const void* runtime) {
  dropped taken;
  uint64_t number_of_first = ~uint64_t{0};
  for (auto each = open_.begin(); each != open_.end();) {
    if (std::get<0>(each->first) != runtime) {
      ++each;
      continue;
    }
    const open_post& one = each->second;
    ++taken.posts;
    if (one.number < number_of_first) {
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
