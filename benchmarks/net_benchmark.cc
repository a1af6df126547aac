// Measures a backend's device by itself: latency and rate of raw posts between two processes,
// with what the machine can do at all in the same run (Ring...: a bare ring of cache lines).
// Compare only within a run: virtual machines move their cores closer together and further apart.
//
//   bazel run -c opt //benchmarks:net_benchmark
//
// The processes are bound to the first two cores that they may use.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "lci/base/backoff.h"
#include "lci/net/backend.h"
#include "lci/testing/job/test_job.h"

namespace {

using lci::error_t;
namespace net = lci::net;

enum : lci::net_imm_data_t { imm_count = 1, imm_echo = 2 };
enum : int { mode_device, mode_ring_echo, mode_ring_stream, mode_end };

// The bare ring.

constexpr uint64_t ring_cells = 1024;

struct alignas(64) ring_cell {
  std::atomic<uint64_t> sequence;
  uint64_t value;
};

struct bare_ring {
  ring_cell cells[ring_cells];
  alignas(64) std::atomic<uint64_t> read;

  void write(uint64_t n, uint64_t value) {
    ring_cell& cell = cells[n % ring_cells];
    cell.value = value;
    cell.sequence.store(n + 1, std::memory_order_release);
  }
  bool arrived(uint64_t n) const {
    return cells[n % ring_cells].sequence.load(std::memory_order_acquire) == n + 1;
  }
};

// Mapped by both processes.
struct shared_area {
  std::atomic<int> mode;
  bare_ring there, back, stream;
};
shared_area* shared;

template <class Ready>
void wait_until(const Ready& ready) {
  lci::base::backoff backoff;
  while (!ready()) backoff.idle();
}

// Of both processes, each its own.
uint64_t echo_count = 0;
uint64_t stream_count = 0;
uint64_t stream_read = 0;

void RingLatency(benchmark::State& state) {
  shared->mode = mode_ring_echo;
  for (auto _ : state) {
    shared->there.write(echo_count, echo_count);
    wait_until([] { return shared->back.arrived(echo_count); });
    ++echo_count;
  }
  state.counters["one_way_s"] =
      benchmark::Counter(2 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void RingRate(benchmark::State& state) {
  shared->mode = mode_ring_stream;
  for (auto _ : state) {
    wait_until([] {
      if (stream_count - stream_read < ring_cells) return true;
      stream_read = shared->stream.read.load(std::memory_order_acquire);
      return false;
    });
    shared->stream.write(stream_count, stream_count);
    ++stream_count;
  }
  state.SetItemsProcessed(state.iterations());
}

// The device.

net::device* device;
char bytes[8192];

net::op make_send(int rank, lci::net_imm_data_t imm, size_t size) {
  net::op send;
  send.inject = true;
  send.rank = rank;
  send.imm = imm;
  send.buffer = bytes;
  send.size = size;
  return send;
}

// Counts echoes that have come back, and answers messages that ask for an echo.
uint64_t poll() {
  net::completion completions[16];
  size_t count = 0;
  static_cast<void>(device->poll(completions, 16, &count));
  for (size_t i = 0; i < count; ++i) {
    const net::op answer = make_send(completions[i].rank, imm_count, completions[i].size);
    const bool echo = completions[i].imm == imm_echo;
    benchmark::DoNotOptimize(*static_cast<const char*>(completions[i].buffer));
    device->release(completions[i]);
    while (echo && !device->post(answer).is_done()) {
    }
  }
  return count;
}

void DeviceLatency(benchmark::State& state) {
  shared->mode = mode_device;
  const net::op ping = make_send(1, imm_echo, static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    while (!device->post(ping).is_done()) poll();
    wait_until([] { return poll() != 0; });
  }
  state.counters["one_way_s"] =
      benchmark::Counter(2 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void DeviceRate(benchmark::State& state) {
  shared->mode = mode_device;
  const net::op send = make_send(1, imm_count, static_cast<size_t>(state.range(0)));
  lci::base::backoff backoff;
  for (auto _ : state) {
    while (!device->post(send).is_done()) {
      static_cast<void>(poll());
      backoff.idle();
    }
    backoff.reset();
  }
  // All of it, so that the next measurement begins with empty rings.
  while (!device->post(make_send(1, imm_echo, 8)).is_done()) poll();
  wait_until([] { return poll() != 0; });
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(RingLatency)->UseRealTime();
BENCHMARK(DeviceLatency)->Arg(8)->Arg(64)->Arg(1024)->Arg(4096)->UseRealTime();
BENCHMARK(RingRate)->UseRealTime();
BENCHMARK(DeviceRate)->Arg(8)->Arg(64)->Arg(1024)->Arg(4096)->UseRealTime();

// The other process.

void serve() {
  lci::base::backoff backoff;
  for (;;) {
    bool moved = false;
    switch (shared->mode.load(std::memory_order_relaxed)) {
      case mode_device:
        moved = poll() != 0;
        break;
      case mode_ring_echo:
        if (!shared->there.arrived(echo_count)) break;
        shared->back.write(echo_count, echo_count);
        ++echo_count;
        moved = true;
        break;
      case mode_ring_stream:
        while (shared->stream.arrived(stream_count)) {
          benchmark::DoNotOptimize(shared->stream.cells[stream_count % ring_cells].value);
          if (++stream_count % 64 == 0) {
            shared->stream.read.store(stream_count, std::memory_order_release);
          }
          moved = true;
        }
        break;
      default:
        return;
    }
    if (moved) {
      backoff.reset();
    } else {
      backoff.idle();
    }
  }
}

void bind_to_core(int which) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || which-- > 0) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    sched_setaffinity(0, sizeof(own), &own);
    return;
  }
}

bool run_rank(lci::boot::test_job& job, int rank) {
  bind_to_core(rank);
  auto boot = job.connect(rank);
  if (!boot.ok()) return false;
  auto network = net::find_backend(lci::attr_backend_t::none, /*one_host=*/true)->make(**boot, {});
  if (!network.ok()) {
    std::fprintf(stderr, "%s\n", network.status().ToString().c_str());
    return false;
  }
  auto made = (*network)->make_device(net::device_config());
  if (!made.ok()) {
    std::fprintf(stderr, "%s\n", made.status().ToString().c_str());
    return false;
  }
  device = made->get();
  if (rank == 0) {
    benchmark::RunSpecifiedBenchmarks();
    shared->mode = mode_end;
  } else {
    serve();
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  void* area =
      mmap(nullptr, sizeof(shared_area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) return 1;
  shared = new (area) shared_area();
  lci::boot::test_job job(lci::boot::test_job::variant::file, 2);
  return job.run_processes([&job](int rank) { return run_rank(job, rank); }) == 0 ? 0 : 1;
}
