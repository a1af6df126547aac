#include "lci/runtime/completion/signal.h"

#include <new>
#include <stdexcept>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/runtime/core/rank_state.h"
#include "lci/runtime/core/throw.h"

namespace lci::rt {

// Memory.

counter_memory::~counter_memory() {
  for (const auto& each : pages_) network_.free_memory(each->memory);
}

counter_memory::place counter_memory::get() {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (pages_.empty() || pages_.back()->used == page_size / spacing) {
    const auto made = network_.allocate_memory(page_size);
    if (!made.ok()) {
      LCI_LOG(warn, "a signal is out of its peers' reach: ", made.status().ToString());
      return place();
    }
    pages_.push_back(std::make_unique<page>());
    pages_.back()->memory = *made;
  }
  page& from = *pages_.back();
  place allocated;
  allocated.offset = spacing * from.used++;
  ++from.alive;
  allocated.word =
      new (static_cast<char*>(from.memory.address) + allocated.offset) event_counter::word(0);
  allocated.region = network_.remote_key(from.memory.region);
  allocated.page = &from;
  return allocated;
}

void counter_memory::put(const place& freed) {
  const std::lock_guard<std::mutex> guard(mutex_);
  auto* const of = static_cast<page*>(freed.page);
  if (--of->alive != 0) return;
  network_.free_memory(of->memory);
  for (auto each = pages_.begin(); each != pages_.end(); ++each) {
    if (each->get() != of) continue;
    pages_.erase(each);
    return;
  }
}

// Signals.

event_signal::event_signal(const comp_attr_t& attributes, rank_state& state, counter_memory* shared)
    : library_comp(attributes),
      state_(state),
      shared_(shared),
      place_(shared == nullptr ? counter_memory::place() : shared->get()),
      counter_(place_.word == nullptr ? &own_ : place_.word, attributes.signal_num_event,
               attributes.signal_nbits_event),
      number_(state.add_signal(this)) {}

event_signal::~event_signal() {
  state_.remove_signal(number_);
  if (place_.word != nullptr) shared_->put(place_);
}

void event_signal::signal(status_t status) {
  if (__builtin_expect(status.error.errorcode == errorcode_t::fatal, 0)) {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (!failed_) failed_rank_ = status.rank;
      failed_ = true;
    }
    counter_.spoil();
    return;
  }
  counter_.add(0);
}

void event_signal::reset() {
  if (__builtin_expect(counter_.reset(), 1)) return;
  report(counter_.get(), "signal_reset");
}

std::string event_signal::describe() const {
  const int64_t value = counter_.get();
  const int64_t events = counter_.missing_events(value);
  const int64_t parts = counter_.missing_parts(value);
  std::string text = base::StrCat("signal \"", attr.name, "\" of rank ", state_.rank(), ": ");
  if (events < 0) {
    base::StrAppend(&text, "of ", counter_.num_event(), " events promised ",
                    counter_.num_event() - events, " have come");
  } else {
    base::StrAppend(&text, events, " of ", counter_.num_event(), " events ",
                    events == 1 ? "is" : "are", " missing");
  }
  if (parts > 0) base::StrAppend(&text, ", and ", parts, " parts of messages");
  if (parts < 0) {
    base::StrAppend(&text, ", and ", -parts, " parts have come of messages whose first one is not");
  }
  return text;
}

void event_signal::report(int64_t value, const char* call) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (failed_) {
    const std::string what =
        base::StrCat("lci: ", call, ": signal \"", attr.name, "\" of rank ", state_.rank(),
                     ": an operation with rank ", failed_rank_, " has failed");
    if (failed_rank_ >= 0 && state_.has_failed(failed_rank_)) {
      throw peer_failure_error(failed_rank_, what + ", which is gone");
    }
    throw std::runtime_error(what + "; the log of that rank or of this one says why");
  }
  throw_logic_error(call, ": ", describe(),
                    counter_.is_bad(value)
                        ? "; some were meant for a later round, or for another signal"
                        : "; a signal is reset when all have come");
}

}  // namespace lci::rt
