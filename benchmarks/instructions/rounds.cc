// Exchanges 8 B messages, whose instructions callgrind counts: `run` starts it and says what the
// counts mean.
//   rounds OPERATION BURST ROUNDS PAUSE    two ranks, rank 1's stdout piped to rank 0's stdin
// OPERATION: am: an active message for a handler; put: an 8 B put that signals a handler of the
// target, and names its registration as clients do; send: a send, whose receive is posted before
// and completes in a queue. PAUSE: in milliseconds.
//
// Phases of ROUNDS rounds, behind one to warm up, which has more: a thread executes no locked
// instructions only after it has used a device alone for some time. In a round rank 0 posts BURST
// messages to rank 1, which posts as many back as soon as it has them and says so through the pipe.
// Then rank 0 waits for PAUSE, so that they must be there, and polls until it has them. The phases
// counted are the part of rank 0 that goes through a function called counted_..., another in each
// phase. Rank 0 prints how many polls a round took.
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "lci.hpp"

namespace {

int64_t arrived = 0;  // there is one thread

enum class operation { am, put, send };

struct state {
  operation op;
  int burst;
  useconds_t pause_us;
  int peer;
  lci::rcomp_t rcomp;
  lci::comp_t received;           // completion queue of the receives
  std::vector<uint64_t> buffers;  // of the receives of a burst
  lci::mr_t mr;                   // of `payload`
  lci::rmr_t rmr;                 // of the peer's
  int64_t polls = 0;
  uint64_t payload = 1;
};

// Each in a function of its own, as programs have them.
[[gnu::noinline]] bool post_am(state& s) {
  return !lci::post_am(s.peer, &s.payload, sizeof(s.payload), lci::COMP_NULL, s.rcomp).is_retry();
}

[[gnu::noinline]] bool post_put(state& s) {
  return !lci::post_put_x(s.peer, &s.payload, sizeof(s.payload), lci::COMP_NULL, 0, s.rmr)
              .mr(s.mr)
              .remote_comp(s.rcomp)()
              .is_retry();
}

[[gnu::noinline]] bool post_send(state& s) {
  return !lci::post_send(s.peer, &s.payload, sizeof(s.payload), 1, lci::COMP_NULL_RETRY).is_retry();
}

[[gnu::noinline]] bool post_receive(state& s, uint64_t& buffer) {
  return lci::post_recv(s.peer, &buffer, sizeof(buffer), 1, s.received).is_posted();
}

void post(state& s) {
  for (int i = 0; i < s.burst; ++i) {
    const bool done = s.op == operation::am    ? post_am(s)
                      : s.op == operation::put ? post_put(s)
                                               : post_send(s);
    if (!done) throw std::runtime_error("no room for a burst");
  }
}

void post_receives(state& s) {
  for (uint64_t& buffer : s.buffers) {
    if (!post_receive(s, buffer)) throw std::runtime_error("a message was there too early");
  }
}

void progress(state& s) {
  lci::progress();
  if (s.op != operation::send) return;
  while (lci::cq_pop(s.received).is_done()) ++arrived;
}

}  // namespace

// Known to callgrind by their names.
extern "C" {
__attribute__((noinline)) void counted_post(void* s) { post(*static_cast<state*>(s)); }
__attribute__((noinline)) void counted_post_receives(void* s) {
  post_receives(*static_cast<state*>(s));
}
__attribute__((noinline)) void counted_receive(void* s) { progress(*static_cast<state*>(s)); }
__attribute__((noinline)) void counted_poll() {
  // As many as `run` divides by: a few polls look at more than the others.
  for (int polls = 0; polls < 16; ++polls) lci::progress();
}
__attribute__((noinline)) void counted_clock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
}
__attribute__((noinline)) void phase_over(void*) { asm volatile("" ::: "memory"); }
}

namespace {

// The clock: what a look at it costs there.
enum class phase { warm_up, post, receive, poll, clock };

// Rank 1 has answered. False if it has not for so long that it must wait for rank 0 to poll, which
// sends what gathers in a burst.
bool has_answered() {
  pollfd pipe = {STDIN_FILENO, POLLIN, 0};
  constexpr int patience_ms = 100;
  if (poll(&pipe, 1, patience_ms) <= 0) return false;
  char byte;
  if (read(STDIN_FILENO, &byte, 1) != 1) throw std::runtime_error("rank 1 has gone");
  return true;
}

void run_phase(state& s, phase which, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const int64_t all = arrived + s.burst;
    if (s.op == operation::send) {
      which == phase::receive ? counted_post_receives(&s) : post_receives(s);
    }
    which == phase::post ? counted_post(&s) : post(s);
    bool answered = false;
    while (arrived < all) {
      if (!answered) answered = has_answered();
      if (answered) usleep(s.pause_us);
      if (which == phase::receive) {
        counted_receive(&s);
      } else {
        progress(s);
      }
      ++s.polls;
    }
    if (which == phase::poll) {
      // A poll that finds something behind the messages, such as completions of sends, is not idle.
      for (int more = 0; more < 8; ++more) lci::progress();
      counted_poll();
    }
    if (which == phase::clock) counted_clock();
    while (!answered) answered = has_answered();
  }
  phase_over(&s);
}

void answer(state& s, int rounds) {
  for (int64_t i = 1; i <= rounds; ++i) {
    while (arrived < i * s.burst) {
      progress(s);
      usleep(100);  // the processors are rank 0's
    }
    // Those of the next round, which begins behind the answer.
    if (s.op == operation::send && i < rounds) post_receives(s);
    post(s);
    // Coalesced messages leave with the next polls.
    for (int polls = 0; polls < 20; ++polls) {
      lci::progress();
      usleep(100);
    }
    if (write(STDOUT_FILENO, "", 1) != 1) throw std::runtime_error("rank 0 has gone");
  }
}

int run(operation op, int burst, int rounds, int pause_ms) {
  lci::g_runtime_init();
  if (lci::get_rank_n() != 2) throw std::runtime_error("there must be two ranks");
  lci::comp_t handler = lci::alloc_handler_x([](lci::status_t) { ++arrived; }).lend_am(true)();
  state s;
  s.op = op;
  s.burst = burst;
  s.buffers.resize(static_cast<size_t>(burst));
  s.received = lci::alloc_cq();
  s.pause_us = static_cast<useconds_t>(pause_ms) * 1000;
  s.peer = 1 - lci::get_rank_me();
  s.rcomp = lci::register_rcomp(handler);
  s.mr = lci::register_memory(&s.payload, sizeof(s.payload));
  lci::rmr_t own = lci::get_rmr(s.mr);
  lci::rmr_t of_rank[2];
  lci::allgather(&own, of_rank, sizeof(own));
  s.rmr = of_rank[s.peer];
  if (op == operation::send && lci::get_rank_me() == 1) post_receives(s);
  lci::barrier();
  constexpr phase phases[] = {phase::post, phase::receive, phase::poll, phase::clock};
  const int rounds_before = std::max(rounds, 1 + 400 / burst);
  const int all_rounds = rounds_before + rounds * static_cast<int>(std::size(phases));
  if (lci::get_rank_me() == 0) {
    run_phase(s, phase::warm_up, rounds_before);
    for (const phase which : phases) run_phase(s, which, rounds);
    std::printf("%.2f polls a round\n", static_cast<double>(s.polls) / all_rounds);
  } else {
    answer(s, all_rounds);
  }
  lci::barrier();
  lci::deregister_memory(&s.mr);
  lci::free_comp(&s.received);
  lci::free_comp(&handler);
  lci::g_runtime_fina();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view names[] = {"am", "put", "send"};  // as in operation
  int numbers[3] = {};
  const auto* const name = std::find(std::begin(names), std::end(names), argc > 1 ? argv[1] : "");
  for (int i = 0; i < 3 && argc == 5; ++i) numbers[i] = std::atoi(argv[i + 2]);
  if (numbers[0] < 1 || numbers[1] < 1 || numbers[2] < 1 || name == std::end(names)) {
    std::fprintf(stderr, "usage: rounds am|put|send BURST ROUNDS PAUSE\n");
    return 2;
  }
  try {
    return run(static_cast<operation>(name - names), numbers[0], numbers[1], numbers[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rounds: %s\n", error.what());
    return 1;
  }
}
