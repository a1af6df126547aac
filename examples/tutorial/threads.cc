// A table whose entries are distributed over the ranks. Several threads of each rank add random
// values to random entries, each through a device of its own.
//   lcrun -n 4 threads
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "lci.hpp"

namespace {

constexpr int threads = 4;
constexpr int updates_per_thread = 20000;
constexpr uint64_t entries_per_rank = 1024;

std::atomic<uint64_t> table[entries_per_rank];
std::atomic<uint64_t> sum_sent{0};

// [begin inbox]
enum : lci::tag_t { tag_update, tag_end };  // the two kinds of message
struct update {
  uint64_t entry;  // of the receiver's table
  uint64_t value;
};

// A completion object of the program's own: where the messages for one thread arrive. That thread
// alone makes progress on their device, so the counts need no atomics.
struct inbox final : lci::comp_impl_t {
  inbox() { attr.lend_am = true; }  // signal() reads the bytes in the library's memory
  void signal(lci::status_t status) override {
    if (status.get_tag() == tag_update) {
      const auto* const arrived = static_cast<const update*>(status.get_buffer());
      table[arrived->entry] += arrived->value;
      ++received;
    } else {  // a sender's last message: how many updates it has sent here
      expected += *static_cast<const uint64_t*>(status.get_buffer());
      ++ended_senders;
    }
  }
  uint64_t received = 0;
  uint64_t expected = 0;
  uint64_t ended_senders = 0;
};
// [end inbox]

// [begin run]
// The work of thread number `thread`. `rcomp` names the inbox of that thread on every rank.
void run(lci::thread_devices_t devices, int thread, const inbox& own, lci::rcomp_t rcomp) {
  // A message that is posted on device i arrives on device i of the other rank.
  const lci::device_t device = lci::bind_thread_device(devices, thread);
  const auto send = [&](uint64_t to, const void* bytes, size_t size, lci::tag_t tag) {
    const auto post = lci::post_am_x(static_cast<int>(to), bytes, size, lci::COMP_NULL_RETRY, rcomp)
                          .tag(tag)
                          .device(device);
    while (post().is_retry()) lci::progress_x().device(device)();
  };

  const auto ranks = static_cast<uint64_t>(lci::get_rank_n());
  std::mt19937_64 random(static_cast<uint64_t>(lci::get_rank_me() * threads + thread));
  std::vector<uint64_t> sent(ranks);
  for (int i = 0; i < updates_per_thread; ++i) {
    const uint64_t key = random() % (entries_per_rank * ranks);
    const update made{key / ranks, random()};
    send(key % ranks, &made, sizeof(made), tag_update);
    ++sent[key % ranks];
    sum_sent += made.value;
  }
  for (uint64_t to = 0; to < ranks; ++to) send(to, &sent[to], sizeof(sent[to]), tag_end);

  while (own.ended_senders < ranks || own.received < own.expected) {
    lci::progress_x().device(device)();
  }
  lci::wait_drained_x().device(device)();  // no thread polls the device after this
}
// [end run]

}  // namespace

int main() {
  lci::g_runtime_init();
  // [begin main]
  lci::thread_devices_t devices = lci::alloc_thread_devices(threads);
  std::vector<inbox> inboxes(threads);
  std::vector<lci::rcomp_t> rcomps;
  for (inbox& each : inboxes) rcomps.push_back(lci::register_rcomp(&each));
  lci::barrier();

  std::vector<std::thread> running;
  for (size_t t = 0; t < threads; ++t) {
    running.emplace_back(run, devices, static_cast<int>(t), std::cref(inboxes[t]), rcomps[t]);
  }
  for (std::thread& each : running) each.join();
  // [end main]

  // [begin check]
  // All sums are modulo 2^64: what the tables hold, less what was sent, is 0 over all ranks.
  uint64_t difference = 0 - sum_sent;
  for (const std::atomic<uint64_t>& each : table) difference += each;
  const auto add = [](const void* left, const void* right, void* out, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      static_cast<uint64_t*>(out)[i] =
          static_cast<const uint64_t*>(left)[i] + static_cast<const uint64_t*>(right)[i];
    }
  };
  lci::allreduce(&difference, &difference, 1, sizeof(difference), add);
  // [end check]
  std::printf("rank %d: sum %s\n", lci::get_rank_me(), difference == 0 ? "correct" : "WRONG");
  lci::free_thread_devices(&devices);
  lci::g_runtime_fina();
  return difference == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
