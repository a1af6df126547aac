#include "lci/net/ibv/device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "lci/base/backoff.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/base/thread_number.h"
#include "lci/net/ending.h"
#include "lci/net/exchange.h"

namespace lci::net::ibv {
namespace {

constexpr size_t max_message_bytes = size_t{1} << 20;
constexpr size_t max_rma_bytes = size_t{1} << 30;

size_t choose_packet_bytes(const device_config& config) {
  return std::clamp<size_t>(config.max_message, 64, max_message_bytes);
}

device_limits choose_limits(const rdma_context& context, const device_config& config) {
  device_limits limits;
  limits.max_inject = choose_packet_bytes(config);
  limits.max_send = limits.max_inject;
  limits.max_rma = std::min<size_t>(context.local_port().attributes.max_msg_sz, max_rma_bytes);
  return limits;
}

}  // namespace

rdma_device::rdma_device(rdma_context& context, boot::bootstrap& boot, const device_config& config,
                         const queue_depths& chosen)
    : device(choose_limits(context, config)),
      context_(context),
      verbs_(context.library()),
      ranks_(context.size()),
      config_(config),
      depths_(chosen),
      own_(new resources(context.library(), context.local_port())),
      first_psn_(random_number() & psn_mask),
      on_demand_(context.connects_on_demand()),
      connect_timeout_(boot.default_timeout()),
      peers_(new peer[static_cast<size_t>(context.size())]),
      sources_(2 * static_cast<size_t>(context.size())),
      last_check_(std::chrono::steady_clock::now()) {
  if (config.attr.ibv_td_strategy == attr_ibv_td_strategy_t::per_qp) return;
  for (int r = 0; r < ranks_; ++r) {
    peer_of(r).message_queue.share(queues_lock_);
    peer_of(r).rma_queue.share(queues_lock_);
  }
}

base::StatusOr<std::unique_ptr<device>> rdma_device::make(rdma_context& context,
                                                          boot::bootstrap& boot,
                                                          const device_config& config) {
  const ibv_device_attr& has = context.local_port().limits;
  const base::StatusOr<queue_depths> chosen =
      choose_queue_depths(config.queues, static_cast<size_t>(context.size()),
                          {static_cast<size_t>(has.max_cqe), static_cast<size_t>(has.max_srq_wr),
                           static_cast<size_t>(has.max_qp_wr)});
  const std::string name = base::StrCat("ibv-lengths-", config.uid);
  if (base::Status status = agree(boot, name, chosen.status()); !status.ok()) return status;
  std::unique_ptr<rdma_device> made(new rdma_device(context, boot, config, *chosen));
  if (base::Status status = made->connect(boot); !status.ok()) {
    return base::Status(status.code(),
                        base::StrCat("device ", config.uid, ", port ", context.local_port().name,
                                     ": ", status.message()));
  }
  made->connected_ = true;
  if (made->on_demand_) context.add_on_demand(*made);
  return std::unique_ptr<device>(std::move(made));
}

base::Status rdma_device::open() {
  if (config_.max_message > max_message_bytes) {
    return base::InvalidArgumentError(base::StrCat("packets of ", config_.max_message,
                                                   " bytes; the ibv backend has room for ",
                                                   max_message_bytes, " at most"));
  }
  const size_t sends = config_.queues.sends();
  const size_t packet_bytes = choose_packet_bytes(config_);
  base::Status status;
  if (config_.attr.progress_thread) {
    status = own_->open_channel();
    if (status.ok() && !sleeper_.open()) status = failure("making a descriptor to sleep on", errno);
    if (!status.ok()) return status;
  }
  status = own_->open(depths_, sends, packet_bytes, ranks_, config_.attr.ibv_td_strategy);
  if (!status.ok()) return status;
  max_inline_ = own_->max_inline();
  all_packets_.reset(new packet[sends]);
  packets_.reserve(sends);
  for (size_t i = 0; i < sends; ++i) {
    all_packets_[i] = {own_->outgoing.at(i), base::thread_number()};
    packets_.put(&all_packets_[i]);
  }
  arrivals_ = base::make_aligned_array<arrival>(depths_.receives);
  for (size_t i = depths_.receives; i-- > 0;) {
    arrival& slot = arrivals_[i];
    slot.bytes = own_->incoming.at(i);
    slot.room = {reinterpret_cast<uintptr_t>(slot.bytes), static_cast<uint32_t>(packet_bytes),
                 own_->incoming.key()};
    slot.request.wr_id = receive_bit | i;
    slot.request.sg_list = &slot.room;
    slot.request.num_sge = 1;
    slot.next = unposted_;
    unposted_ = &slot;
  }
  post_receives();
  if (unposted_ != nullptr) {
    return base::ResourceExhaustedError(
        base::StrCat("the shared receive queue does not take ", depths_.receives, " receives"));
  }
  pending_.reserve(static_cast<size_t>(ranks_));
  connecting_.reserve(static_cast<size_t>(ranks_));
  ready_.reserve(static_cast<size_t>(ranks_) + depths_.depth);
  return base::OkStatus();
}

base::Status rdma_device::connect(boot::bootstrap& boot) {
  const auto make_offer = [&]() -> base::StatusOr<std::string> {
    if (base::Status status = open(); !status.ok()) return status;
    offer local{choose_packet_bytes(config_), first_psn_, own_->concurrent_reads(), 0, 0};
    if (on_demand_) {
      local.datagram_key = random_number() & 0x7fffffff;  // the upper half is the kernel's
      if (base::Status status =
              own_->datagrams.open(local.datagram_key, ranks_, own_->channel.get());
          !status.ok())
        return status;
      local.datagram_qp = own_->datagrams.number();
    }
    std::string bytes(as_bytes(local));
    for (int r = 0; r < ranks_; ++r) {
      if (!connects_at_start(r)) continue;
      if (base::Status status = own_->make_connection(r); !status.ok()) return status;
      if (!on_demand_) base::StrAppend(&bytes, as_bytes(own_->connection_of(r).numbers()));
    }
    if (on_demand_) {
      for (const int step : {-1, 1}) {
        const int neighbor = context_.ring().neighbor(context_.rank(), step);
        base::StrAppend(&bytes, as_bytes(own_->connection_of(neighbor).numbers()));
      }
    }
    return bytes;
  };
  const auto all = exchange(boot, base::StrCat("ibv-device-", config_.uid), make_offer());
  if (!all.ok()) return all.status();
  base::Status status;
  for (int r = 0; r < ranks_ && status.ok(); ++r) {
    status = read_offer(r, (*all)[static_cast<size_t>(r)]);
    if (status.ok() && connects_at_start(r)) {
      status = connect_to(r);
      if (status.ok()) open_for_posts(r);
    }
    if (!status.ok()) {
      status = base::Status(status.code(), base::StrCat("rank ", r, ": ", status.message()));
    }
  }
  // All ranks can receive before any rank sends.
  status = agree(boot, base::StrCat("ibv-opened-", config_.uid), status);
  if (!status.ok()) return status;
  return agree(boot, base::StrCat("ibv-greeted-", config_.uid), greet(boot.default_timeout()));
}

base::Status rdma_device::read_offer(int rank, std::string_view bytes) {
  peer& other = peer_of(rank);
  const size_t numbers = sizeof(queue_pair_numbers);
  const size_t size = sizeof(offer) + (on_demand_ ? 2 : static_cast<size_t>(ranks_)) * numbers;
  if (bytes.size() == size) std::memcpy(&other.offered, bytes.data(), sizeof(offer));
  if (bytes.size() != size || (other.offered.datagram_qp != 0) != on_demand_) {
    return base::FailedPreconditionError(
        "connects in a different way; give all ranks the same ibv_eager_ranks");
  }
  // Selects the numbers for this rank. Unless `rank` is a neighbor, neither entry is for it, and
  // the copy is not used.
  const size_t slot = !on_demand_ ? static_cast<size_t>(context_.rank())
                                  : (is_self(context_.ring().neighbor(rank, 1)) ? 1 : 0);
  std::memcpy(&other.remote_qps, bytes.data() + sizeof(offer) + slot * numbers, numbers);
  if (is_self(rank)) other.remote_qps = own_->connection_of(rank).numbers();
  if (other.offered.packet_bytes != choose_packet_bytes(config_)) {
    return base::FailedPreconditionError("has another packet_size; set it alike on all ranks");
  }
  return base::OkStatus();
}

remote_qp rdma_device::remote_qp_of(int rank, uint32_t number) {
  const offer& remote = peer_of(rank).offered;
  return {number, remote.first_psn, context_.address_of(rank), remote.concurrent_reads};
}

// Connects to the queue pairs in peer::remote_qps. Messages and the peer's puts and gets can arrive
// from now on.
base::Status rdma_device::connect_to(int rank) {
  peer& other = peer_of(rank);
  const connection& local = own_->connection_of(rank);
  base::Status status =
      own_->connect(*local.message_qp, remote_qp_of(rank, other.remote_qps.message_qp), first_psn_);
  if (status.ok()) {
    status = own_->connect(*local.rma_qp, remote_qp_of(rank, other.remote_qps.rma_target_qp),
                           first_psn_);
  }
  if (status.ok())
    status = own_->listen(*local.rma_target_qp, remote_qp_of(rank, other.remote_qps.rma_qp));
  if (status.ok()) {
    status =
        own_->connect(*local.heartbeat_qp, remote_qp_of(rank, other.remote_qps.heartbeat_target_qp),
                      first_psn_, qp_timeout::heartbeat);
  }
  if (status.ok())
    status =
        own_->listen(*local.heartbeat_target_qp, remote_qp_of(rank, other.remote_qps.heartbeat_qp));
  if (!status.ok()) return status;
  // No other thread uses the queues while the state is unconnected.
  const auto index = static_cast<uint32_t>(rank) * 2;
  other.message_queue.open(local.message_qp.get(), index, depths_.depth);
  other.rma_queue.open(local.rma_qp.get(), index + 1, depths_.depth);
  sources_.add(local.message_qp->qp_num, rank);
  sources_.add(local.rma_target_qp->qp_num, rank);
  other.has_queue_pairs = true;
  other.is_connected = true;
  return base::OkStatus();
}

// Sends a marker to every connected rank, so that a missing route is found now and the error names
// the rank.
base::Status rdma_device::greet(std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (int r = 0; r < ranks_; ++r) {
    if (peer_of(r).is_connected) send_marker(peer_of(r));
  }
  base::backoff backoff;
  for (;;) {
    completion none;
    size_t count = 0;
    // No message arrives before all ranks have greeted each other.
    static_cast<void>(poll(&none, 1, &count));
    int missing = -1;
    for (int r = 0; r < ranks_; ++r) {
      peer& other = peer_of(r);
      if (!other.is_connected) continue;
      if (other.state.load(std::memory_order_relaxed) != peer_state::alive ||
          std::chrono::steady_clock::now() > deadline) {
        return base::UnavailableError(
            base::StrCat("rank ", context_.rank(), " can't reach rank ", r,
                         "; is there a firewall (RoCE is UDP port 4791), or another device "
                         "(device_name) or GID (ibv_gid_idx) that both have?"));
      }
      if (!other.message_queue.is_empty()) missing = r;
    }
    if (missing < 0) return base::OkStatus();
    backoff.idle();
  }
}

rdma_device::~rdma_device() {
  if (!context_.is_owner_process()) {
    // In a forked child, the objects belong to the parent.
    static_cast<void>(own_.release());
    return;
  }
  if (!connected_) return;
  end();
  if (on_demand_) context_.remove_on_demand(*this);
}

// Waits until the peers' devices have taken all that was sent, and says goodbye, so that no peer
// takes the end of this device for a failure. Needs the peers to poll only where they have no
// receive posted.
void rdma_device::end() {
  if (drain(*this, [this] { return has_said_goodbye(); })) return;
  for (int r = 0; r < ranks_; ++r) {
    const peer& other = peer_of(r);
    if (other.state.load(std::memory_order_relaxed) != peer_state::alive) continue;
    LCI_LOG(warn, "ibv: device ", config_.uid, " of rank ", context_.rank(), " ended before rank ",
            r, " had taken all that was sent to it (", other.message_queue.under_way(),
            " messages, ", other.rma_queue.under_way(), " puts and gets)");
  }
}

bool rdma_device::has_said_goodbye() {
  bool all = std::none_of(failure_notices_.begin(), failure_notices_.end(),
                          [](const failure_notice& each) { return each.rounds == 0; });
  for (int r = 0; r < ranks_; ++r) {
    peer& other = peer_of(r);
    const peer_state state = other.state.load(std::memory_order_relaxed);
    if (is_self(r) || (state != peer_state::alive && state != peer_state::unconnected)) continue;
    if (state == peer_state::unconnected) {
      if (other.is_connected) {
        all = false;  // the peer may have sent already
      } else if (!other.bye_sent) {
        other.bye_sent = send_datagram(r, connect_datagram_kind::ended, context_.rank());
        if (!other.bye_sent) all = false;
      }
      continue;
    }
    if (!other.bye_sent && other.rma_queue.is_empty()) {
      other.bye_sent = send_control(r, {control_kind::bye, 0}, work::kind::bye);
    }
    // The bye is the last request in its queue: all earlier ones have been taken, too.
    if (!other.bye_taken) all = false;
  }
  return all;
}

}  // namespace lci::net::ibv
