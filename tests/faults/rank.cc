// rank FAULT PHASE VICTIM: a rank of a job in which rank VICTIM suffers FAULT in PHASE. Each
// survivor expects a peer_failure_error that names VICTIM, exchanges messages with the other
// survivors, finalizes and ends with 0. faults.py starts it, and lists what FAULT and PHASE may be.
//
// Lines on standard output; TIME is that of the host's monotonic clock in seconds:
//   victim RANK PID TIME    before the fault
//   knew RANK FAILED TIME   as soon as a call of the library has named the failed rank
//   ended RANK TIME         after g_runtime_fina
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lci.hpp"

namespace {

constexpr int rounds = 20;
constexpr int round_of_fault = 10;
constexpr lci::tag_t last_tag = 1000;  // of the messages among survivors

std::string fault;
std::string phase;
int victim;
int me;
int ranks;
lci::mr_t memory;  // empty: none

double now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// In one write, as lines of several ranks share a stream.
template <class... Values>
void say(const char* format, Values... values) {
  char line[100];
  const int size = std::snprintf(line, sizeof(line), format, values...);
  if (write(STDOUT_FILENO, line, static_cast<size_t>(size)) != size) std::abort();
}

// Returns only after SIGCONT ("stop"). Stopped for "killed", the rank waits for faults.py.
void suffer() {
  say("victim %d %d %.6f\n", me, static_cast<int>(getpid()), now());
  if (fault == "kill") raise(SIGKILL);
  if (fault == "stop" || fault == "killed") raise(SIGSTOP);
  if (fault == "exit0") std::exit(0);
  if (fault == "exit3") std::exit(3);
  if (fault == "abort") std::abort();
  if (fault == "throw") throw std::logic_error("an exception that nobody catches");
  signal(SIGTERM, SIG_DFL);  // which "exec" would hand on
  if (fault == "exec") execl("/bin/sleep", "sleep", "300", static_cast<char*>(nullptr));
}

void suffer_in_round(int round) {
  if (me == victim && round == round_of_fault) suffer();
}

// The library may name a failed rank more than once: in the call that needs it, and in progress().
template <class Call>
void ignore_victim(const Call& call) {
  for (;;) {
    try {
      return call();
    } catch (const lci::peer_failure_error& error) {
      if (error.failed_rank() != victim) throw;
    }
  }
}

void wait_for(lci::comp_t counter, int64_t count) {
  while (lci::counter_get(counter) < count) lci::progress();
}

template <class Post>
void post(Post&& once) {
  once.allow_done(false);  // all signal the counter
  while (once().is_retry()) lci::progress();
}

// Memory that operations which never end may still use after their function has returned.
struct buffers {
  buffers(size_t size, int count)
      : out(size, 'x'), in(static_cast<size_t>(count), std::vector<char>(size)) {}
  std::vector<char> out;
  std::vector<std::vector<char>> in;
  lci::comp_t counter = lci::alloc_counter();
  lci::comp_t arrived = lci::alloc_counter();  // what others signal
};

// Never freed; the leak detector finds all of them here.
buffers* keep(std::unique_ptr<buffers> made) {
  static auto& all = *new std::vector<std::unique_ptr<buffers>>;
  all.push_back(std::move(made));
  return all.back().get();
}

void exchange_messages(size_t size) {
  auto* const own = keep(std::make_unique<buffers>(size, ranks));
  for (int round = 0; round < rounds; ++round) {
    suffer_in_round(round);
    const auto tag = static_cast<lci::tag_t>(round);
    for (int r = 0; r < ranks; ++r) {
      if (r == me) continue;
      auto& in = own->in[static_cast<size_t>(r)];
      post(lci::post_recv_x(r, in.data(), size, tag, own->counter));
      post(lci::post_send_x(r, own->out.data(), size, tag, own->counter));
    }
    wait_for(own->counter, int64_t{2} * (ranks - 1) * (round + 1));
  }
}

void exchange_puts() {
  constexpr size_t size = 8192;
  const auto count = static_cast<size_t>(ranks);
  memory = lci::alloc_mr(size * count);
  auto* const own = keep(std::make_unique<buffers>(size, 0));
  const lci::rcomp_t rcomp = lci::register_rcomp(own->arrived);
  const lci::rmr_t rmr = lci::get_rmr(memory);
  std::vector<lci::rmr_t> all(count);
  lci::allgather(&rmr, all.data(), sizeof(rmr));
  for (int round = 0; round < rounds; ++round) {
    suffer_in_round(round);
    for (int r = 0; r < ranks; ++r) {
      if (r == me) continue;
      post(lci::post_put_x(r, own->out.data(), size, own->counter, size * static_cast<size_t>(me),
                           all[static_cast<size_t>(r)])
               .remote_comp(rcomp));
    }
    wait_for(own->counter, int64_t{ranks - 1} * (round + 1));
    wait_for(own->arrived, int64_t{ranks - 1} * (round + 1));
  }
}

void call_collectives() {
  constexpr size_t count = 1000;
  std::vector<uint64_t> in(count, 1);
  std::vector<uint64_t> out(count);
  std::vector<uint64_t> all(count * static_cast<size_t>(ranks));
  for (int round = 0; round < rounds; ++round) {
    suffer_in_round(round);
    lci::allreduce(in.data(), out.data(), count, sizeof(in[0]), lci::reduce_sum<uint64_t>);
    lci::broadcast(in.data(), count * sizeof(in[0]), round % ranks);
    lci::allgather(in.data(), all.data(), count * sizeof(in[0]));
  }
}

void run_phase() {
  if (phase == "start") return;
  lci::barrier();
  if (phase == "barrier") {
    for (int round = 0; round < rounds; ++round) {
      suffer_in_round(round);
      lci::barrier();
    }
  } else if (phase == "messages") {
    exchange_messages(8);
  } else if (phase == "large") {
    exchange_messages(1 << 20);
  } else if (phase == "puts") {
    exchange_puts();
  } else if (phase == "collectives") {
    call_collectives();
  } else if (phase == "finalization" && me == victim) {
    suffer();
  }
}

// The survivors still reach each other.
void go_on() {
  auto* const own = keep(std::make_unique<buffers>(100000, ranks));
  int64_t posted = 0;
  for (int r = 0; r < ranks; ++r) {
    if (r == me || r == victim) continue;
    auto& in = own->in[static_cast<size_t>(r)];
    ignore_victim([&] { post(lci::post_recv_x(r, in.data(), in.size(), last_tag, own->counter)); });
    ignore_victim([&] {
      post(lci::post_send_x(r, own->out.data(), own->out.size(), last_tag, own->counter));
    });
    posted += 2;
  }
  ignore_victim([&] { wait_for(own->counter, posted); });
}

}  // namespace

int main(int, char** argv) {
  fault = argv[1];
  phase = argv[2];
  victim = std::atoi(argv[3]);
  signal(SIGTERM, SIG_IGN);  // of lcrun, which ends a job in which a rank has failed
  lci::global_initialize();
  me = lci::get_rank_me();
  ranks = lci::get_rank_n();
  if (phase == "start" && me == victim) suffer();
  bool has_started = false;
  try {
    lci::g_runtime_init();
    has_started = true;
    run_phase();
  } catch (const lci::peer_failure_error& error) {
    say("knew %d %d %.6f\n", me, error.failed_rank(), now());
    // The victim may leave the barrier before the finalization earlier than others: some survivors
    // get the error there, and the others finalize already.
    if (has_started && phase != "finalization") go_on();
  }
  if (!memory.is_empty()) lci::free_mr(&memory);
  if (has_started) lci::g_runtime_fina();
  lci::global_finalize();
  say("ended %d %.6f\n", me, now());
  return 0;
}
