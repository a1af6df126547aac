#include "lci/testing/explorer/scheduler.h"

#include <exception>
#include <utility>

#include "lci/base/check.h"
#include "lci/base/strings.h"

namespace lci::ds::explorer {
namespace {

thread_local scheduler* active_scheduler = nullptr;

// If all threads wait and have checked again this many times without a change, they wait for ever.
// More checks than in any bounded wait of the structures.
constexpr size_t rounds_in_vain = 64;

// Keeps a fiber that stopped in the middle of a failed run. It cannot be unwound, as it may be in a
// destructor, and objects that its stack owns must not be reported as leaks.
void abandon(std::unique_ptr<fiber> stopped) {
  static auto& all = *new std::vector<std::unique_ptr<fiber>>;
  all.push_back(std::move(stopped));
}

}  // namespace

scheduler* scheduler::active() { return active_scheduler; }

scheduler::scheduler(choices& from, size_t most_steps) : choices_(from), most_steps_(most_steps) {
  LCI_CHECK(active_scheduler == nullptr, "a run within a run");
  active_scheduler = this;
}

scheduler::~scheduler() { active_scheduler = nullptr; }

void scheduler::fail(const std::string& what) {
  if (failure_.empty()) failure_ = what;
}

void scheduler::run(const std::vector<std::function<void()>>& bodies) {
  LCI_CHECK(!bodies.empty() && bodies.size() <= max_threads, bodies.size(), " threads");
  threads_.resize(bodies.size());
  for (size_t i = 0; i < bodies.size(); ++i) {
    known_[i + 1] = known_[0];
    threads_[i].runs = std::make_unique<fiber>([this, of = bodies[i]] { body(of); });
  }
  next_ = threads_.size() == 1 ? 1 : 1 + choices_.choose(choice_kind::next, threads_.size());
  while (next_ != 0) {
    self_ = next_;
    threads_[self_ - 1].runs->resume();
  }
  self_ = 0;
  for (const knowledge& known : known_) known_[0].join(known);
  for (thread_record& t : threads_) {
    if (t.state != thread_state::finished) abandon(std::move(t.runs));
  }
  threads_.clear();
}

void scheduler::body(const std::function<void()>& of) {
  try {
    of();
  } catch (const std::exception& error) {
    fail(base::StrCat("thread ", self_, " threw: ", error.what()));
  }
  threads_[self_ - 1].state = thread_state::finished;
  give_way(true);
}

// Sets next_, and pauses the thread if next_ is another thread. `must`: this thread cannot
// continue.
void scheduler::give_way(bool must) {
  std::array<size_t, max_threads> others{};
  size_t count = 0;
  const auto collect = [&](thread_state wanted) {
    for (size_t i = 0; i < threads_.size(); ++i) {
      if (i + 1 != self_ && threads_[i].state == wanted) others[count++] = i + 1;
    }
  };
  collect(thread_state::ready);
  const thread_state now = threads_[self_ - 1].state;
  const bool ended = now == thread_state::finished || now == thread_state::stopped;
  if (must && count == 0) {
    // Waiting threads check again: the values that they saw may have been old.
    collect(thread_state::waiting);
    if (!ended) others[count++] = self_;
    for (thread_record& t : threads_) {
      if (t.state == thread_state::waiting) t.state = thread_state::ready;
    }
    if (count > 0 && ++waits_in_vain_ > rounds_in_vain * threads_.size()) {
      fail("no thread can continue: all wait for one another");
    }
  }
  if (!failure_.empty()) {
    next_ = 0;
  } else if (must) {
    next_ = count == 0 ? 0 : others[0];
    if (count > 1) next_ = others[choices_.choose(choice_kind::next, count)];
  } else {
    next_ = self_;
    if (count > 0) {
      const size_t chosen = choices_.choose(choice_kind::preempt, count + 1);
      if (chosen > 0) next_ = others[chosen - 1];
    }
  }
  // A thread that has finished returns.
  if (now != thread_state::finished && next_ != self_) threads_[self_ - 1].runs->pause();
}

void scheduler::step() {
  // Destructors that run for an exception are one step: the language keeps one list of exceptions
  // for all fibers.
  if (self_ == 0 || std::uncaught_exceptions() > 0) return;
  take_step();
  if (steps_ > most_steps_) {
    fail(base::StrCat("not finished after ", most_steps_, " steps"));
  }
  give_way(false);
}

void scheduler::take_step() {
  ++steps_;
  thread_record& running = threads_[self_ - 1];
  if (running.steps_left == 0) {
    running.state = thread_state::stopped;
    give_way(true);  // for ever
  }
  if (running.steps_left != SIZE_MAX) --running.steps_left;
}

void scheduler::wait() {
  if (self_ == 0 || std::uncaught_exceptions() > 0) return;
  take_step();
  threads_[self_ - 1].state = thread_state::waiting;
  give_way(true);
}

void scheduler::changed() {
  waits_in_vain_ = 0;
  for (thread_record& t : threads_) {
    if (t.state == thread_state::waiting) t.state = thread_state::ready;
  }
}

size_t scheduler::choose_value(size_t count) {
  if (self_ == 0 || count < 2 || waits_in_vain_ > 0) return 0;
  return choices_.choose(choice_kind::read, count);
}

void scheduler::see_barriers() {
  known().visible.join(shown_[self_]);
  at_light_barrier_[self_] = known().visible;
}

void scheduler::light_barrier() {
  step();
  see_barriers();
}

void scheduler::process_barrier() {
  light_barrier();
  const vector_clock shown = known().visible;
  vector_clock seen;
  std::array<size_t, max_threads> others{};
  size_t left = 0;
  for (size_t t = 1; t <= threads_.size(); ++t) {
    if (t != self_) others[left++] = t;
  }
  while (left > 0) {
    step();
    const size_t chosen = left == 1 ? 0 : choices_.choose(choice_kind::next, left);
    shown_[others[chosen]].join(shown);
    seen.join(at_light_barrier_[others[chosen]]);
    others[chosen] = others[--left];
  }
  known().visible.join(seen);
  see_barriers();
}

void scheduler::check_life(const void* atomic) {
  if (ended_.count(atomic) == 0) return;
  fail(base::StrCat("use after end: thread ", self_, " uses an atomic that has been destroyed"));
  step();  // for ever
}

template <class Use>
void scheduler::for_each_granule(const void* address, size_t size, const Use& use) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t at = begin / 8; at <= (begin + size - 1) / 8; ++at) use(plain_[at]);
}

void scheduler::plain_read(const void* address, size_t size) {
  tick();
  for_each_granule(address, size, [this](granule& g) {
    if (!knows(g.writer, g.write)) {
      fail(base::StrCat("data race: thread ", self_, " reads what thread ", g.writer,
                        " wrote, with no order between them"));
    }
    g.reads.of[self_] = known().happened.of[self_];
  });
}

void scheduler::plain_write(const void* address, size_t size) {
  tick();
  for_each_granule(address, size, [this](granule& g) {
    size_t other = knows(g.writer, g.write) ? self_ : g.writer;
    for (size_t i = 0; i < g.reads.of.size(); ++i) {
      if (!knows(i, g.reads.of[i])) other = i;
    }
    if (other != self_) {
      fail(base::StrCat("data race: thread ", self_, " writes what thread ", other,
                        " reads or writes, with no order between them"));
    }
    g = granule();
    g.writer = self_;
    g.write = known().happened.of[self_];
  });
}

}  // namespace lci::ds::explorer
