// Communication from fibers, as runtimes of tasks do it: fibers have small stacks, leave their
// thread while they wait, and continue on whichever thread is free. Sends and receives, active
// messages, puts with signal and a collective operation, from small ones to those that need a
// rendezvous.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "lci/testing/fiber/fiber.h"
#include "tests/public/check.h"

namespace {

constexpr int threads = 3;
constexpr int fibers = 24;
constexpr size_t sizes[] = {8, 3000, 100000};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t stack_factor = 8;
constexpr uint64_t rounds = 3;
#else
constexpr size_t stack_factor = 1;
constexpr uint64_t rounds = 10;
#endif

const auto page_size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
size_t stack_size = 0;  // bytes

// Memory behind a page that cannot be accessed.
class guarded_stack {
 public:
  guarded_stack()
      : bottom_(static_cast<unsigned char*>(
            mmap(nullptr, page_size + stack_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT(bottom_ != MAP_FAILED);
    EXPECT(mprotect(begin(), stack_size, PROT_READ | PROT_WRITE) == 0);
  }
  ~guarded_stack() { munmap(bottom_, page_size + stack_size); }
  guarded_stack(const guarded_stack&) = delete;
  guarded_stack& operator=(const guarded_stack&) = delete;

  unsigned char* begin() const { return bottom_ + page_size; }

 private:
  unsigned char* const bottom_;
};

// A fiber with such a stack, which counts how often it has come to a thread.
class task {
 public:
  explicit task(std::function<void(task&)> body)
      : body_(std::move(body)), own_([this] { run(); }, stack_.begin(), stack_size) {}

  // Called by the body: other tasks run until a thread resumes this one.
  void pause() { own_.pause(); }

  // Returns whether the body has returned.
  bool resume() {
    moves_ += last_ != std::this_thread::get_id();
    last_ = std::this_thread::get_id();
    own_.resume();
    return own_.finished();
  }
  int moves() const { return moves_; }

 private:
  void run() {
    try {
      body_(*this);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "exception: %s\n", error.what());
      std::_Exit(1);
    }
  }

  const std::function<void(task&)> body_;
  const guarded_stack stack_;
  lci::fiber own_;
  std::thread::id last_;
  int moves_ = 0;
};

// Runs all tasks to their end, on several threads.
void run_all(const std::vector<std::unique_ptr<task>>& tasks) {
  std::mutex mutex;
  std::deque<task*> ready;
  std::atomic<size_t> left{tasks.size()};
  for (const auto& each : tasks) ready.push_back(each.get());
  const auto work = [&] {
    while (left > 0) {
      task* next = nullptr;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!ready.empty()) {
          next = ready.front();
          ready.pop_front();
        }
      }
      if (next == nullptr) {
        lci::progress();
      } else if (next->resume()) {
        --left;
      } else {
        const std::lock_guard<std::mutex> lock(mutex);
        ready.push_back(next);
      }
    }
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(work);
  for (std::thread& each : workers) each.join();
}

struct memory {
  std::vector<uint64_t> words = std::vector<uint64_t>(fibers);  // word i is written by fiber i
  lci::mr_t mr = lci::register_memory(words.data(), words.size() * sizeof(uint64_t));
  std::vector<lci::rmr_t> of_ranks = std::vector<lci::rmr_t>(lci::get_rank_n());
};

std::atomic<int> messages_here{0};
std::atomic<uint64_t> bytes_here{0};

void count_message(lci::status_t status) {
  bytes_here += status.get_size();
  ++messages_here;
  std::free(status.get_buffer());
}

class talker {
 public:
  talker(task& self, int number, memory& shared, lci::rcomp_t messages, lci::rcomp_t puts)
      : self_(self), number_(number), shared_(shared), messages_(messages), puts_(puts) {}
  ~talker() {
    lci::free_comp(&received_);
    lci::free_comp(&sent_);
  }
  talker(const talker&) = delete;
  talker& operator=(const talker&) = delete;

  void talk() {
    EXPECT_THROW(static_cast<void>(lci::post_am(-1, nullptr, 0, lci::COMP_NULL, messages_)),
                 std::invalid_argument);
    for (uint64_t round = 0; round < rounds; ++round) {
      for (uint64_t which = 0; which < 3; ++which) exchange(sizes[which], round * 3 + which);
      const uint64_t word = round * fibers + static_cast<uint64_t>(number_);
      finish(post(lci::post_put_x(to_, &word, sizeof(word), sent_,
                                  static_cast<size_t>(number_) * sizeof(word),
                                  shared_.of_ranks[static_cast<size_t>(to_)])
                      .remote_comp(puts_)),
             sent_);
      // One fiber for all: collective operations of an engine have one order.
      if (number_ == 0) add_up(round);
    }
  }

 private:
  // The fiber leaves its thread, which has made progress first.
  void wait() {
    lci::progress();
    self_.pause();
  }

  template <class Post>
  lci::status_t post(const Post& operation) {
    lci::status_t status = operation();
    for (; status.is_retry(); status = operation()) wait();
    return status;
  }

  void finish(const lci::status_t& status, lci::comp_t sync) {
    if (status.is_posted()) return wait_for(sync);
    EXPECT(status.is_done());
  }

  void wait_for(lci::comp_t sync) {
    lci::status_t status;
    while (!lci::sync_test(sync, &status)) wait();
    EXPECT(status.is_done());
  }

  static unsigned char byte_of(int rank, int number, uint64_t count, size_t i) {
    return static_cast<unsigned char>(static_cast<uint64_t>(rank) * 41 +
                                      static_cast<uint64_t>(number) * 13 + count * 7 + i);
  }

  // Messages with one tag are not ordered between threads, so each has a tag of its own.
  void exchange(size_t size, uint64_t count) {
    std::vector<unsigned char> out(size);
    std::vector<unsigned char> in(size);
    for (size_t i = 0; i < size; ++i) out[i] = byte_of(lci::get_rank_me(), number_, count, i);
    const lci::tag_t tag = count * fibers + static_cast<lci::tag_t>(number_);
    const lci::status_t receiving = post(lci::post_recv_x(from_, in.data(), size, tag, received_));
    finish(post(lci::post_send_x(to_, out.data(), size, tag, sent_)), sent_);
    finish(receiving, received_);
    for (size_t i = 0; i < size; ++i) EXPECT(in[i] == byte_of(from_, number_, count, i));
    finish(post(lci::post_am_x(to_, out.data(), size, sent_, messages_)), sent_);
  }

  void add_up(uint64_t round) {
    const uint64_t mine = round + static_cast<uint64_t>(lci::get_rank_me());
    uint64_t sum = 0;
    lci::allreduce_x(&mine, &sum, 1, sizeof(mine), lci::reduce_sum<uint64_t>).comp(sent_)();
    wait_for(sent_);
    const auto ranks = static_cast<uint64_t>(lci::get_rank_n());
    EXPECT(sum == round * ranks + ranks * (ranks - 1) / 2);
  }

  task& self_;
  const int number_;
  memory& shared_;
  const lci::rcomp_t messages_;
  const lci::rcomp_t puts_;
  const int to_ = (lci::get_rank_me() + 1) % lci::get_rank_n();
  const int from_ = (lci::get_rank_me() + lci::get_rank_n() - 1) % lci::get_rank_n();
  lci::comp_t received_ = lci::alloc_sync();
  lci::comp_t sent_ = lci::alloc_sync();
};

void body() {
  lci::g_runtime_init();
  {
    memory shared;
    const lci::rmr_t own = lci::get_rmr(shared.mr);
    lci::allgather(&own, shared.of_ranks.data(), sizeof(own));
    lci::comp_t on_message = lci::alloc_handler(count_message);
    lci::comp_t on_put = lci::alloc_counter();
    const lci::rcomp_t messages = lci::register_rcomp(on_message);
    const lci::rcomp_t puts = lci::register_rcomp(on_put);
    lci::barrier();

    std::vector<std::unique_ptr<task>> tasks;
    for (int i = 0; i < fibers; ++i) {
      tasks.push_back(std::make_unique<task>([&shared, i, messages, puts](task& self) {
        talker(self, i, shared, messages, puts).talk();
      }));
    }
    run_all(tasks);

    constexpr int expected = fibers * static_cast<int>(rounds);
    while (messages_here < 3 * expected || lci::counter_get(on_put) < expected) lci::progress();
    lci::wait_drained();
    lci::barrier();
    EXPECT(messages_here == 3 * expected);
    EXPECT(bytes_here == uint64_t{expected} * (sizes[0] + sizes[1] + sizes[2]));
    EXPECT(lci::counter_get(on_put) == expected);
    for (uint64_t i = 0; i < fibers; ++i) EXPECT(shared.words[i] == (rounds - 1) * fibers + i);
    // Else this test has tested nothing.
    EXPECT(std::any_of(tasks.begin(), tasks.end(),
                       [](const auto& each) { return each->moves() > 1; }));

    lci::deregister_rcomp(puts);
    lci::deregister_rcomp(messages);
    lci::free_comp(&on_put);
    lci::free_comp(&on_message);
    lci::deregister_memory(&shared.mr);
  }
  lci::g_runtime_fina();
}

}  // namespace

// fiber_test KIB: fibers have stacks of KIB KiB.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  stack_size = (std::strtoul(argv[1], nullptr, 10) << 10) * stack_factor;
  return run_test(body);
}
