// What an 8 B active message costs, for callgrind to count: one rank sends to itself, through the
// network, so that all there is to count is in one process. `run` starts it and says what it means.
//   self_send BURST ROUNDS
// Three phases of ROUNDS rounds. A round posts BURST messages, waits until whatever is between the
// ranks has done its work, polls until they have arrived, and polls once more. What is counted is
// the part that goes through a function called counted_..., another in each phase.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "lci.hpp"

namespace {

int64_t arrived = 0;  // there is one thread

struct state {
  int burst;
  lci::rcomp_t rcomp;
  uint64_t payload = 1;
};

void post(state& s) {
  for (int i = 0; i < s.burst; ++i) {
    if (lci::post_am(0, &s.payload, sizeof(s.payload), lci::COMP_NULL, s.rcomp).is_retry()) {
      throw std::runtime_error("no room for a burst");
    }
  }
}

void receive(state& s) {
  const int64_t all = arrived + s.burst;
  while (arrived < all) lci::progress();
}

void poll_idle(state&) { lci::progress(); }

}  // namespace

// Known to callgrind by their names.
extern "C" {
__attribute__((noinline)) void counted_post(void* s) { post(*static_cast<state*>(s)); }
__attribute__((noinline)) void counted_receive(void* s) { receive(*static_cast<state*>(s)); }
__attribute__((noinline)) void counted_poll(void* s) { poll_idle(*static_cast<state*>(s)); }
__attribute__((noinline)) void phase_over(void*) { asm volatile("" ::: "memory"); }
}

namespace {

// More than a network that another processor emulates needs for a burst.
constexpr useconds_t pause_us = 3000;

enum class phase { warm_up, post, receive, poll };

void run_phase(state& s, phase which, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    which == phase::post ? counted_post(&s) : post(s);
    usleep(pause_us);
    which == phase::receive ? counted_receive(&s) : receive(s);
    // What came behind the messages, such as the completions of their sends, is no idle poll.
    if (which == phase::poll) {
      usleep(pause_us);
      for (int more = 0; more < 8; ++more) poll_idle(s);
      counted_poll(&s);
    }
  }
  phase_over(&s);
}

int run(int burst, int rounds) {
  lci::g_runtime_init();
  lci::comp_t handler = lci::alloc_handler_x([](lci::status_t) { ++arrived; }).lend_am(true)();
  state s;
  s.burst = burst;
  s.rcomp = lci::register_rcomp(handler);
  lci::barrier();
  for (const phase which : {phase::warm_up, phase::post, phase::receive, phase::poll}) {
    run_phase(s, which, rounds);
  }
  lci::barrier();
  lci::free_comp(&handler);
  lci::g_runtime_fina();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int burst = argc == 3 ? std::atoi(argv[1]) : 0;
  const int rounds = argc == 3 ? std::atoi(argv[2]) : 0;
  if (burst < 1 || rounds < 1) {
    std::fprintf(stderr, "usage: self_send BURST ROUNDS\n");
    return 2;
  }
  try {
    return run(burst, rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "self_send: %s\n", error.what());
    return 1;
  }
}
