#include "lci/runtime/protocol/backlog.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>

#include "lci/observe/clock.h"
#include "lci/observe/event.h"
#include "lci/observe/subject.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/protocol/host.h"

namespace lci::rt {

void backlog::push(const net::op& operation, continuation* then, error_t answer) {
  pushed_.fetch_add(1, std::memory_order_relaxed);
  append(operation, then, answer.errorcode, observe::coarse_clock::seconds());
}

void backlog::append(const net::op& operation, continuation* then, errorcode_t answer,
                     uint32_t since) {
  entry waiting{operation, {}, then, answer, since};
  if (operation.header_size > 0) {
    std::memcpy(waiting.header, operation.header, operation.header_size);
  }
  {
    const std::lock_guard<ds::spinlock> guard(lock_);
    if (operations_ == entries_.size()) grow();
    entries_[(first_ + operations_) % entries_.size()] = waiting;
    ++operations_;
    count(1);
  }
  wake();
}

void backlog::push(postponed* conversation, side of) {
  {
    const std::lock_guard<ds::spinlock> guard(lock_);
    conversations_[static_cast<size_t>(of)].push_back(conversation);
    count(1);
  }
  wake();
}

void backlog::wake() {
  if (sleeper_ != nullptr) sleeper_->wake();
}

void backlog::grow() {
  base::aligned_vector<entry> larger(entries_.empty() ? 16 : 2 * entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    larger[i] = entries_[(first_ + i) % entries_.size()];
  }
  entries_.swap(larger);
  first_ = 0;
}

bool backlog::pop(entry* out) {
  const std::lock_guard<ds::spinlock> guard(lock_);
  if (operations_ == 0) return false;
  *out = entries_[first_];
  first_ = (first_ + 1) % entries_.size();
  --operations_;
  count(static_cast<size_t>(-1));
  return true;
}

bool backlog::drain(protocol_host& host) {
  bool moved = false;
  entry waiting;
  // The lock is not held while posting: a continuation may push.
  for (int i = 0; i < max_posts_per_drain && pop(&waiting); ++i) {
    waiting.operation.header = waiting.header;
    if (__builtin_expect(host.state.checks() != nullptr, 0)) {
      host.state.checks()->check_before_sending(waiting.operation.buffer, waiting.operation.size);
    }
    const error_t result = host.try_submit(waiting.operation, waiting.then);
    if (result.is_retry()) {
      append(waiting.operation, waiting.then, result.errorcode, waiting.since);
    } else {
      moved = true;
    }
  }
  for (const side each : {side::receiver, side::sender}) {
    if (begin_conversations(host, each)) moved = true;
  }
  return moved;
}

bool backlog::begin_conversations(protocol_host& host, side of) {
  std::deque<postponed*>& waiting = conversations_[static_cast<size_t>(of)];
  for (int i = 0; i < max_posts_per_drain; ++i) {
    postponed* first;
    {
      const std::lock_guard<ds::spinlock> guard(lock_);
      if (waiting.empty()) return i > 0;
      first = waiting.front();
      waiting.pop_front();
    }
    // It is counted until it has begun, so that the device does not look idle meanwhile.
    const bool begun = first->try_begin(host);
    const std::lock_guard<ds::spinlock> guard(lock_);
    if (!begun) {
      waiting.push_front(first);
      return i > 0;
    }
    count(static_cast<size_t>(-1));
  }
  return true;
}

namespace {
std::string_view name_of(net::op_kind kind) {
  using observe::wire_form;
  static constexpr wire_form forms[] = {wire_form::tagged, wire_form::put, wire_form::put_notify,
                                        wire_form::get};
  static_assert(std::size(forms) == static_cast<size_t>(net::op_kind::get) + 1);
  return observe::name_of(forms[static_cast<size_t>(kind)]);
}
}  // namespace

void backlog::describe(observe::rank_report* report, uint64_t device) {
  entry first[most_described];
  size_t count = 0;
  {
    const std::lock_guard<ds::spinlock> guard(lock_);
    for (; count < std::min(operations_, most_described); ++count) {
      first[count] = entries_[(first_ + count) % entries_.size()];
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const net::op& operation = first[i].operation;
    add_entry(report, &report->waiting,
              observe::rank_report::backlogged{
                  device, std::string(name_of(operation.kind)), operation.rank,
                  operation.header_size + operation.size, get_errorcode_str(first[i].answer),
                  observe::coarse_clock::seconds() - first[i].since});
  }
}

}  // namespace lci::rt
