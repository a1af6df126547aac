#ifndef LCI_NET_OFI_DEVICE_H_
#define LCI_NET_OFI_DEVICE_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lci/base/cache_aligned.h"
#include "lci/base/status.h"
#include "lci/base/wakeup.h"
#include "lci/ds/spinlock.h"
#include "lci/net/backend.h"
#include "lci/net/fifo.h"
#include "lci/net/mpsc_free_list.h"
#include "lci/net/ofi/coalescing.h"
#include "lci/net/ofi/context.h"
#include "lci/net/ofi/domain.h"
#include "lci/net/ofi/endpoint.h"
#include "lci/net/ofi/immediate.h"
#include "lci/net/ofi/packets.h"
#include "lci/net/ofi/peer.h"
#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {

// An endpoint with a completion queue and, where possible, a domain of its own.
//
// A send is copied into a packet. The packet leaves at once, or coalesces with further sends until
// it is full or the device is polled (coalescing.h).
//
// Thread safety: that of net::device. One lock, which post and poll only try, keeps threads from
// waiting in the provider, whose own locks block (SC'25 paper, section 5.2.4). release takes no
// lock.
class alignas(base::cache_line_size) ofi_device final : public device {
 public:
  static base::StatusOr<std::unique_ptr<device>> make(ofi_context& context, boot::bootstrap& boot,
                                                      const device_config& config);
  ~ofi_device() override;

  error_t post(const op& operation) override;
  error_t post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                     const remote_place* where) override;
  error_t poll(completion* out, size_t max, size_t* count) override;
  void release(const completion& received) override;
  bool drained() override;
  bool has_left(int rank) override;
  std::vector<int> wait_descriptors() const override;
  std::chrono::microseconds arm() override;

 private:
  // The completions that one poll delivers.
  struct batch {
    completion* out;
    size_t max;
    size_t count = 0;

    bool full() const { return count == max; }
    void add(const completion& added) { out[count++] = added; }
  };
  // The objects that a forked child must not touch. Closed from the last to the first.
  struct resources {
    resources() = default;
    resources(const resources&) = delete;
    resources& operator=(const resources&) = delete;
    ~resources() {
      if (own_domain != nullptr) own_domain->remove_all();
    }

    std::shared_ptr<fid_fabric> fabric;
    std::unique_ptr<domain> own_domain;
    domain* active_domain = nullptr;  // own_domain, or the shared one
    packet_memory outgoing;
    packet_memory incoming;
    endpoint ep;
  };
  // On whose behalf a packet or an access is taken; progress may take the reserved ones.
  enum class claim : uint8_t { post, progress };

  ofi_device(ofi_context& context, const device_config& config);

  // Making and ending (device.cc).
  base::Status open();
  base::Status connect(boot::bootstrap& boot);
  base::Status insert(int rank, const std::string& offer);
  base::Status greet(boot::bootstrap& boot);
  // Aborted, which the job then knows, if a rank is gone.
  base::Status first_failure(boot::bootstrap& boot) const;
  bool descriptor_settles();
  void end();
  bool has_said_goodbye();

  // Packets (traffic.cc).
  // Returns false if there is no room now.
  bool append(int rank, const outgoing_record& record, claim by);
  packet* take_packet(int rank, claim by);
  bool flush(int rank);
  bool send_free(int rank, const outgoing_record* record);
  bool inject_alone(int rank, const outgoing_record& record);
  bool confirm(int rank);
  void send_behind(int rank);
  bool send(packet& leaving, bool free);
  template <class Hand>
  bool hand_over(int rank, packet_header* header, bool free, Hand hand);
  void receive(packet& arrived, size_t size);
  void sent(packet& finished);
  void recycle(packet& finished);
  int64_t repost(packet& finished);
  void drop_user(packet& used);
  void take_returned();
  void process_pending();
  // Adds the rank to the list for process_pending().
  void add_pending(int rank) {
    if (!peer_of(rank).is_pending) push_pending(rank);
  }
  void push_pending(int rank);
  // Wakes a sleeping thread for work that the completion queue does not signal.
  void wake_sleeper();

  // Completions (completions.cc).
  void read_completions(const batch& results);
  void take(const fi_cq_data_entry& entry);
  void take_error();
  void break_down(int64_t code);
  void take_remote_write(uint64_t data);
  bool has_more_to_give() const { return !ready_.empty() || !arrived_.empty(); }
  void give(batch* results);
  void read_packet(packet& arrived, batch* results);
  // Returns false if the record is malformed.
  bool take(packet& from, const incoming_record& record, batch* results);

  // Puts and gets (rma.cc).
  error_t post_rma(const op& operation);
  error_t post_to_self(const op& operation);
  error_t post_native(const op& operation);
  error_t post_request(const op& operation);
  bool take_request(int rank, const incoming_record& record, batch* results);
  bool take_reply(int rank, const incoming_record& record, batch* results);
  completion close_request(int rank, uint32_t number, bool failed);
  void send_deferred(int rank);
  bool answer(int rank, const deferred_answer& front);
  bool start_access(int rank, const deferred_answer& front);
  void access_done(access& finished, bool failed);
  access* take_access(claim by);

  // Failures (failures.cc).
  void check_for_failures();
  void suspect(int rank, const std::string& reason);
  void suspect_corrupt(int rank, const char* reason);
  void confirm_failures();
  void report_failure(int rank);
  // The name of the shared memory that provider shm has made for a rank. Whoever has opened it goes
  // on.
  void remove_shared_memory(int rank);
  void forget(int rank);
  void handle_bye(int rank);
  void probe();

  peer& peer_of(int rank) { return peers_[static_cast<size_t>(rank)]; }
  bool is_self(int rank) const { return rank == context_.rank(); }

  ofi_context& context_;
  const int ranks_;
  const device_config config_;
  const rma_mode rma_;
  // Latency-critical puts are written directly, although other puts are asked of the target.
  const bool writes_latency_critical_;
  const size_t message_bytes_;  // size of a packet with room for one message of any size
  const size_t packet_bytes_;   // capacity of a packet
  const coalescing_limit coalescing_;
  const size_t inject_bytes_;  // largest injected packet; 0: none is injected
  const uint8_t credits_each_;
  const immediate_layout immediate_;
  const uint16_t token_;
  std::shared_ptr<resources> own_;
  // The resources of ranks that are threads of this process, kept open while this rank may send to
  // them: the provider shm accesses endpoints of its own process directly, even closed ones.
  std::vector<std::shared_ptr<resources>> others_;
  bool connected_ = false;

  ds::spinlock own_lock_;  // used where devices share a domain
  ds::spinlock* lock_ = &own_lock_;
  mpsc_free_list<packet> returned_;

  // Guarded by the lock.
  base::aligned_vector<peer> peers_;            // by rank
  base::aligned_vector<packet*> free_packets_;  // to send
  base::aligned_array<access> accesses_;
  base::aligned_vector<access*> free_accesses_;
  size_t access_count_ = 0;
  base::aligned_vector<int> pending_;  // ranks with peer::is_pending
  base::wakeup sleeper_;
  bool notifies_ = false;   // the endpoint's descriptor and sleeper_ wake a sleeping thread
  fifo<packet*> arrived_;   // received packets, read from the front
  fifo<packet*> finished_;  // to be recycled: read completely, or not reposted yet
  fifo<completion> ready_;  // delivered before those in arrived_
  bool moved_ = false;      // this poll made progress
  uint32_t polls_ = 0;
  uint32_t looks_ = 1;    // reads of the completion queue
  uint32_t emptied_ = 0;  // reads that left the completion queue empty
  int suspects_ = 0;      // peers in state suspected or corrupt
  int next_probe_ = 0;
  std::chrono::steady_clock::time_point last_check_;
  std::chrono::steady_clock::time_point last_probe_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_DEVICE_H_
