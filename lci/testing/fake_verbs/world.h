// The state behind the simulated devices, and the objects of verbs that they make.
#ifndef LCI_TESTING_FAKE_VERBS_WORLD_H_
#define LCI_TESTING_FAKE_VERBS_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "lci/testing/fake_verbs/fake_verbs.h"
#include "lci/testing/library_call/library_call.h"

namespace lci::net::ibv::fake {

inline constexpr uint32_t psn_mask = 0xffffff;  // packet numbers have 24 bits

struct fake_channel : ibv_comp_channel {
  std::deque<ibv_cq*> events;
};

struct fake_cq : ibv_cq {
  std::deque<ibv_wc> entries;
  bool broken = false;
  bool notifies = false;  // the next entry makes an event
};

struct receive {
  uint64_t id;
  unsigned char* bytes;
  uint32_t size;
};

struct fake_srq : ibv_srq {
  size_t capacity = 0;
  std::deque<receive> receives;
};

struct send {
  ibv_send_wr request = {};
  std::vector<unsigned char> inlined;
  std::vector<ibv_sge> pieces;
  uint32_t size = 0;
  uint32_t packet = 0;  // packet number; one per request, however long it is
};

struct fake_qp : ibv_qp {
  uint32_t depth = 0;
  uint32_t inline_bytes = 0;
  uint32_t key = 0;
  uint32_t peer = 0;
  uint8_t timeout = 0;
  bool dead = false;
  bool silent = false;
  uint32_t next_psn = 0;      // of the next packet sent
  uint32_t expected_psn = 0;  // of the next packet accepted
  std::deque<send> sends;
  std::deque<receive> receives;  // without a shared queue
};

struct fake_context : ibv_context {};

struct fake_world {
  std::mutex mutex;
  fake_settings settings;
  fake_counts counts;
  std::vector<ibv_device> devices;
  std::map<uint32_t, fake_qp*> queue_pairs;
  std::map<uint32_t, ibv_mr*> registrations;  // by key
  uint32_t next_number = 100;
  uint32_t next_key = 1;
  uint32_t datagrams = 0;
};

inline fake_world& world() {
  static auto* once = new fake_world;
  return *once;
}

// Holds the mutex. Code under it counts as a library's for the write watch of tests.
class world_lock {
 public:
  explicit world_lock(std::mutex& mutex) : held_(mutex) {}

 private:
  const base::library_call here_;
  const std::lock_guard<std::mutex> held_;
};

template <class T>
int destroy_object(T* object) {
  const world_lock held(world().mutex);
  --world().counts.objects;
  delete object;
  return 0;
}

template <class T>
T* make_object() {
  ++world().counts.objects;
  return new T();
}

}  // namespace lci::net::ibv::fake

#endif  // LCI_TESTING_FAKE_VERBS_WORLD_H_
