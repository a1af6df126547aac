// Active messages between processes, through the public interface: every size class, from more
// threads than cores, which never yield, over the shared default device and over devices of the
// threads' own.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

constexpr int threads = 4;
// Fewer by LCI_TEST_ROUNDS, on machines that are slow.
const int rounds =
    std::getenv("LCI_TEST_ROUNDS") != nullptr ? std::atoi(std::getenv("LCI_TEST_ROUNDS")) : 20;
constexpr size_t sizes[] = {8, 9, 64, 4096, 8191, 8192, 8193, 100000, 1 << 20};

// The first 8 bytes say what the others are.
void fill(std::vector<unsigned char>* message, uint64_t seed) {
  std::memcpy(message->data(), &seed, sizeof(seed));
  for (size_t i = sizeof(seed); i < message->size(); ++i) {
    (*message)[i] = static_cast<unsigned char>(seed + i * 7);
  }
}

void check(const lci::status_t& status) {
  const auto* bytes = static_cast<const unsigned char*>(status.get_buffer());
  uint64_t seed;
  std::memcpy(&seed, bytes, sizeof(seed));
  EXPECT(seed % 1000 == static_cast<uint64_t>(status.get_rank()));
  for (size_t i = sizeof(seed); i < status.get_size(); ++i) {
    EXPECT(bytes[i] == static_cast<unsigned char>(seed + i * 7));
  }
}

struct job {
  lci::comp_t queue;
  lci::rcomp_t rcomp;
  int64_t expected;
  std::atomic<int64_t> received{0};
};

void work(job* shared, lci::device_t device, int thread) {
  const int rank = lci::get_rank_me();
  lci::comp_t sent = lci::alloc_sync();
  const auto receive = [&] {
    lci::progress_x().device(device)();
    const lci::status_t status = lci::cq_pop(shared->queue);
    if (!status.is_done()) return;
    check(status);
    std::free(status.get_buffer());
    ++shared->received;
  };
  for (int round = 0; round < rounds; ++round) {
    for (size_t size : sizes) {
      for (int to = 0; to < lci::get_rank_n(); ++to) {
        std::vector<unsigned char> message(size);
        fill(&message,
             static_cast<uint64_t>(round * threads + thread) * 1000 + static_cast<uint64_t>(rank));
        auto post = lci::post_am_x(to, message.data(), size, sent, shared->rcomp).device(device);
        lci::status_t status = post();
        while (status.is_retry()) {
          receive();
          status = post();
        }
        if (status.is_posted()) {
          while (!lci::sync_test(sent, &status)) receive();
          EXPECT(status.is_done());
        }
        EXPECT(status.get_buffer() == message.data());
        EXPECT(status.get_size() == size);
      }
    }
  }
  while (shared->received < shared->expected) receive();
  lci::wait_drained_x().device(device)();
  lci::free_comp(&sent);
}

void run(bool own_devices) {
  job shared;
  shared.queue = lci::alloc_cq();
  shared.rcomp = lci::register_rcomp(shared.queue);
  shared.expected = int64_t{threads} * rounds *
                    static_cast<int64_t>(sizeof(sizes) / sizeof(sizes[0])) * lci::get_rank_n();
  lci::barrier();
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&shared, own_devices, t] {
      lci::device_t device = own_devices ? lci::alloc_device() : lci::get_default_device();
      work(&shared, device, t);
      if (own_devices) lci::free_device(&device);
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT(shared.received == shared.expected);
  lci::barrier();
  EXPECT(lci::cq_pop(shared.queue).is_retry());
  lci::deregister_rcomp(shared.rcomp);
  lci::free_comp(&shared.queue);
}

void body() {
  lci::g_runtime_init();
  run(/*own_devices=*/false);
  run(/*own_devices=*/true);
  lci::g_runtime_fina();
}

}  // namespace

int main() { return run_test(body); }
