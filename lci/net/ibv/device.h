#ifndef LCI_NET_IBV_DEVICE_H_
#define LCI_NET_IBV_DEVICE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/status.h"
#include "lci/base/wakeup.h"
#include "lci/ds/spinlock.h"
#include "lci/ds/stealing_pool.h"
#include "lci/net/backend.h"
#include "lci/net/fifo.h"
#include "lci/net/ibv/context.h"
#include "lci/net/ibv/lengths.h"
#include "lci/net/ibv/peer.h"
#include "lci/net/ibv/resources.h"
#include "lci/net/ibv/send_queue.h"
#include "lci/net/ibv/source_table.h"
#include "lci/net/ibv/wire.h"
#include "lci/net/mpsc_free_list.h"

namespace lci::net::ibv {

// A completion queue, a shared receive queue, and for each rank three reliable connections
// (resources.h), after the SC'25 paper, section 5.2.3.
//
// A message that fits goes into the send queue itself, a longer one into a packet, and arrives in a
// packet of the target's. Puts and gets are RDMA writes and reads, and leave through a queue pair
// of their own: a wrong one breaks it, which keeps messages, and what the peer is doing, as they
// are; then it is made new, and what had followed is posted again (renewal.cc).
//
// Thread safety: as net::device says. Try-locks where the provider has locks: each send queue, or
// all together (ibv_td_strategy), and the completion queue, with which the shared receive queue
// goes. A poll takes a send queue's lock only where something is wrong, and a post no other lock.
class rdma_device final : public device {
 public:
  static base::StatusOr<std::unique_ptr<device>> make(rdma_context& context, boot::bootstrap& boot,
                                                      const device_config& config);
  ~rdma_device() override;

  error_t post(const op& operation) override;
  error_t inject(int rank, net_imm_data_t imm, const void* buffer, size_t size) override;
  error_t poll(completion* out, size_t max, size_t* count) override;
  void release(const completion& received) override;
  bool drained() override;
  std::vector<int> wait_descriptors() const override;
  std::chrono::microseconds arm() override;

  // For another device of the context, which is being polled.
  void answer_hails();

 private:
  // In the number of a work request: it is a receive.
  static constexpr uint64_t receive_bit = uint64_t{1} << 63;
  // It is a pulse of the rank in the lower bits.
  static constexpr uint64_t pulse_bit = uint64_t{1} << 62;

  // All ranks are told, in turn, that `rank` has failed.
  struct obituary {
    int rank;
    int next = 0;                                    // who is told next
    int rounds = 0;                                  // times that all have been told
    std::chrono::steady_clock::time_point due = {};  // of the next round
  };

  // What one poll has to give away.
  struct batch {
    completion* out;
    size_t max;
    size_t count = 0;

    bool full() const { return count == max; }
  };

  rdma_device(rdma_context& context, boot::bootstrap& boot, const device_config& config,
              const lengths& chosen);

  // ---- making and ending (device.cc)
  base::Status open();
  base::Status connect(boot::bootstrap& boot);
  base::Status read_offer(int rank, std::string_view bytes);
  base::Status connect_to(int rank);
  base::Status greet(std::chrono::nanoseconds patience);
  void end();
  bool has_said_goodbye();

  // ---- posting (posts.cc)
  error_t refuse(peer& to);
  error_t may_send(peer& to);
  error_t post_send(const op& operation);
  error_t post_rma(const op& operation);
  // With the lock of the queue. 0 or errno.
  int post_again(send_queue& through, const work& what);
  // False if there is no room now.
  bool send_control(int rank, const control& sent, work::kind what);
  bool send_marker(peer& to);

  // ---- completions (completions.cc)
  void read_completions(batch* given);
  void take(const ibv_wc& entry, batch* given);
  void receive(const ibv_wc& entry, batch* given);
  void take_control(int rank, const arrival& here, size_t size);
  void sent(const ibv_wc& entry, batch* given);
  void finish(int rank, work& over, bool failed, batch* given);
  void give(batch* given, const completion& one);
  void give_ready(batch* given);
  void post_receives();
  bool completes_now();

  // ---- puts and gets that were wrong (renewal.cc)
  void write_failed(int rank, const ibv_wc& entry, batch* given);
  void renew_writes(int rank);
  void renew_written(int rank, uint32_t first_packet);
  void renewed(int rank);
  void work_off();
  void wait(int rank);

  // ---- connecting on first use (meeting.cc)
  void want(peer& to);
  void meet();
  void meet_now(bool any);
  void begin_meeting(int rank);
  bool say(int to, hail_kind kind, int about);
  void take_hail(const hail& got);
  void take_numbers(const hail& got);
  void open_for_posts(int rank);

  // ---- neighbours in the circle, where queue pairs are connected on first use (watching.cc)
  bool connects_at_start(int rank) const;
  int nearest(int rank, int step);
  void close_circle(int lost);
  void tell_of_lost();
  void seek(int rank);
  void take_word(const hail& got);

  // ---- failures (failures.cc)
  void look_for_failures();
  void ask_for_pulse(int rank);
  void take_pulse(int rank, bool answered);
  void suspect(int rank, const std::string& reason);
  void judge();
  void report(int rank);
  void stop(int rank);
  void take_bye(int rank);

  far_end far_end_of(int rank, uint32_t number);
  void set_state(peer& other, peer_state state);

  peer& with(int rank) { return peers_[static_cast<size_t>(rank)]; }
  bool is_us(int rank) const { return rank == context_.rank(); }

  rdma_context& context_;
  const verbs& verbs_;
  const int ranks_;
  const device_config config_;
  const lengths lengths_;
  std::unique_ptr<resources> own_;
  uint32_t max_inline_ = 0;
  const uint32_t first_packet_;              // that each of our queue pairs sends
  const bool late_;                          // queue pairs are connected on first use
  const std::chrono::nanoseconds patience_;  // with a rank that does not answer
  std::atomic<bool> any_wanted_{false};
  base::wakeup sleeper_;  // open: somebody may sleep
  bool connected_ = false;
  ds::spinlock queues_lock_;       // of all send queues, where they share one
  std::unique_ptr<peer[]> peers_;  // by rank

  // To send what does not fit into a send queue. What a thread takes it mostly gives back.
  struct owner_of {
    uint32_t operator()(const packet& element) const { return element.owner; }
  };
  ds::stealing_pool<packet, owner_of> packets_{/*return_threshold=*/64};
  std::unique_ptr<packet[]> all_packets_;
  mpsc_free_list<arrival> returned_;

  alignas(64) ds::spinlock lock_;  // of the completion queue, and all below
  source_table sources_;
  base::aligned_array<arrival> arrivals_;
  arrival* unposted_ = nullptr;        // to be received into, a list by `next`
  base::aligned_vector<int> waiting_;  // ranks with peer::waiting
  std::vector<int> meetings_;          // ranks that are hailed
  std::vector<obituary> obituaries_;   // that the others are told of
  bool is_cut_off_ = false;            // what it finds out about others is its own fault
  fifo<completion> ready_;             // to be given before all others
  bool moved_ = false;                 // during this poll
  uint32_t polls_ = 0;
  uint32_t emptied_ = 0;  // times that a read left nothing in the completion queue
  int suspects_ = 0;      // peers in state suspected
  int next_probe_ = 0;
  std::chrono::steady_clock::time_point last_look_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_DEVICE_H_
