// Programs that wait as most do: more threads than processors that post, make progress and look for
// completions in plain loops, and never yield. Sends and receives and active messages, from small
// ones to those that need a rendezvous, over the default device, over one device for each thread,
// and from threads that poll all devices in turn.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

constexpr int threads = 3;
constexpr uint64_t rounds = 60;
constexpr size_t sizes[] = {8, 3000, 100000};

enum class devices { shared, own, all_in_turn };

struct job {
  std::vector<lci::device_t> made;
  lci::rcomp_t names = 0;  // the first of as many as there are threads
  devices how = devices::shared;
};

// One thread, which talks with the thread of its number in the next and the previous rank.
class talker {
 public:
  talker(const job& all, int number)
      : all_(all),
        number_(number),
        to_((lci::get_rank_me() + 1) % lci::get_rank_n()),
        from_((lci::get_rank_me() + lci::get_rank_n() - 1) % lci::get_rank_n()),
        device_(all.made[static_cast<size_t>(number) % all.made.size()]),
        queue_(lci::alloc_cq()),
        name_(all.names + static_cast<lci::rcomp_t>(number)) {
    lci::register_rcomp_x(queue_).rcomp(name_)();
  }
  ~talker() {
    lci::deregister_rcomp(name_);
    lci::free_comp(&queue_);
  }
  talker(const talker&) = delete;
  talker& operator=(const talker&) = delete;

  void talk() {
    lci::comp_t sent = lci::alloc_sync();
    lci::comp_t received = lci::alloc_sync();
    for (uint64_t round = 0; round < rounds; ++round) {
      for (size_t which = 0; which < 3; ++which) {
        exchange(which, round, sent, received);
        notify(which, round, sent);
      }
    }
    lci::free_comp(&sent);
    lci::free_comp(&received);
  }

 private:
  void poll() {
    if (all_.how != devices::all_in_turn) {
      lci::progress_x().device(device_)();
      return;
    }
    for (const lci::device_t each : all_.made) lci::progress_x().device(each)();
  }

  template <class Post>
  lci::status_t accepted(const Post& post) {
    lci::status_t status = post();
    while (status.is_retry()) {
      poll();
      status = post();
    }
    return status;
  }

  void wait(const lci::status_t& posted, lci::comp_t sync) {
    if (!posted.is_posted()) return;
    lci::status_t status;
    while (!lci::sync_test(sync, &status)) poll();
    EXPECT(status.is_done());
  }

  std::vector<unsigned char> bytes_of(int rank, size_t size, uint64_t round) const {
    std::vector<unsigned char> bytes(size);
    for (size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<unsigned char>(static_cast<uint64_t>(rank) * 41 +
                                            static_cast<uint64_t>(number_) * 13 + round * 7 + i);
    }
    return bytes;
  }

  // A send and a receive. Messages with one tag are not ordered where several threads poll a
  // device, so each has a tag of its own.
  void exchange(size_t which, uint64_t round, lci::comp_t sent, lci::comp_t received) {
    const size_t size = sizes[which];
    std::vector<unsigned char> out = bytes_of(lci::get_rank_me(), size, round);
    std::vector<unsigned char> in(size);
    const lci::tag_t tag = (round * 4 + which) * threads + static_cast<lci::tag_t>(number_);
    const lci::status_t receiving =
        accepted(lci::post_recv_x(from_, in.data(), size, tag, received).device(device_));
    const lci::status_t sending =
        accepted(lci::post_send_x(to_, out.data(), size, tag, sent).device(device_));
    wait(receiving, received);
    wait(sending, sent);
    EXPECT(in == bytes_of(from_, size, round));
  }

  // An active message to the next rank, and one of the previous. They may come in another order
  // than they were sent in: the tag says which one it is.
  void notify(size_t which, uint64_t round, lci::comp_t sent) {
    std::vector<unsigned char> out = bytes_of(lci::get_rank_me(), sizes[which], round);
    const lci::status_t sending = accepted(lci::post_am_x(to_, out.data(), out.size(), sent, name_)
                                               .device(device_)
                                               .tag(round * 4 + which));
    lci::status_t status = lci::cq_pop(queue_);
    while (status.is_retry()) {
      poll();
      status = lci::cq_pop(queue_);
    }
    EXPECT(status.get_rank() == from_);
    EXPECT(status.get_tag() % 4 < 3 && status.get_tag() / 4 < rounds);
    EXPECT(!came_[status.get_tag()]);
    came_[status.get_tag()] = true;
    const std::vector<unsigned char> expected =
        bytes_of(from_, sizes[status.get_tag() % 4], status.get_tag() / 4);
    EXPECT(status.get_size() == expected.size());
    EXPECT(std::memcmp(status.get_buffer(), expected.data(), expected.size()) == 0);
    std::free(status.get_buffer());
    wait(sending, sent);
  }

  const job& all_;
  const int number_;
  const int to_;
  const int from_;
  const lci::device_t device_;
  lci::comp_t queue_;
  const lci::rcomp_t name_;
  bool came_[rounds * 4] = {};  // by tag
};

void run(devices how) {
  job all;
  all.how = how;
  all.names = lci::reserve_rcomps(threads);
  const int count = how == devices::shared ? 1 : threads;
  for (int i = 0; i < count; ++i) all.made.push_back(lci::alloc_device());
  {
    std::vector<std::unique_ptr<talker>> talkers;
    for (int i = 0; i < threads; ++i) talkers.push_back(std::make_unique<talker>(all, i));
    lci::barrier();
    std::atomic<int> at_work{threads};
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([&, i] {
        talkers[static_cast<size_t>(i)]->talk();
        --at_work;
        // The neighbors may need this thread's polls for theirs.
        while (at_work > 0) {
          for (const lci::device_t each : all.made) lci::progress_x().device(each)();
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    for (const lci::device_t each : all.made) lci::wait_drained_x().device(each)();
    lci::barrier();
  }
  for (lci::device_t& each : all.made) lci::free_device(&each);
}

void body() {
  lci::g_runtime_init();
  for (const devices how : {devices::shared, devices::own, devices::all_in_turn}) run(how);
  lci::g_runtime_fina();
}

}  // namespace

int main() { return run_test(body); }
