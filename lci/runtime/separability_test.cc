// Two threads on two devices have nothing in common: the separability of Ibrahim and Yelick, "On
// the Conditions for Efficient Interoperability with Threads" (ICS'14), section 4. All memory that
// one of them writes is watched, and each of its instructions is counted.
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/base/write_watch.h"
#include "lci/boot/in_process.h"
#include "lci/runtime/runtime.h"
#include "lci/runtime/test_ranks.h"

namespace lci {
namespace {

// Calls of the handler in this thread.
thread_local int handled = 0;

void handle(status_t status) {
  ++handled;
  std::free(status.buffer);
}

// What a thread has to itself on one rank.
struct side {
  runtime_t runtime;
  device_t device;
  matching_engine_t engine;
  comp_t queue;
  comp_t counter;
  comp_t handler;
  rcomp_t of_queue = 0;
  rcomp_t of_handler = 0;
  mr_t memory;
  rmr_t open;
  std::vector<unsigned char> bytes = std::vector<unsigned char>(8192);
};

// The devices of one number on two ranks. One thread plays both ends.
struct lane {
  side ends[2];
};

constexpr size_t memory_size = 16384;
// Small, since each byte of a message may be watched.
constexpr size_t packet_size = 5000;

void make_side(runtime_t runtime, side* made) {
  made->runtime = runtime;
  made->device = alloc_device_x().runtime(runtime).shm_eager_size(packet_size).am_poll_mask(-1)();
  made->engine = alloc_matching_engine_x().runtime(runtime)();
  made->queue = alloc_cq_x().runtime(runtime)();
  made->counter = alloc_counter_x().runtime(runtime)();
  made->handler = alloc_handler_x(handle).runtime(runtime)();
  made->of_queue = register_rcomp_x(made->queue).runtime(runtime)();
  made->of_handler = register_rcomp_x(made->handler).runtime(runtime)();
  made->memory = alloc_mr_x(memory_size).runtime(runtime)();
  made->open = get_rmr_x(made->memory).runtime(runtime)();
}

void free_side(side* freed) {
  wait_drained_x().runtime(freed->runtime).device(freed->device)();
  free_mr_x{&freed->memory}();
  free_comp_x{&freed->handler}();
  free_comp_x{&freed->counter}();
  free_comp_x{&freed->queue}();
  free_matching_engine_x{&freed->engine}();
  free_device_x{&freed->device}();
}

// Runs body(lanes) with so many, between two ranks of this process.
void with_lanes(size_t count, const std::function<void(std::vector<lane>&)>& body) {
  std::vector<lane> lanes(count);
  std::promise<void> over;
  const std::shared_future<void> end = over.get_future().share();
  run_ranks(2, [&](std::unique_ptr<boot::bootstrap> boot) {
    const int rank = boot->rank();
    global_attr_t attr;
    attr.packet_size = packet_size;
    runtime_impl_t runtime(std::move(boot), runtime_attr_t(), attr);
    for (lane& each : lanes) make_side(&runtime, &each.ends[rank]);
    barrier_x().runtime (&runtime)();
    if (rank == 0) {
      body(lanes);
      over.set_value();
    } else {
      end.wait();
    }
    for (lane& each : lanes) free_side(&each.ends[rank]);
    barrier_x().runtime (&runtime)();
  });
}

// ---- what a thread does -------------------------------------------------------------------------

void progress_on(const side& of) { progress_x().device(of.device)(); }

status_t pop(const side& of) {
  for (;;) {
    const status_t status = cq_pop_x(of.queue).runtime(of.runtime)();
    if (!status.is_retry()) return status;
    progress_on(of);
  }
}

template <class Op>
void post(const side& from, const Op& op) {
  for (;;) {
    const status_t status = op();
    if (!status.is_retry()) return;
    progress_on(from);
  }
}

void send_am(side& from, side& to, size_t size) {
  post(from, post_am_x(rank_of(to.runtime), from.bytes.data(), size, COMP_NULL, to.of_queue)
                 .device(from.device));
  const status_t status = pop(to);
  EXPECT_EQ(status.size, size);
  std::free(status.buffer);
}

void am_to_handler(side& from, side& to) {
  const int before = handled;
  post(from, post_am_x(rank_of(to.runtime), from.bytes.data(), 8, COMP_NULL, to.of_handler)
                 .device(from.device));
  while (handled == before) progress_on(to);
}

void send_and_receive(side& from, side& to, size_t size) {
  post(to, post_recv_x(rank_of(from.runtime), to.bytes.data(), to.bytes.size(), 7, to.queue)
               .device(to.device)
               .matching_engine(to.engine)
               .allow_done(false));
  post(from, post_send_x(rank_of(to.runtime), from.bytes.data(), size, 7, from.counter)
                 .device(from.device)
                 .matching_engine(from.engine));
  status_t status;
  // (A large one is a conversation.)
  while ((status = cq_pop_x(to.queue).runtime(to.runtime)()).is_retry()) {
    progress_on(to);
    progress_on(from);
  }
  EXPECT_EQ(status.size, size);
}

void put(side& from, side& to) {
  post(from, post_put_x(rank_of(to.runtime), from.bytes.data(), 8, from.counter, 64, to.open)
                 .device(from.device));
}

void put_with_signal(side& from, side& to) {
  post(from, post_put_x(rank_of(to.runtime), from.bytes.data(), 512, from.counter, 64, to.open)
                 .device(from.device)
                 .remote_comp(to.of_queue));
  pop(to);
}

void get(side& from, side& to) {
  post(from, post_get_x(rank_of(to.runtime), from.bytes.data(), 512, from.counter, 0, to.open)
                 .device(from.device));
}

struct work {
  const char* name;
  int watched_rounds;  // each instruction of a long one takes its time
  std::function<void(side&, side&)> once;
};
const std::vector<work>& all_work() {
  static const std::vector<work> all = {
      {"am_8", 100, [](side& from, side& to) { send_am(from, to, 8); }},
      {"am_4096", 40, [](side& from, side& to) { send_am(from, to, 4096); }},
      {"am_to_handler", 100, am_to_handler},
      {"send_8", 100, [](side& from, side& to) { send_and_receive(from, to, 8); }},
      {"send_4096", 40, [](side& from, side& to) { send_and_receive(from, to, 4096); }},
      // (Of more bytes than a packet has.)
      {"rendezvous", 6, [](side& from, side& to) { send_and_receive(from, to, 6000); }},
      {"put", 100, put},
      {"put_with_signal", 100, put_with_signal},
      {"get", 100, get},
      {"idle", 100, [](side& from, side&) { progress_on(from); }},
  };
  return all;
}

void rounds(lane& of, const work& what, int count) {
  for (int i = 0; i < count; ++i) {
    what.once(of.ends[0], of.ends[1]);
    what.once(of.ends[1], of.ends[0]);
  }
}

// Enough for every lock to have found its owner and every store of packets to be full.
constexpr int warmup_rounds = 3000;

// A thread that does what it is told, and waits in the kernel else.
class worker {
 public:
  worker() : thread_([this] { run(); }) {}
  ~worker() {
    give(nullptr);
    thread_.join();
  }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  // Returns when the thread has done it.
  void run(const std::function<void()>& task) {
    give(&task);
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !given_; });
  }

 private:
  void give(const std::function<void()>* task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    task_ = task;
    given_ = true;
    changed_.notify_all();
  }
  void run() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return given_; });
      const std::function<void()>* task = task_;
      lock.unlock();
      if (task == nullptr) return;
      (*task)();
      lock.lock();
      given_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
  bool given_ = false;
  std::thread thread_;  // last: it uses the others
};

class Separability : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (!base::can_watch_writes()) GTEST_SKIP() << "not here: see lci/base/write_watch.h";
  }
  static const work& what() { return all_work()[GetParam()]; }
};

TEST_P(Separability, NoLineIsWrittenByTwoThreads) {
  with_lanes(2, [](std::vector<lane>& lanes) {
    worker workers[2];
    base::written_lines lines[2];
    for (size_t i = 0; i < 2; ++i) {
      workers[i].run([&] { rounds(lanes[i], what(), warmup_rounds); });
    }
    for (size_t i = 0; i < 2; ++i) {
      workers[i].run([&] {
        lines[i] = base::lines_written_by([&] { rounds(lanes[i], what(), what().watched_rounds); });
      });
    }
    for (const auto& [line, instruction] : lines[0]) {
      const auto other = lines[1].find(line);
      if (other == lines[1].end()) continue;
      ADD_FAILURE() << "line 0x" << std::hex << line * 64 << " is written at "
                    << base::describe_instruction(instruction) << " and at "
                    << base::describe_instruction(other->second);
    }
    // (The watch works.)
    EXPECT_GT(lines[0].size(), 0u);
  });
}

TEST_P(Separability, AThreadBesideOthersTakesTheWayOfASingleOne) {
  uint64_t alone = 0;
  uint64_t beside = 0;
  for (const size_t threads : {1, 2}) {
    with_lanes(threads, [&](std::vector<lane>& lanes) {
      std::vector<worker> workers(threads);
      for (size_t i = 0; i < threads; ++i) {
        workers[i].run([&] { rounds(lanes[i], what(), warmup_rounds); });
      }
      workers[0].run([&] {
        (threads == 1 ? alone : beside) =
            base::instructions_of([&] { rounds(lanes[0], what(), what().watched_rounds / 3); });
      });
    });
  }
  // Copies take some more or less by the alignment of their buffers.
  EXPECT_LE(alone > beside ? alone - beside : beside - alone, alone / 100)
      << "instructions: " << alone << " alone, " << beside << " beside another thread";
}

std::vector<size_t> numbers() {
  std::vector<size_t> each(all_work().size());
  for (size_t i = 0; i < each.size(); ++i) each[i] = i;
  return each;
}
INSTANTIATE_TEST_SUITE_P(All, Separability, testing::ValuesIn(numbers()),
                         [](const testing::TestParamInfo<size_t>& each) {
                           return all_work()[each.param].name;
                         });

}  // namespace
}  // namespace lci
