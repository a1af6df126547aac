// The parts of a process that describe themselves when it is asked what it waits for.
#ifndef LCI_OBSERVE_SUBJECT_H_
#define LCI_OBSERVE_SUBJECT_H_

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "lci/observe/rank_report.h"

namespace lci::observe {

class subject {
 public:
  // Adds entries to the report. Called by the observer's thread while the process runs on: what
  // other threads change is read under their locks or from atomic variables. Does not call back
  // into the registry.
  virtual void describe(rank_report* report) = 0;
  // Once per second, by the same thread.
  virtual void tick() {}
  // A wait of the subject that has lasted for longer than `patience` and has not been returned
  // before. By the same thread.
  virtual std::optional<rank_report::wait> overdue(std::chrono::milliseconds) {
    return std::nullopt;
  }

 protected:
  ~subject() = default;
};

// Lists a subject for as long as the registration lives, as one of the rank that the calling thread
// works for. It is the last member of its class, so
// that the subject is whole whenever it is listed: construction and destruction wait for a report
// that is being made.
//
// Thread safety: registrations may be made and destroyed by any thread at any time.
class registration {
 public:
  explicit registration(subject* listed);
  ~registration();
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;

 private:
  subject* const listed_;
};

// Lists an object that is no subject itself, as a member of it, the last one. `T` has
// describe(rank_report*), as a subject, and may have tick() and overdue().
template <class T>
class listed final : private subject {
 public:
  explicit listed(T* of) : of_(of), registration_(this) {}

 private:
  void describe(rank_report* report) override { of_->describe(report); }
  void tick() override { tick_of(of_, 0); }
  std::optional<rank_report::wait> overdue(std::chrono::milliseconds patience) override {
    return overdue_of(of_, patience, 0);
  }

  template <class U>
  static auto tick_of(U* of, int) -> decltype(of->tick()) {
    return of->tick();
  }
  template <class U>
  static void tick_of(U*, long) {}

  template <class U>
  static auto overdue_of(U* of, std::chrono::milliseconds patience, int)
      -> decltype(of->overdue(patience)) {
    return of->overdue(patience);
  }
  template <class U>
  static std::optional<rank_report::wait> overdue_of(U*, std::chrono::milliseconds, long) {
    return std::nullopt;
  }

  T* const of_;
  const registration registration_;
};

// Lets every listed subject of the calling thread's rank (rank_scope.h) describe itself, in the
// order of registration.
void describe_all(rank_report* report);
void tick_all();  // the same subjects
// The first overdue wait of the same subjects; nullopt: there is none.
std::optional<rank_report::wait> overdue_wait(std::chrono::milliseconds patience);

// Appends an entry, or counts it as left out if the list is full.
template <class Entry>
void add_entry(rank_report* report, std::vector<Entry>* list, Entry entry) {
  if (list->size() < rank_report::most_entries) {
    list->push_back(std::move(entry));
  } else {
    ++report->left_out;
  }
}

// Appends a message, or counts it with those that differ from it only in their age.
void add_message(rank_report* report, const rank_report::message& added);

}  // namespace lci::observe

#endif  // LCI_OBSERVE_SUBJECT_H_
