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
#include "lci/net/ofi/context.h"
#include "lci/net/ofi/domain.h"
#include "lci/net/ofi/endpoint.h"
#include "lci/net/ofi/gather.h"
#include "lci/net/ofi/immediate.h"
#include "lci/net/ofi/packets.h"
#include "lci/net/ofi/peer.h"
#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {

// An endpoint with a completion queue and, where it can be, a domain of its own.
//
// A send is copied into a packet, which leaves at once, or waits for more to share it with, until
// it is full or the device is polled (gather.h).
//
// Thread safety: as net::device says. One lock, which post and poll only try, keeps threads from
// waiting in the provider, whose own locks block (SC'25 paper, section 5.2.4); release takes none.
class alignas(base::cache_line_size) ofi_device final : public device {
 public:
  static base::StatusOr<std::unique_ptr<device>> make(ofi_context& context, boot::bootstrap& boot,
                                                      const device_config& config);
  ~ofi_device() override;

  size_t preferred_chunk(int) const override { return preferred_chunk_; }
  error_t post(const op& operation) override;
  error_t inject(int rank, net_imm_data_t imm, const void* buffer, size_t size) override;
  error_t poll(completion* out, size_t max, size_t* count) override;
  void release(const completion& received) override;
  bool drained() override;
  std::vector<int> wait_descriptors() const override;
  std::chrono::microseconds arm() override;

 private:
  // What one poll has to give away.
  struct batch {
    completion* out;
    size_t max;
    size_t count = 0;

    bool full() const { return count == max; }
    void add(const completion& given) { out[count++] = given; }
  };
  // What a process that was forked off must not touch. Closed from below.
  struct resources {
    resources() = default;
    resources(const resources&) = delete;
    resources& operator=(const resources&) = delete;
    ~resources() {
      if (own_domain != nullptr) own_domain->remove_all();
    }

    std::shared_ptr<fid_fabric> fabric;
    std::unique_ptr<domain> own_domain;
    domain* in = nullptr;  // own_domain, or the one that all devices share
    packet_memory outgoing;
    packet_memory incoming;
    endpoint end;
  };
  // Who may take the last of what there is.
  enum class claim : uint8_t { post, progress };

  ofi_device(ofi_context& context, const device_config& config);

  // ---- making and ending (device.cc)
  base::Status open();
  base::Status connect(boot::bootstrap& boot);
  base::Status insert(int rank, const std::string& offer);
  base::Status greet(boot::bootstrap& boot);
  base::Status first_failure() const;
  bool descriptor_settles();
  void end();
  bool has_said_goodbye();

  // ---- packets (traffic.cc)
  // False: there is no room now.
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
  void receive(packet& here, size_t size);
  void sent(packet& over);
  void recycle(packet& over);
  int64_t repost(packet& over);
  void stop_using(packet& used);
  void take_returned();
  void work_off();
  // The rank has something to send, or to do for another.
  void wait(int rank) {
    if (!with(rank).waiting) begin_to_wait(rank);
  }
  void begin_to_wait(int rank);
  // There is something for a poll, of which the completion queue says nothing.
  void wake_sleeper();

  // ---- completions (completions.cc)
  void read_completions(const batch& given);
  void take(const fi_cq_data_entry& entry);
  void take_error();
  void break_down(int64_t code);
  void take_remote_write(uint64_t data);
  bool has_more_to_give() const { return !ready_.empty() || !arrived_.empty(); }
  void give(batch* given);
  void read_packet(packet& here, batch* given);
  // False if the record makes no sense.
  bool take(packet& from, const incoming_record& record, batch* given);

  // ---- puts and gets (rma.cc)
  error_t post_rma(const op& operation);
  error_t post_to_ourselves(const op& operation);
  error_t post_native(const op& operation);
  error_t post_request(const op& operation);
  bool take_request(int rank, const incoming_record& record, batch* given);
  bool take_reply(int rank, const incoming_record& record, batch* given);
  completion close_request(int rank, uint32_t number, bool failed);
  void pay(int rank);
  bool answer(int rank, const owed& front);
  bool start(int rank, const owed& front);
  void finished(access& over, bool failed);
  access* take_access(claim by);

  // ---- failures (failures.cc)
  void look_for_failures();
  void suspect(int rank, const std::string& reason);
  void suspect_corrupt(int rank, const char* reason);
  void judge();
  void report(int rank);
  void forget(int rank);
  void take_bye(int rank);
  void probe();

  peer& with(int rank) { return peers_[static_cast<size_t>(rank)]; }
  bool is_us(int rank) const { return rank == context_.rank(); }

  ofi_context& context_;
  const int ranks_;
  const device_config config_;
  const rma_mode rma_;
  // Memory of a peer that waits for a put is written to by ourselves, although we ask else.
  const bool writes_to_waiting_;
  const size_t preferred_chunk_;
  const size_t message_bytes_;  // of a packet with one message, of any size
  const size_t packet_bytes_;   // that it has room for
  const gather_limit gather_;
  const size_t inject_bytes_;  // of a packet that is injected; 0: none is
  const uint8_t credits_each_;
  const immediate_layout immediate_;
  const uint16_t token_;
  std::shared_ptr<resources> own_;
  // The provider shm reaches straight into endpoints of its own process, also when they are closed:
  // those of ranks that are threads of it stay open as long as we may send to them.
  std::vector<std::shared_ptr<resources>> others_;
  bool connected_ = false;

  ds::spinlock own_lock_;  // used where the domain is shared
  ds::spinlock* lock_ = &own_lock_;
  mpsc_free_list<packet> returned_;

  // Guarded by the lock.
  base::aligned_vector<peer> peers_;            // by rank
  base::aligned_vector<packet*> free_packets_;  // to send
  base::aligned_array<access> accesses_;
  base::aligned_vector<access*> free_accesses_;
  size_t access_count_ = 0;
  base::aligned_vector<int> waiting_;  // ranks with peer::waiting
  base::wakeup sleeper_;
  bool tells_ = false;      // who sleeps is told, by the endpoint's descriptor and sleeper_
  fifo<packet*> arrived_;   // being read, from the front
  fifo<packet*> over_;      // to be recycled: read to the end, or refused by libfabric for now
  fifo<completion> ready_;  // to be given before those in arrived_
  bool moved_ = false;      // during this poll
  uint32_t polls_ = 0;
  uint32_t looks_ = 1;    // times that the completion queue was read
  uint32_t emptied_ = 0;  // times that a read left nothing in the completion queue
  int suspects_ = 0;      // peers in state suspected or corrupt
  int next_probe_ = 0;
  std::chrono::steady_clock::time_point last_look_;
  std::chrono::steady_clock::time_point last_probe_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_DEVICE_H_
