// Sequential specifications of the structures of lci/ds.
#ifndef LCI_TESTING_LINEARIZABILITY_SPECIFICATIONS_H_
#define LCI_TESTING_LINEARIZABILITY_SPECIFICATIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lci/base/strings.h"

namespace lci::ds::explorer {

// A push or a pop of a queue or a pool of numbers.
struct transfer {
  enum class kind { push, pop };
  kind what = kind::push;
  bool done = true;    // false: refused because full, or empty
  uint64_t value = 0;  // the value pushed, or popped if done

  static transfer push(uint64_t value, bool done = true) { return {kind::push, done, value}; }
  static transfer pop(uint64_t value) { return {kind::pop, true, value}; }
  static transfer pop_nothing() { return {kind::pop, false, 0}; }
  bool is_push() const { return what == kind::push; }
  bool is_refused_pop() const { return !is_push() && !done; }
};

inline std::string text_of(const transfer& t) {
  if (t.is_push()) return base::StrCat("push ", t.value, t.done ? "" : ": full");
  return t.done ? base::StrCat("pop: ", t.value) : "pop: nothing";
}

// First in, first out; at most `capacity` values.
class queue_specification {
 public:
  using operation = transfer;
  static constexpr size_t unbounded = SIZE_MAX;

  explicit queue_specification(size_t capacity = unbounded) : capacity_(capacity) {}

  bool apply(const transfer& t) {
    if (t.is_push()) {
      if (t.done != (values_.size() < capacity_)) return false;
      if (t.done) values_.push_back(t.value);
      return true;
    }
    if (!t.done) return values_.empty();
    if (values_.empty() || values_.front() != t.value) return false;
    values_.erase(values_.begin());
    return true;
  }
  void append_state(std::vector<uint64_t>* words) const {
    words->insert(words->end(), values_.begin(), values_.end());
  }
  static std::string text(const transfer& t) { return text_of(t); }

 private:
  size_t capacity_;
  std::vector<uint64_t> values_;  // oldest first
};

// A pool, without an order. A pop may find nothing at any time: a pool may overlook elements that
// other threads hold.
class pool_specification {
 public:
  using operation = transfer;

  bool apply(const transfer& t) {
    if (!t.done) return !t.is_push();
    const auto at = std::lower_bound(values_.begin(), values_.end(), t.value);
    if (t.is_push()) {
      values_.insert(at, t.value);
      return true;
    }
    if (at == values_.end() || *at != t.value) return false;
    values_.erase(at);
    return true;
  }
  void append_state(std::vector<uint64_t>* words) const {
    words->insert(words->end(), values_.begin(), values_.end());
  }
  static std::string text(const transfer& t) { return text_of(t); }

 private:
  std::vector<uint64_t> values_;  // sorted
};

// An insertion into a matching structure. For check_each_linearizable: each key is independent.
struct insertion {
  uint64_t key = 0;
  bool is_send = false;
  uint64_t value = 0;    // not 0
  uint64_t matched = 0;  // 0: none, it waits
};

// The entries with one key: an insertion matches the oldest entry of the other type.
class matching_specification {
 public:
  using operation = insertion;

  bool apply(const insertion& i) {
    // Entries of different types never wait together.
    const bool matches = !waiting_.empty() && waiting_sends_ != i.is_send;
    if (!matches) {
      if (i.matched != 0) return false;
      waiting_sends_ = i.is_send;
      waiting_.push_back(i.value);
      return true;
    }
    if (i.matched != waiting_.front()) return false;
    waiting_.erase(waiting_.begin());
    return true;
  }
  void append_state(std::vector<uint64_t>* words) const {
    words->push_back(waiting_.empty() ? 2 : waiting_sends_);
    words->insert(words->end(), waiting_.begin(), waiting_.end());
  }
  static std::string text(const insertion& i) {
    return base::StrCat("insert ", i.is_send ? "send " : "recv ", i.value, " with key ", i.key,
                        i.matched == 0 ? ": waits" : base::StrCat(": matches ", i.matched));
  }

 private:
  bool waiting_sends_ = false;
  std::vector<uint64_t> waiting_;  // oldest first
};

// A read or a write of one element of an array. For check_each_linearizable.
struct access {
  uint64_t place = 0;
  bool is_write = false;
  uint64_t value = 0;
};

class register_specification {
 public:
  using operation = access;

  bool apply(const access& a) {
    if (a.is_write) value_ = a.value;
    return a.value == value_;
  }
  void append_state(std::vector<uint64_t>* words) const { words->push_back(value_); }
  static std::string text(const access& a) {
    return base::StrCat(a.is_write ? "set [" : "get [", a.place, "]", a.is_write ? " = " : ": ",
                        a.value);
  }

 private:
  uint64_t value_ = 0;
};

// A table of tickets: each is issued once, and taken at most once. Tickets are identified by
// number, so a ticket that is issued a second time must not be mistaken for the first.
struct ticket_call {
  bool is_insert = false;
  uint64_t ticket = 0;
  uint64_t value = 0;  // 0 from a take: the ticket was not valid
};

class ticket_specification {
 public:
  using operation = ticket_call;

  bool apply(const ticket_call& c) {
    const auto at = std::find_if(entries_.begin(), entries_.end(), [&c](const ticket_call& entry) {
      return entry.ticket == c.ticket;
    });
    if (c.is_insert) {
      if (at != entries_.end()) return false;
      entries_.push_back(c);
      std::sort(entries_.begin(), entries_.end(),
                [](const auto& a, const auto& b) { return a.ticket < b.ticket; });
      return true;
    }
    if (at == entries_.end()) return c.value == 0;
    if (at->value != c.value) return false;
    entries_.erase(at);
    return true;
  }
  void append_state(std::vector<uint64_t>* words) const {
    for (const ticket_call& entry : entries_) {
      words->push_back(entry.ticket);
      words->push_back(entry.value);
    }
  }
  static std::string text(const ticket_call& c) {
    if (c.is_insert) return base::StrCat("insert ", c.value, ": ticket ", c.ticket);
    return base::StrCat("take ticket ", c.ticket, ": ", c.value);
  }

 private:
  std::vector<ticket_call> entries_;  // by ticket
};

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_LINEARIZABILITY_SPECIFICATIONS_H_
