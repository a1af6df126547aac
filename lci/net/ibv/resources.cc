#include "lci/net/ibv/resources.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "lci/base/log.h"
#include "lci/base/strings.h"

namespace lci::net::ibv {
namespace {

// A request without an answer fails after (1 + retries) timeouts of 4.096 us * 2^exponent each. By
// the standard, each may take up to four times as long.
struct retry_policy {
  uint8_t exponent;
  uint8_t retries;
};
// 1.9 to 7.5 s: this failure cannot be undone, and heartbeats detect a failed rank. (7 retries
// would be infinite on some devices.)
constexpr retry_policy data_retries{16, 6};
// 0.07 to 0.27 s: a heartbeat is repeated (heartbeats.h).
constexpr retry_policy heartbeat_retries{13, 1};
// Infinite: a peer without a posted receive will post one, or be found failed.
constexpr uint8_t rnr_retries = 7;
// A pause of 0.16 ms between these retries, encoded as in the standard's table.
constexpr uint8_t rnr_timer = 9;
constexpr int remote_access =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_LOCAL_WRITE;

}  // namespace

queue_pair_numbers connection::numbers() const {
  return {message_qp->qp_num, rma_qp->qp_num, rma_target_qp->qp_num, heartbeat_qp->qp_num,
          heartbeat_target_qp->qp_num};
}

resources::~resources() { connections_.clear(); }

base::Status resources::open_channel() {
  channel = own(verbs_.create_comp_channel(port_.context.get()), verbs_.destroy_comp_channel);
  if (channel == nullptr) return failure("making a channel for events of completions", errno);
  const int flags = fcntl(channel->fd, F_GETFL);
  if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return failure("making a channel for events that does not block", errno);
  }
  return base::OkStatus();
}

base::Status resources::request_events() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (verbs_.get_cq_event(channel.get(), &queue, &context) == 0) verbs_.ack_cq_events(queue, 1);
  int code = ibv_req_notify_cq(completions_.get(), /*solicited_only=*/0);
  if (code == 0 && datagrams.completions() != nullptr) {
    code = ibv_req_notify_cq(datagrams.completions(), 0);
  }
  return code == 0 ? base::OkStatus() : failure("requesting completion events", code);
}

base::Status resources::open(const queue_depths& chosen, size_t packets, size_t packet_bytes,
                             int ranks, attr_ibv_td_strategy_t domains) {
  depths_ = chosen;
  domains_ = domains;
  ibv_context* context = port_.context.get();
  completions_ = own(
      verbs_.create_cq(context, static_cast<int>(chosen.completions), nullptr, channel.get(), 0),
      verbs_.destroy_cq);
  if (completions_ == nullptr) {
    return failure(base::StrCat("making a completion queue of ", chosen.completions, " entries"),
                   errno);
  }
  ibv_srq_init_attr queue = {};
  queue.attr.max_wr = chosen.receives;
  queue.attr.max_sge = 1;
  receives_ = own(verbs_.create_srq(port_.domain.get(), &queue), verbs_.destroy_srq);
  if (receives_ == nullptr) {
    return failure(base::StrCat("making a shared receive queue of ", chosen.receives, " entries"),
                   errno);
  }
  base::Status status = outgoing.make(verbs_, port_.domain.get(), packets, packet_bytes);
  if (status.ok())
    status = incoming.make(verbs_, port_.domain.get(), chosen.receives, packet_bytes);
  if (status.ok()) status = choose_inline();
  if (!status.ok()) return status;
  connections_.resize(static_cast<size_t>(ranks));
  return base::OkStatus();
}

// Finds the largest inline size by trial: a device does not report it.
base::Status resources::choose_inline() {
  // A larger limit would enlarge every entry of a send queue for few messages.
  constexpr uint32_t most = 256;
  for (uint32_t asked = most;; asked = asked > 32 ? asked / 2 : 0) {
    const base::StatusOr<owned<ibv_qp>> made = make_queue_pair(depths_.depth, asked, false);
    if (made.ok()) {
      max_inline_ = asked;
      return base::OkStatus();
    }
    if (asked == 0) return made.status();
  }
}

ibv_pd* resources::thread_domain() {
  ibv_pd* plain = port_.domain.get();
  if (domains_ == attr_ibv_td_strategy_t::none) return plain;
  if (domains_ == attr_ibv_td_strategy_t::all_qp && !parents_.empty()) return parents_.back().get();
  ibv_td_init_attr wanted = {};
  owned<ibv_td> made = own(verbs_.alloc_td(port_.context.get(), &wanted), verbs_.dealloc_td);
  if (made != nullptr) {
    ibv_parent_domain_init_attr both = {};
    both.pd = plain;
    both.td = made.get();
    owned<ibv_pd> parent =
        own(verbs_.alloc_parent_domain(port_.context.get(), &both), verbs_.dealloc_pd);
    if (parent != nullptr) {
      thread_domains_.push_back(std::move(made));
      parents_.push_back(std::move(parent));
      return parents_.back().get();
    }
  }
  LCI_LOG(debug, "ibv: ", port_.name, " gives no ", parents_.empty() ? "" : "more ",
          "thread domains: ", failure("asking for one", errno).message());
  domains_ = attr_ibv_td_strategy_t::none;
  return plain;
}

base::StatusOr<owned<ibv_qp>> resources::make_queue_pair(uint32_t depth, uint32_t inlined,
                                                         bool sends) {
  ibv_qp_init_attr wanted = {};
  wanted.send_cq = completions_.get();
  wanted.recv_cq = completions_.get();
  wanted.srq = receives_.get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = depth;
  wanted.cap.max_send_sge = 2;  // a header and a buffer
  wanted.cap.max_inline_data = inlined;
  owned<ibv_qp> made = own(verbs_.create_qp(sends ? thread_domain() : port_.domain.get(), &wanted),
                           verbs_.destroy_qp);
  if (made == nullptr) return failure("making a queue pair", errno);
  if (const int code = initialize(*made); code != 0) {
    return failure("preparing a queue pair", code);
  }
  return made;
}

int resources::initialize(ibv_qp& local) const {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_.number;
  attributes.qp_access_flags = remote_access;
  return verbs_.modify_qp(&local, &attributes,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

base::Status resources::make_connection(int rank) {
  connection made;
  for (owned<ibv_qp>* each : {&made.message_qp, &made.rma_qp, &made.rma_target_qp,
                              &made.heartbeat_qp, &made.heartbeat_target_qp}) {
    const bool sends = each == &made.message_qp || each == &made.rma_qp;
    auto queue_pair = make_queue_pair(sends ? depths_.depth : 1, sends ? max_inline_ : 0, sends);
    if (!queue_pair.ok()) return queue_pair.status();
    *each = *std::move(queue_pair);
  }
  connection_of(rank) = std::move(made);
  return base::OkStatus();
}

uint32_t resources::concurrent_reads() const {
  constexpr int most = 16;
  return static_cast<uint32_t>(
      std::clamp(std::min(port_.limits.max_qp_rd_atom, port_.limits.max_qp_init_rd_atom), 1, most));
}

base::Status resources::listen(ibv_qp& local, const remote_qp& remote) const {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = static_cast<ibv_mtu>(
      std::min(static_cast<uint32_t>(port_.attributes.active_mtu), remote.address.mtu));
  attributes.dest_qp_num = remote.number;
  attributes.rq_psn = remote.first_psn;
  attributes.max_dest_rd_atomic = static_cast<uint8_t>(concurrent_reads());
  attributes.min_rnr_timer = rnr_timer;
  attributes.ah_attr = port_.path_to(remote.address);
  const int code =
      verbs_.modify_qp(&local, &attributes,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (code != 0) return failure("connecting a queue pair (is there a route?)", code);
  return base::OkStatus();
}

base::Status resources::connect(ibv_qp& local, const remote_qp& remote, uint32_t local_first_psn,
                                qp_timeout timeout) const {
  if (base::Status status = listen(local, remote); !status.ok()) return status;
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  const retry_policy policy = timeout == qp_timeout::heartbeat ? heartbeat_retries : data_retries;
  attributes.timeout = policy.exponent;
  attributes.retry_cnt = policy.retries;
  attributes.rnr_retry = rnr_retries;
  attributes.sq_psn = local_first_psn;
  attributes.max_rd_atomic =
      static_cast<uint8_t>(std::min(concurrent_reads(), std::max(remote.concurrent_reads, 1u)));
  const int code = verbs_.modify_qp(&local, &attributes,
                                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                        IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (code != 0) return failure("starting a queue pair", code);
  return base::OkStatus();
}

base::Status resources::reset(ibv_qp& local) const {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RESET;
  int code = verbs_.modify_qp(&local, &attributes, IBV_QP_STATE);
  if (code == 0) code = initialize(local);
  if (code != 0) return failure("resetting a queue pair", code);
  return base::OkStatus();
}

void resources::stop(ibv_qp& local) const {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_ERR;
  // A queue pair that cannot be stopped has nothing in flight.
  static_cast<void>(verbs_.modify_qp(&local, &attributes, IBV_QP_STATE));
}

}  // namespace lci::net::ibv
