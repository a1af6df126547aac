#include "lci/testing/separability/separability.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lci/base/strings.h"
#include "lci/boot/in_process.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"
#include "lci/testing/write_watch/write_watch.h"

namespace lci::separability {
namespace {

// The number of calls of the handler in this thread.
thread_local int handled = 0;

void handle(status_t status) {
  ++handled;
  std::free(status.buffer);
}

struct alignas(64) line {
  unsigned char bytes[64];
};

// The resources of one rank that a thread has to itself.
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
  std::vector<line> lines = std::vector<line>(128);
  mr_t buffer_memory;

  unsigned char* buffer() { return lines[0].bytes; }
  size_t buffer_size() const { return lines.size() * sizeof(line); }
};

// The devices with the same number on two ranks. One thread uses both ends.
struct device_pair {
  side ends[2];
};

constexpr size_t memory_size = 16384;
// Small: each byte of a message may be watched.
constexpr size_t packet_size = 5000;

void make_side(runtime_t runtime, side* made) {
  made->runtime = runtime;
  // A thread yields after a certain time, so its number of instructions would vary.
  made->device = alloc_device_x()
                     .runtime(runtime)
                     .ofi_eager_size(packet_size)
                     .shm_eager_size(packet_size)
                     .am_poll_mask(-1)
                     .progress_yield(false)();
  made->engine = alloc_matching_engine_x().runtime(runtime)();
  made->queue = alloc_cq_x().runtime(runtime)();
  made->counter = alloc_counter_x().runtime(runtime)();
  made->handler = alloc_handler_x(handle).runtime(runtime)();
  made->of_queue = register_rcomp_x(made->queue).runtime(runtime)();
  made->of_handler = register_rcomp_x(made->handler).runtime(runtime)();
  made->memory = alloc_mr_x(memory_size).runtime(runtime)();
  made->open = get_rmr_x(made->memory).runtime(runtime)();
  made->buffer_memory = register_memory_x(made->buffer(), made->buffer_size()).runtime(runtime)();
}

void free_side(side* freed) {
  wait_drained_x().runtime(freed->runtime).device(freed->device)();
  deregister_memory_x{&freed->buffer_memory}();
  free_mr_x{&freed->memory}();
  free_comp_x{&freed->handler}();
  free_comp_x{&freed->counter}();
  free_comp_x{&freed->queue}();
  free_matching_engine_x{&freed->engine}();
  free_device_x{&freed->device}();
}

// Runs body(pairs) with `count` pairs of devices between two ranks of this process.
void with_device_pairs(const network& transport, size_t count,
                       const std::function<void(std::vector<device_pair>&)>& body) {
  std::vector<device_pair> pairs(count);
  std::promise<void> done;
  const std::shared_future<void> end = done.get_future().share();
  run_ranks(2, [&](std::unique_ptr<boot::bootstrap> boot) {
    const int rank = boot->rank();
    global_attr_t attr;
    attr.packet_size = packet_size;
    attr.backend = transport.backend;
    attr.ofi_provider_name = transport.provider;
    // On the heap: a part of this thread's stack is not watched.
    const auto owned = std::make_unique<runtime_impl_t>(std::move(boot), runtime_attr_t(), attr);
    const runtime_t runtime(owned.get());
    for (device_pair& each : pairs) make_side(runtime, &each.ends[rank]);
    barrier_x().runtime(runtime)();
    if (rank == 0) {
      body(pairs);
      done.set_value();
    } else {
      end.wait();
    }
    for (device_pair& each : pairs) free_side(&each.ends[rank]);
    barrier_x().runtime(runtime)();
  });
}

// The operations of a thread.

// Over some networks a message leaves, or is answered, only while its sender polls.
void progress(const side& from, const side& to) {
  progress_x().device(to.device)();
  progress_x().device(from.device)();
}

status_t pop(const side& from, const side& to) {
  for (;;) {
    const status_t status = cq_pop_x(to.queue).runtime(to.runtime)();
    if (!status.is_retry()) return status;
    progress(from, to);
  }
}

template <class Op>
status_t post(const side& from, const side& to, const Op& op) {
  for (;;) {
    const status_t status = op();
    if (!status.is_retry()) return status;
    progress(from, to);
  }
}

// Posts an operation that signals the counter of `from`, calls `meanwhile`, and waits for the end
// of the operation.
template <class Op, class Meanwhile>
void complete(const side& from, const side& to, const Op& op, const Meanwhile& meanwhile) {
  const auto counted = [&from] { return counter_get_x(from.counter).runtime(from.runtime)(); };
  const int64_t before = counted();
  const status_t posted = post(from, to, op);
  meanwhile();
  if (!posted.is_posted()) return;
  while (counted() == before) progress(from, to);
}
template <class Op>
void complete(const side& from, const side& to, const Op& op) {
  complete(from, to, op, [] {});
}

void send_am(side& from, side& to, size_t size) {
  static_cast<void>(post(from, to,
                         post_am_x(rank_of(to.runtime), from.buffer(), size, COMP_NULL, to.of_queue)
                             .device(from.device)));
  const status_t status = pop(from, to);
  EXPECT_EQ(status.size, size);
  std::free(status.buffer);
}

void am_to_handler(side& from, side& to) {
  const int before = handled;
  static_cast<void>(post(from, to,
                         post_am_x(rank_of(to.runtime), from.buffer(), 8, COMP_NULL, to.of_handler)
                             .device(from.device)));
  while (handled == before) progress(from, to);
}

// If `named`, the operations name the registrations of their buffers.
void send_and_receive(side& from, side& to, size_t size, bool named = true) {
  static_cast<void>(
      post(to, from,
           post_recv_x(rank_of(from.runtime), to.buffer(), to.buffer_size(), 7, to.queue)
               .device(to.device)
               .matching_engine(to.engine)
               .mr(named ? to.buffer_memory : mr_t())
               .allow_done(false)));
  complete(from, to,
           post_send_x(rank_of(to.runtime), from.buffer(), size, 7, from.counter)
               .device(from.device)
               .matching_engine(from.engine)
               .mr(named ? from.buffer_memory : mr_t()),
           [&] { EXPECT_EQ(pop(from, to).size, size); });
}

void put(side& from, side& to) {
  complete(from, to,
           post_put_x(rank_of(to.runtime), from.buffer(), 8, from.counter, 64, to.open)
               .device(from.device)
               .mr(from.buffer_memory));
}

void put_with_signal(side& from, side& to) {
  complete(from, to,
           post_put_x(rank_of(to.runtime), from.buffer(), 512, from.counter, 64, to.open)
               .device(from.device)
               .mr(from.buffer_memory)
               .remote_comp(to.of_queue),
           [&] { static_cast<void>(pop(from, to)); });
}

void get(side& from, side& to) {
  complete(from, to,
           post_get_x(rank_of(to.runtime), from.buffer(), 512, from.counter, 0, to.open)
               .device(from.device)
               .mr(from.buffer_memory));
}

}  // namespace

struct work {
  const char* name;
  int watched_rounds;  // each write takes its time
  std::function<void(side&, side&)> once;
  bool registers = false;  // per operation: separable only where no library registers memory
};

namespace {

const std::vector<work>& all_work() {
  static const std::vector<work> all = {
      {"am_8", 100, [](side& from, side& to) { send_am(from, to, 8); }},
      {"am_4096", 40, [](side& from, side& to) { send_am(from, to, 4096); }},
      {"am_to_handler", 100, am_to_handler},
      {"send_8", 100, [](side& from, side& to) { send_and_receive(from, to, 8); }},
      {"send_4096", 40, [](side& from, side& to) { send_and_receive(from, to, 4096); }},
      // More bytes than a packet has.
      {"rendezvous", 6, [](side& from, side& to) { send_and_receive(from, to, 6000); }},
      {"rendezvous_unregistered", 6,
       [](side& from, side& to) { send_and_receive(from, to, 6000, /*named=*/false); },
       /*registers=*/true},
      {"put", 100, put},
      {"put_with_signal", 100, put_with_signal},
      {"get", 100, get},
      {"idle", 100, progress},
  };
  return all;
}

void rounds(device_pair& of, const work& what, int count) {
  for (int i = 0; i < count; ++i) {
    what.once(of.ends[0], of.ends[1]);
    what.once(of.ends[1], of.ends[0]);
  }
}

// Fewer rounds with a library, which writes many times as much.
int watched_rounds(const network& transport, const work& what) {
  return transport.has_library ? (what.watched_rounds + 3) / 4 : what.watched_rounds;
}

// Enough for every biased lock to have its owner and every pool of packets to be full.
constexpr int warmup_rounds = 3000;

// A thread that runs tasks, and waits in the kernel between them.
class worker {
 public:
  worker() : thread_([this] { run(); }) {}
  ~worker() {
    assign(nullptr);
    thread_.join();
  }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  // Returns when the thread has run the task.
  void run(const std::function<void()>& task) {
    assign(&task);
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !has_task_; });
  }

 private:
  void assign(const std::function<void()>* task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    task_ = task;
    has_task_ = true;
    changed_.notify_all();
  }
  void run() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return has_task_; });
      const std::function<void()>* task = task_;
      lock.unlock();
      if (task == nullptr) return;
      (*task)();
      lock.lock();
      has_task_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
  bool has_task_ = false;
  std::thread thread_;  // last: it uses the others
};

// The lines that two threads have written, and the instructions that wrote them.
struct common_lines {
  int of_program = 0;                // lines that the program writes, in at least one thread
  std::string report;                // the instructions that write these
  int of_library = 0;                // lines that only the network's library writes
  std::set<std::string> in_library;  // the instructions that write these
};
common_lines compare(const base::written_lines& one, const base::written_lines& other) {
  common_lines found;
  for (const auto& [line, first] : one) {
    const auto again = other.find(line);
    if (again == other.end()) continue;
    const base::writers& second = again->second;
    if (first.program == nullptr && second.program == nullptr) {
      ++found.of_library;
      found.in_library.insert(base::describe_instruction(first.library));
      continue;
    }
    ++found.of_program;
    base::StrAppend(&found.report, "  line 0x", base::Hex(line * 64), ":");
    for (const base::writers* each : {&first, &second}) {
      for (const void* at : {each->program, each->library}) {
        if (at != nullptr) base::StrAppend(&found.report, " ", base::describe_instruction(at));
      }
      base::StrAppend(&found.report, each == &first ? " and" : "\n");
    }
  }
  return found;
}

// The shortest measurement counts: in some, more work is due because time has passed.
constexpr int measurements = 8;

uint64_t instructions(const network& transport, device_pair& of, const work& what) {
  const int count =
      transport.has_library ? 1 : std::max(1, what.watched_rounds / (2 * measurements));
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < measurements; ++i) {
    const auto counted = base::instructions_of([&] { rounds(of, what, count); });
    least = std::min(least, transport.has_library ? counted.program : counted.all);
  }
  return least;
}

}  // namespace

void Separability::SetUp() {
  if (!base::can_watch_writes())
    GTEST_SKIP() << "NOTHING WAS TESTED: see lci/testing/write_watch/write_watch.h";
}

TEST_P(Separability, NoLineIsWrittenByTwoThreads) {
  const auto& [transport, what] = GetParam();
  with_device_pairs(
      transport, 2, [&transport = transport, &what = *what](std::vector<device_pair>& pairs) {
        worker workers[2];
        base::written_lines lines[2];
        for (size_t i = 0; i < 2; ++i) {
          workers[i].run([&] { rounds(pairs[i], what, warmup_rounds); });
        }
        for (size_t i = 0; i < 2; ++i) {
          workers[i].run([&] {
            lines[i] = base::lines_written_by(
                [&] { rounds(pairs[i], what, watched_rounds(transport, what)); });
          });
        }
        const common_lines common = compare(lines[0], lines[1]);
        EXPECT_EQ(common.of_program, 0) << "lines that both threads write:\n" << common.report;
        if (!transport.library_shares) {
          EXPECT_EQ(common.of_library, 0);
        }
        if (common.of_library > 0) {
          std::cout << "the network's library writes " << common.of_library
                    << " lines in both threads, at " << base::StrJoin(common.in_library, ", ")
                    << "\n";
        }
        // The watch works.
        for (const base::written_lines& each : lines) {
          const auto writes_of = [&each](auto writer) {
            return std::count_if(each.begin(), each.end(),
                                 [&](const auto& line) { return line.second.*writer != nullptr; });
          };
          EXPECT_GT(writes_of(&base::writers::program), 0);
          EXPECT_EQ(writes_of(&base::writers::library) > 0, transport.has_library);
        }
      });
}

TEST_P(Separability, AThreadExecutesAsManyInstructionsWithAnotherThreadAsWithout) {
  const auto& [transport, what] = GetParam();
  uint64_t least[] = {~uint64_t{0}, ~uint64_t{0}};
  uint64_t& alone = least[0];
  uint64_t& accompanied = least[1];
  // The instructions of a copy vary a little with the alignment of its buffers. A lock that two
  // threads share, or a loop that waits for it, takes more.
  const auto is_the_same = [&] {
    return (alone > accompanied ? alone - accompanied : accompanied - alone) <= alone / 50;
  };
  // On a loaded machine each measurement of an attempt may have more work to do, because much time
  // passes between two of its instructions. A longer path is longer in every attempt.
  constexpr int most_attempts = 10;
  for (int attempt = 0; attempt == 0 || (attempt < most_attempts && !is_the_same()); ++attempt) {
    for (const size_t threads : {1, 2}) {
      with_device_pairs(transport, threads, [&, &what = *what](std::vector<device_pair>& pairs) {
        std::vector<worker> workers(threads);
        for (size_t i = 0; i < threads; ++i) {
          workers[i].run([&] { rounds(pairs[i], what, warmup_rounds); });
        }
        uint64_t& shortest = least[threads - 1];
        workers[0].run(
            [&] { shortest = std::min(shortest, instructions(transport, pairs[0], what)); });
      });
    }
  }
  EXPECT_TRUE(is_the_same()) << "instructions: " << alone << " alone, " << accompanied
                             << " with another thread";
}

std::vector<parameter> all_work_over(const std::vector<network>& networks) {
  std::vector<parameter> all;
  for (const network& transport : networks) {
    for (const work& what : all_work()) {
      if (!transport.has_library || !what.registers) all.push_back({transport, &what});
    }
  }
  return all;
}

std::ostream& operator<<(std::ostream& to, const parameter& one) {
  return to << one.transport.name << "_" << one.what->name;
}

std::string name_of(const testing::TestParamInfo<parameter>& info) {
  return testing::PrintToString(info.param);
}

}  // namespace lci::separability
