// A runtime that sends parcels (HPX is one): a header as an active message into a completion queue
// that passes packets on, the header assembled in a packet of the library or in memory of the
// program, and then chunks as sends and receives with tags of a range, completed by a queue or by a
// list of synchronizers. Several devices, and one thread that makes progress on all of them.
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "check.h"

namespace {

constexpr int kDevices = 2;
constexpr int kParcels = 30;  // of each device
constexpr size_t kChunk = 30000;

// Completion managers.

struct manager_t {
  virtual ~manager_t() = default;
  virtual lci::comp_t alloc_completion() = 0;
  virtual void enqueue_completion(lci::comp_t comp) = 0;
  virtual void free_completion(lci::comp_t comp) = 0;
  virtual lci::status_t poll() = 0;
};

struct queue_manager_t : manager_t {
  explicit queue_manager_t(bool zero_copy_am = false)
      : queue(lci::alloc_cq_x().zero_copy_am(zero_copy_am)()) {}
  ~queue_manager_t() override { lci::free_comp(&queue); }
  lci::comp_t alloc_completion() override { return queue; }
  void enqueue_completion(lci::comp_t) override {}
  void free_completion(lci::comp_t) override {}
  lci::status_t poll() override {
    lci::status_t status = lci::cq_pop(queue);
    return status;
  }
  lci::comp_t queue;
};

// One synchronizer for each operation; they are looked at in turn.
struct sync_manager_t : manager_t {
  lci::comp_t alloc_completion() override {
    lci::comp_t sync = lci::alloc_sync();
    return sync;
  }
  void enqueue_completion(lci::comp_t comp) override {
    const std::lock_guard<std::mutex> guard(lock);
    syncs.push_back(comp);
  }
  void free_completion(lci::comp_t comp) override { lci::free_comp(&comp); }
  lci::status_t poll() override {
    lci::status_t status;
    lci::comp_t sync;
    {
      const std::lock_guard<std::mutex> guard(lock);
      if (syncs.empty()) return status;
      sync = syncs.front();
      syncs.pop_front();
    }
    // The result is the status's: it stays retry if there was nothing.
    (void)lci::sync_test(sync, &status);
    if (status.is_done()) {
      lci::free_comp(&sync);
    } else {
      enqueue_completion(sync);
    }
    return status;
  }
  std::mutex lock;
  std::deque<lci::comp_t> syncs;
};

// Parcels.

struct header_t {
  int from;
  int number;
  lci::tag_t tag;
  size_t size;  // of the chunk that follows; 0: none
};

struct locality_t {
  int index;
  lci::device_t device;
  std::unique_ptr<queue_manager_t> recv_new;
  std::unique_ptr<manager_t> send;
  std::unique_ptr<manager_t> recv_followup;
  lci::rcomp_t rcomp;
};

struct incoming_t {
  header_t header;
  std::vector<char> chunk;
};

std::atomic<lci::tag_t> next_tag{0};

// A context that keeps what is under way alive.
using context_t = std::shared_ptr<std::vector<char>>;

void send_chunk(locality_t& here, int to, const header_t& header, int* under_way) {
  auto* context = new context_t(
      std::make_shared<std::vector<char>>(compat::bytes_of(header.number, header.size)));
  lci::comp_t completion = nullptr;
  lci::status_t status;
  do {
    if (completion == nullptr) completion = here.send->alloc_completion();
    status = lci::post_send_x(to, (*context)->data(), (*context)->size(), header.tag, completion)
                 .user_context(context)
                 .device(here.device)();
  } while (status.is_retry());
  if (status.is_posted()) {
    here.send->enqueue_completion(completion);
    ++*under_way;
  } else {
    EXPECT(status.is_done());
    EXPECT(std::strcmp(status.get_error().get_str(), "done") == 0 ||
           std::strcmp(status.get_error().get_str(), "done_backlog") == 0);
    here.send->free_completion(completion);
    delete context;
  }
}

// In a packet the library gets it back by the post; memory of the program is freed when it is sent.
void send_header(locality_t& here, int to, const header_t& header, bool in_packet) {
  void* buffer = nullptr;
  if (in_packet) {
    while ((buffer = lci::get_upacket()) == nullptr) lci::progress_x().device(here.device)();
  } else {
    buffer = std::malloc(sizeof(header));
  }
  EXPECT(sizeof(header) <= lci::get_max_bcopy_size());
  std::memcpy(buffer, &header, sizeof(header));
  // Small headers are not expected to be posted.
  lci::status_t status;
  do {
    status = lci::post_am_x(to, buffer, sizeof(header), lci::COMP_NULL_RETRY, here.rcomp)
                 .device(here.device)();
  } while (status.is_retry());
  EXPECT(status.is_done());
  if (!in_packet) std::free(buffer);
}

// One device: all parcels of this rank to the next one, while those of the previous one arrive.
void exchange(locality_t& here) {
  const int to = compat::next_rank();
  int sent = 0;
  int sends_under_way = 0;
  int received = 0;
  int followups = 0;
  std::vector<bool> seen(kParcels, false);
  const auto finish = [&](const incoming_t& parcel) {
    EXPECT_EQ(parcel.header.from, compat::previous_rank());
    EXPECT(compat::are_bytes_of(parcel.header.number, parcel.chunk.data(), parcel.chunk.size()));
    EXPECT(!seen[compat::index_of(parcel.header.number)]);
    seen[compat::index_of(parcel.header.number)] = true;
    ++received;
  };
  while (received < kParcels || sent < kParcels || sends_under_way > 0 || followups > 0) {
    if (sent < kParcels) {
      header_t header = {lci::get_rank_me(), sent, 0, sent % 3 == 2 ? 0 : kChunk >> (sent % 9)};
      if (header.size > 0)
        header.tag = next_tag.fetch_add(1) % lci::get_g_runtime().get_attr_max_tag();
      send_header(here, to, header, sent % 2 == 0);
      if (header.size > 0) send_chunk(here, to, header, &sends_under_way);
      ++sent;
    }
    if (lci::status_t status = here.recv_new->poll(); status.is_done()) {
      auto parcel = std::make_unique<incoming_t>();
      EXPECT_EQ(status.get_size(), sizeof(parcel->header));
      std::memcpy(&parcel->header, status.get_buffer(), sizeof(parcel->header));
      EXPECT_EQ(status.get_rank(), parcel->header.from);
      lci::put_upacket(status.get_buffer());
      parcel->chunk.resize(parcel->header.size);
      if (parcel->header.size == 0) {
        finish(*parcel);
      } else {
        lci::comp_t completion = here.recv_followup->alloc_completion();
        incoming_t* context = parcel.release();
        const auto result = lci::post_recv_x(context->header.from, context->chunk.data(),
                                             context->chunk.size(), context->header.tag, completion)
                                .user_context(context)
                                .device(here.device)();
        if (result.is_done()) {
          here.recv_followup->free_completion(completion);
          finish(*context);
          delete context;
        } else {
          EXPECT(result.is_posted());
          here.recv_followup->enqueue_completion(completion);
          ++followups;
        }
      }
    }
    if (lci::status_t status = here.recv_followup->poll(); status.is_done()) {
      auto* context = static_cast<incoming_t*>(status.get_user_context());
      EXPECT_EQ(status.get_size(), context->chunk.size());
      finish(*context);
      delete context;
      --followups;
    }
    if (lci::status_t status = here.send->poll(); status.is_done()) {
      delete static_cast<context_t*>(status.get_user_context());
      --sends_under_way;
    }
  }
}

void test_with(bool syncs) {
  std::vector<locality_t> localities(kDevices);
  for (int i = 0; i < kDevices; ++i) {
    locality_t& each = localities[compat::index_of(i)];
    each.index = i;
    each.recv_new = std::make_unique<queue_manager_t>(true);
    if (syncs) {
      each.send = std::make_unique<sync_manager_t>();
      each.recv_followup = std::make_unique<sync_manager_t>();
    } else {
      each.send = std::make_unique<queue_manager_t>();
      each.recv_followup = std::make_unique<queue_manager_t>();
    }
    each.rcomp = lci::register_rcomp(each.recv_new->queue);
  }
  for (locality_t& each : localities) each.device = lci::alloc_device();
  lci::barrier();

  std::atomic<bool> run{true};
  std::thread progressing([&] {
    while (run.load()) {
      for (locality_t& each : localities) {
        auto ret = lci::progress_x().device(each.device)();
        (void)ret.is_done();
      }
    }
  });
  std::vector<std::thread> threads;
  for (locality_t& each : localities) threads.emplace_back([&each] { exchange(each); });
  for (std::thread& each : threads) each.join();
  // The other ranks may still need these devices.
  lci::barrier();
  run = false;
  progressing.join();
  for (locality_t& each : localities) {
    lci::free_device(&each.device);
    lci::deregister_rcomp(each.rcomp);
  }
}

void test() {
  lci::global_initialize();
  auto attr = lci::get_g_default_attr();
  if (attr.net_max_recvs * kDevices > attr.npackets / 2) {
    attr.net_max_recvs = attr.npackets / 2 / kDevices;
  }
  lci::set_g_default_attr(attr);
  lci::g_runtime_init();
  test_with(false);
  test_with(true);
  lci::barrier();
  lci::g_runtime_fina();
  lci::global_finalize();
}

}  // namespace

int main() { return compat::run(test); }
