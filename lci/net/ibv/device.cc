#include "lci/net/ibv/device.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "lci/base/backoff.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
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

// (Parts are given sink_, which is constructed after them, and use it later.)
rdma_device::rdma_device(rdma_context& context, boot::bootstrap& boot, const device_config& config,
                         const queue_depths& chosen)
    : device(choose_limits(context, config)),
      context_(context),
      verbs_(context.library()),
      config_(config),
      depths_(chosen),
      on_demand_(context.connects_on_demand()),
      own_(new resources(context.library(), context.local_port())),
      peers_(context.rank(), context.size(),
             config.attr.ibv_td_strategy != attr_ibv_td_strategy_t::per_qp),
      wanted_(context.size()),
      connections_(peers_, *own_, wanted_, sink_, context.ways(), on_demand_,
                   boot.default_timeout()),
      messages_(peers_, wanted_, context.regions(), sink_),
      rma_(peers_, wanted_, context.regions(), sink_, messages_, connections_),
      heartbeats_(peers_, connections_),
      monitor_(peers_, context.ways().ring, connections_) {}

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
    return base::WithPrefix(
        base::StrCat("device ", config.uid, ", port ", context.local_port().name, ": "), status);
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
    if (status.ok() && !wanted_.sleeper.open()) {
      status = failure("making a descriptor to sleep on", errno);
    }
    if (!status.ok()) return status;
  }
  status = own_->open(depths_, sends, packet_bytes, context_.size(), config_.attr.ibv_td_strategy);
  if (!status.ok()) return status;
  messages_.open(own_->outgoing, sends, own_->max_inline());
  rma_.open(own_->max_inline());
  sink_.reserve(static_cast<size_t>(context_.size()) + depths_.depth);
  return receives_.open(own_->receives(), own_->incoming, depths_.receives, packet_bytes);
}

base::Status rdma_device::connect(boot::bootstrap& boot) {
  const auto make_offer = [&]() -> base::StatusOr<std::string> {
    if (base::Status status = open(); !status.ok()) return status;
    return connections_.make_offer(choose_packet_bytes(config_), depths_.depth);
  };
  // All ranks can receive before any rank sends.
  const base::Status status =
      exchange_and_accept(boot, base::StrCat("ibv-device-", config_.uid), make_offer(),
                          [this](int r, const std::string& offered) {
                            return base::WithPrefix(base::StrCat("rank ", r, ": "),
                                                    connections_.accept_offer(r, offered));
                          });
  if (!status.ok()) return status;
  return agree(boot, base::StrCat("ibv-greeted-", config_.uid), greet(boot.default_timeout()));
}

// Sends a marker to every connected rank, so that a missing route is found now and the error names
// the rank.
base::Status rdma_device::greet(std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (int r = 0; r < context_.size(); ++r) {
    if (connections_.is_connected(r)) messages_.send_marker(r);
  }
  base::backoff backoff;
  for (;;) {
    completion none;
    size_t count = 0;
    // No message arrives before all ranks have greeted each other.
    static_cast<void>(poll(&none, 1, &count));
    int missing = -1;
    for (int r = 0; r < context_.size(); ++r) {
      if (!connections_.is_connected(r)) continue;
      if (!peers_.is_alive(r) || std::chrono::steady_clock::now() > deadline) {
        return base::UnavailableError(
            base::StrCat("rank ", context_.rank(), " can't reach rank ", r,
                         "; is there a firewall (RoCE is UDP port 4791), or another device "
                         "(device_name) or GID (ibv_gid_idx) that both have?"));
      }
      if (!peers_.messages(r).is_empty()) missing = r;
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
  for (int r = 0; r < context_.size(); ++r) {
    if (!peers_.is_alive(r)) continue;
    LCI_LOG(warn, "ibv: device ", config_.uid, " of rank ", context_.rank(), " ended before rank ",
            r, " had taken all that was sent to it (", peers_.messages(r).under_way(),
            " messages, ", peers_.rma(r).under_way(), " puts and gets)");
  }
}

bool rdma_device::has_said_goodbye() {
  bool all = monitor_.has_notified_all();
  for (int r = 0; r < context_.size(); ++r) {
    const peer_state state = peers_.state(r);
    if (peers_.is_self(r) || state > peer_state::unconnected) continue;
    bool said = peers_.has_said_bye(r);
    if (state == peer_state::unconnected && connections_.is_connected(r)) {
      all = false;  // the peer may have sent already
      continue;
    }
    if (state == peer_state::unconnected) {
      if (!said) said = connections_.send_datagram(r, connect_datagram_kind::ended, peers_.self());
      if (!said) all = false;
    } else {
      if (!said && peers_.rma(r).is_empty()) {
        said = messages_.send_control(r, {control_kind::bye, 0}, work::kind::bye);
      }
      // The bye is the last request in its queue: all earlier ones have been taken, too.
      if (!messages_.is_bye_taken(r)) all = false;
    }
    peers_.set_said_bye(r, said);
  }
  return all;
}

}  // namespace lci::net::ibv
