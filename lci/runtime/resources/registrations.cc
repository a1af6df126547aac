#include "lci/runtime/resources/registrations.h"

#include <algorithm>
#include <utility>

namespace lci::rt {
namespace {

// Registrations that begin before a buffer and end in it are passed over; not more than these.
constexpr int max_steps = 16;

}  // namespace

registrations::~registrations() {
  while (!idle_.empty()) drop_oldest();
}

registrations::known* registrations::find(uintptr_t address, size_t size) {
  auto at = known_.upper_bound(address);
  for (int step = 0; step < max_steps && at != known_.begin(); ++step) {
    --at;
    known& candidate = at->second;
    const uintptr_t before = address - at->first;
    if (before > largest_) return nullptr;
    if (!candidate.hidden && before <= candidate.size && size <= candidate.size - before) {
      return &candidate;
    }
  }
  return nullptr;
}

registrations::known& registrations::insert(uintptr_t address, size_t size,
                                            net::local_region local) {
  const auto made = known_.emplace(address, known{});
  known& added = made->second;
  added.local = local;
  added.size = size;
  added.self = made;
  added.idle = idle_.end();
  if (size > largest_) largest_ = size;
  return added;
}

void registrations::use_again(known& kept) {
  if (kept.idle == idle_.end()) return;
  idle_.erase(kept.idle);
  kept.idle = idle_.end();
  --counts_.kept;
  counts_.kept_bytes -= kept.size;
}

void registrations::drop(known& gone) {
  use_again(gone);
  if (!gone.of_program) network_.deregister_memory(gone.local);
  known_.erase(gone.self);
}

void registrations::drop_oldest() { drop(*idle_.front()); }

base::StatusOr<registrations::use> registrations::acquire(void* address, size_t size) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard<std::mutex> guard(mutex_);
  known* found = find(first, size);
  if (found != nullptr) {
    ++counts_.found;
  } else {
    base::StatusOr<net::local_region> made = network_.register_memory(address, size);
    while (!made.ok() && !idle_.empty()) {
      drop_oldest();
      made = network_.register_memory(address, size);
    }
    if (!made.ok()) return made.status();
    ++counts_.made;
    found = &insert(first, size, *made);
  }
  use_again(*found);
  ++found->uses;
  use result;
  result.local = found->local;
  result.offset = first - found->self->first;
  result.found = found;
  return result;
}

void registrations::release(const use& finished, bool keep) {
  std::function<void()> close;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    known& used = *finished.found;
    if (--used.uses > 0) return;
    if (used.of_program) {
      if (!used.hidden) return;
      close = std::move(used.close);
      drop(used);
    } else if (!keep || used.hidden || used.size > max_kept_bytes) {
      drop(used);
    } else {
      used.idle = idle_.insert(idle_.end(), &used);
      ++counts_.kept;
      counts_.kept_bytes += used.size;
      while (counts_.kept > max_kept || counts_.kept_bytes > max_kept_bytes) drop_oldest();
    }
  }
  if (close) close();
}

void registrations::add(net::local_region local, void* address, size_t size) {
  const std::lock_guard<std::mutex> guard(mutex_);
  insert(reinterpret_cast<uintptr_t>(address), size, local).of_program = true;
}

void registrations::remove(net::local_region local, void* address, std::function<void()> close) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    auto removed = known_.lower_bound(first);
    while (!removed->second.of_program || removed->second.local.handle != local.handle) ++removed;
    const uintptr_t end = first + removed->second.size;
    for (auto at = known_.lower_bound(first - std::min<uintptr_t>(first, largest_));
         at != known_.end() && at->first < end;) {
      known& kept = (at++)->second;
      if (kept.of_program || kept.self->first + kept.size <= first) continue;
      if (kept.uses == 0) {
        drop(kept);
      } else {
        kept.hidden = true;
      }
    }
    known& closing = removed->second;
    if (closing.uses > 0) {
      closing.hidden = true;
      closing.close = std::move(close);
      return;
    }
    drop(closing);
  }
  close();
}

registrations::counts registrations::count() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return counts_;
}

}  // namespace lci::rt
