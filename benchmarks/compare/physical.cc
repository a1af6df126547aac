// Measures what the machine allows two processes: the limits that the libraries of the comparison
// are measured against.
//   line      one cache line each way, holding nothing but a number
//   ring      one producer's ring of 64-byte slots, read in place
//   copy      in through shared chunks by one process, out of them by the other, at the same time
//   vm_readv  the kernel copies from the sender's memory into the receiver's, once
//   (process_vm_readv)
// None of them matches, orders between threads or checks anything: no library can do with less.
#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "benchmarks/compare/pair_bench.h"
#include "benchmarks/compare/pair_options.h"
#include "benchmarks/compare/two_processes.h"

namespace compare {
namespace {

// Waits as all of our programs do: processor to itself, then a chance for others (more threads than
// processors).
template <class Condition>
void spin_until(const Condition& condition) {
  for (int polls = 0; !condition(); ++polls) {
    if (polls >= 256) {
      sched_yield();
      polls = 0;
    }
  }
}

struct alignas(128) counter_t {
  std::atomic<uint64_t> value{0};
};

// A word each way that the answers go through. At most two are under way, and the harness knows
// them apart by their value, so two slots taken in turn lose none.
struct answers_t {
  counter_t slot[2];
};

class answer_connection {
 public:
  answer_connection(answers_t* out, answers_t* in) : out_(*out), in_(*in) {}
  void answer(uint64_t value) {
    out_.slot[answered_++ % 2].value.store(value, std::memory_order_release);
  }
  uint64_t await_answer() {
    std::atomic<uint64_t>& slot = in_.slot[awaited_++ % 2].value;
    uint64_t value = 0;
    spin_until([&] { return (value = slot.exchange(0, std::memory_order_acquire)) != 0; });
    return value;
  }

 private:
  answers_t& out_;
  answers_t& in_;
  uint64_t answered_ = 0;
  uint64_t awaited_ = 0;
};

// The arguments of start_receives().
struct due_t {
  char* data = nullptr;
  size_t size = 0;
  int count = 0;
};

// Line.

struct line_channel {
  counter_t line;
  answers_t answers;
};

class line_connection : public answer_connection {
 public:
  line_connection(line_channel* out, line_channel* in, pid_t)
      : answer_connection(&out->answers, &in->answers), out_(*out), in_(*in) {}
  void send(const char* data, size_t) {
    uint64_t number = 0;
    std::memcpy(&number, data, sizeof number);
    out_.line.value.store(number, std::memory_order_release);
  }
  void receive(char* data, size_t) {
    uint64_t number = seen_;
    spin_until([&] {
      number = in_.line.value.load(std::memory_order_acquire);
      return number != seen_;
    });
    seen_ = number;
    std::memcpy(data, &number, sizeof number);
  }
  // Of several numbers, a line holds the last. main_of() refuses.
  void start_sends(int, const char*, size_t, int) { std::abort(); }
  void finish_sends(int) { std::abort(); }
  void start_receives(int, char*, size_t, int) { std::abort(); }
  void finish_receives(int) { std::abort(); }

 private:
  line_channel& out_;
  line_channel& in_;
  uint64_t seen_ = 0;
};

// Ring and copy: the receiver takes messages as it waits for them.

// Derived: a class with send() and receive().
template <class Derived>
class streaming_connection : public answer_connection {
 public:
  using answer_connection::answer_connection;
  void start_sends(int, const char* data, size_t size, int count) {
    for (int i = 0; i < count; ++i) {
      static_cast<Derived&>(*this).send(data, size);
    }
  }
  void finish_sends(int) {}
  void start_receives(int half, char* data, size_t size, int count) {
    due_[half] = {data, size, count};
  }
  void finish_receives(int half) {
    for (int i = 0; i < due_[half].count; ++i) {
      static_cast<Derived&>(*this).receive(due_[half].data, due_[half].size);
    }
  }

 private:
  due_t due_[2];
};

constexpr size_t ring_payload = 56;

struct alignas(64) ring_slot {
  std::atomic<uint32_t> sequence{0};
  uint32_t size = 0;
  char data[ring_payload] = {};
};

struct ring_channel {
  static constexpr uint64_t slots = 1024;
  ring_slot slot[slots];
  counter_t read;  // slots that the receiver has given back
  answers_t answers;
};

// The size of most measurements is known to the compiler.
inline void copy_small(char* to, const char* from, size_t size) {
  if (size == sizeof(uint64_t)) {
    std::memcpy(to, from, sizeof(uint64_t));
  } else {
    std::memcpy(to, from, size);
  }
}

class ring_connection : public streaming_connection<ring_connection> {
 public:
  ring_connection(ring_channel* out, ring_channel* in, pid_t)
      : streaming_connection(&out->answers, &in->answers), out_(*out), in_(*in) {}
  void send(const char* data, size_t size) {
    if (sent_ - known_read_ >= ring_channel::slots) {
      spin_until([this] {
        known_read_ = out_.read.value.load(std::memory_order_acquire);
        return sent_ - known_read_ < ring_channel::slots;
      });
    }
    ring_slot& slot = out_.slot[sent_ % ring_channel::slots];
    copy_small(slot.data, data, size);
    slot.size = static_cast<uint32_t>(size);
    ++sent_;
    slot.sequence.store(static_cast<uint32_t>(sent_), std::memory_order_release);
  }
  void receive(char* data, size_t) {
    ring_slot& slot = in_.slot[received_ % ring_channel::slots];
    const auto due = static_cast<uint32_t>(received_ + 1);
    spin_until([&] { return slot.sequence.load(std::memory_order_acquire) == due; });
    copy_small(data, slot.data, slot.size);
    ++received_;
    // Rarely, because it takes the line from the sender.
    if (received_ % 64 == 0) {
      in_.read.value.store(received_, std::memory_order_release);
    }
  }

 private:
  ring_channel& out_;
  ring_channel& in_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  uint64_t known_read_ = 0;
};

constexpr size_t chunk_bytes = 8192;

struct copy_channel {
  // Together small enough to fit into the cache next to the buffers.
  static constexpr uint64_t chunks = 8;
  alignas(4096) char data[chunks][chunk_bytes];
  counter_t written;
  counter_t read;
  answers_t answers;
};

class copy_connection : public streaming_connection<copy_connection> {
 public:
  copy_connection(copy_channel* out, copy_channel* in, pid_t)
      : streaming_connection(&out->answers, &in->answers), out_(*out), in_(*in) {}
  void send(const char* data, size_t size) {
    for (size_t at = 0; at < size; at += chunk_bytes) {
      spin_until([this] {
        return sent_ - out_.read.value.load(std::memory_order_acquire) < copy_channel::chunks;
      });
      std::memcpy(out_.data[sent_ % copy_channel::chunks], data + at,
                  std::min(chunk_bytes, size - at));
      ++sent_;
      out_.written.value.store(sent_, std::memory_order_release);
    }
  }
  void receive(char* data, size_t size) {
    for (size_t at = 0; at < size; at += chunk_bytes) {
      spin_until([this] { return in_.written.value.load(std::memory_order_acquire) > received_; });
      std::memcpy(data + at, in_.data[received_ % copy_channel::chunks],
                  std::min(chunk_bytes, size - at));
      ++received_;
      in_.read.value.store(received_, std::memory_order_release);
    }
  }

 private:
  copy_channel& out_;
  copy_channel& in_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

// vm_readv.

struct vm_readv_channel {
  counter_t offered;  // messages, in all
  std::atomic<const char*> address[2] = {{nullptr},
                                         {nullptr}};  // of those of each half, in the sender
  counter_t taken;
  answers_t answers;
};

class vm_readv_connection : public answer_connection {
 public:
  vm_readv_connection(vm_readv_channel* out, vm_readv_channel* in, pid_t other)
      : answer_connection(&out->answers, &in->answers), out_(*out), in_(*in), other_(other) {}
  void send(const char* data, size_t size) {
    start_sends(0, data, size, 1);
    finish_sends(0);
  }
  void receive(char* data, size_t size) {
    start_receives(0, data, size, 1);
    finish_receives(0);
  }
  void start_sends(int half, const char* data, size_t, int count) {
    out_.address[half].store(data, std::memory_order_relaxed);
    sent_ += static_cast<uint64_t>(count);
    sent_until_[half] = sent_;
    out_.offered.value.store(sent_, std::memory_order_release);
  }
  void finish_sends(int half) {
    spin_until([this, half] {
      return out_.taken.value.load(std::memory_order_acquire) >= sent_until_[half];
    });
  }
  void start_receives(int half, char* data, size_t size, int count) {
    due_[half] = {data, size, count};
  }
  void finish_receives(int half) {
    const due_t due = due_[half];
    received_ += static_cast<uint64_t>(due.count);
    spin_until([this] { return in_.offered.value.load(std::memory_order_acquire) >= received_; });
    for (int i = 0; i < due.count; ++i) {
      const iovec local{due.data, due.size};
      const iovec remote{const_cast<char*>(in_.address[half].load(std::memory_order_relaxed)),
                         due.size};
      if (process_vm_readv(other_, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(due.size)) {
        std::fprintf(stderr, "process_vm_readv: %s\n", std::strerror(errno));
        std::_Exit(1);
      }
    }
    in_.taken.value.store(received_, std::memory_order_release);
  }

 private:
  vm_readv_channel& out_;
  vm_readv_channel& in_;
  pid_t other_;
  uint64_t sent_ = 0;
  uint64_t sent_until_[2] = {0, 0};
  uint64_t received_ = 0;
  due_t due_[2];
};

// All variants.

template <class Channel, class Connection>
class transport {
 public:
  transport(two_processes* processes, int threads) : processes_(*processes) {
    auto* const channels = static_cast<Channel*>(processes->shared());
    if (processes->rank() == 0) {
      for (int i = 0; i < 2 * threads; ++i) {
        new (channels + i) Channel;
      }
    }
    processes->meet();
    for (int t = 0; t < threads; ++t) {
      Channel* const from_0 = channels + 2 * t;
      Channel* const from_1 = from_0 + 1;
      if (processes->rank() == 0) {
        connections_.emplace_back(from_0, from_1, processes->other());
      } else {
        connections_.emplace_back(from_1, from_0, processes->other());
      }
    }
  }
  int rank() const { return processes_.rank(); }
  void meet() { processes_.meet(); }
  Connection& connection(int thread) { return connections_[static_cast<size_t>(thread)]; }

 private:
  two_processes& processes_;
  std::vector<Connection> connections_;
};

template <class Channel, class Connection>
void run(const options_t& options) {
  two_processes processes(sizeof(Channel) * 2 * static_cast<size_t>(options.threads));
  transport<Channel, Connection> over(&processes, options.threads);
  result_t result = measure(&over, options);
  if (processes.rank() == 0) {
    print_result(stdout, options, "physical", &result);
  }
}

int main_of(int argc, char** argv) {
  options_t options;
  std::string wrong = parse_options(argc, argv, {"line", "ring", "copy", "vm_readv"}, &options);
  if (wrong.empty() && options.op == "line" &&
      (options.test != test_t::latency || options.size != sizeof(uint64_t))) {
    wrong = "--op line is for --test latency --size 8";
  }
  if (wrong.empty() && options.op == "ring" && options.size > ring_payload) {
    wrong = "--op ring has slots for --size 56 at most";
  }
  if (!wrong.empty()) {
    std::fprintf(stderr, "physical: %s\n", wrong.c_str());
    return 2;
  }
  if (options.op == "line") {
    run<line_channel, line_connection>(options);
  } else if (options.op == "ring") {
    run<ring_channel, ring_connection>(options);
  } else if (options.op == "copy") {
    run<copy_channel, copy_connection>(options);
  } else {
    run<vm_readv_channel, vm_readv_connection>(options);
  }
  return 0;
}

}  // namespace
}  // namespace compare

int main(int argc, char** argv) { return compare::main_of(argc, argv); }
