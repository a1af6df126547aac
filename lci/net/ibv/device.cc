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
  limits.max_rma = std::min<size_t>(context.through().attributes.max_msg_sz, max_rma_bytes);
  return limits;
}

}  // namespace

rdma_device::rdma_device(rdma_context& context, boot::bootstrap& boot, const device_config& config,
                         const lengths& chosen)
    : device(choose_limits(context, config)),
      context_(context),
      verbs_(context.with()),
      ranks_(context.size()),
      config_(config),
      lengths_(chosen),
      own_(new resources(context.with(), context.through())),
      first_packet_(random_number() & packet_numbers),
      late_(context.connects_late()),
      patience_(boot.default_timeout()),
      peers_(new peer[static_cast<size_t>(context.size())]),
      sources_(2 * static_cast<size_t>(context.size())),
      last_look_(std::chrono::steady_clock::now()) {
  if (config.ibv_td_strategy == attr_ibv_td_strategy_t::per_qp) return;
  for (int r = 0; r < ranks_; ++r) {
    with(r).messages.share(queues_lock_);
    with(r).writes.share(queues_lock_);
  }
}

base::StatusOr<std::unique_ptr<device>> rdma_device::make(rdma_context& context,
                                                          boot::bootstrap& boot,
                                                          const device_config& config) {
  const ibv_device_attr& has = context.through().limits;
  const base::StatusOr<lengths> chosen =
      choose_lengths(config.queues, static_cast<size_t>(context.size()),
                     {static_cast<size_t>(has.max_cqe), static_cast<size_t>(has.max_srq_wr),
                      static_cast<size_t>(has.max_qp_wr)});
  const std::string name = base::StrCat("ibv-lengths-", config.uid);
  if (base::Status bad = agree(boot, name, chosen.status()); !bad.ok()) return bad;
  std::unique_ptr<rdma_device> made(new rdma_device(context, boot, config, *chosen));
  if (base::Status bad = made->connect(boot); !bad.ok()) {
    return base::Status(bad.code(), base::StrCat("device ", config.uid, ", port ",
                                                 context.through().name, ": ", bad.message()));
  }
  made->connected_ = true;
  if (made->late_) context.add_late(*made);
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
  base::Status bad;
  if (config_.sleeps) {
    bad = own_->open_channel();
    if (bad.ok() && !sleeper_.open()) bad = failure("making a descriptor to sleep on", errno);
    if (!bad.ok()) return bad;
  }
  bad = own_->open(lengths_, sends, packet_bytes, ranks_, config_.ibv_td_strategy);
  if (!bad.ok()) return bad;
  max_inline_ = own_->max_inline();
  all_packets_.reset(new packet[sends]);
  packets_.reserve(sends);
  for (size_t i = 0; i < sends; ++i) {
    all_packets_[i] = {own_->outgoing.at(i), base::thread_number()};
    packets_.put(&all_packets_[i]);
  }
  arrivals_ = base::make_aligned_array<arrival>(lengths_.receives);
  for (size_t i = lengths_.receives; i-- > 0;) {
    arrival& here = arrivals_[i];
    here.bytes = own_->incoming.at(i);
    here.room = {reinterpret_cast<uintptr_t>(here.bytes), static_cast<uint32_t>(packet_bytes),
                 own_->incoming.key()};
    here.request.wr_id = receive_bit | i;
    here.request.sg_list = &here.room;
    here.request.num_sge = 1;
    here.next = unposted_;
    unposted_ = &here;
  }
  post_receives();
  if (unposted_ != nullptr) {
    return base::ResourceExhaustedError(
        base::StrCat("the shared receive queue does not take ", lengths_.receives, " receives"));
  }
  waiting_.reserve(static_cast<size_t>(ranks_));
  meetings_.reserve(static_cast<size_t>(ranks_));
  ready_.reserve(static_cast<size_t>(ranks_) + lengths_.depth);
  return base::OkStatus();
}

base::Status rdma_device::connect(boot::bootstrap& boot) {
  const auto told = [&]() -> base::StatusOr<std::string> {
    if (base::Status bad = open(); !bad.ok()) return bad;
    offer ours{choose_packet_bytes(config_), first_packet_, own_->concurrent_reads(), 0, 0};
    if (late_) {
      ours.hail_key = random_number() & 0x7fffffff;  // the upper half is the kernel's
      if (base::Status bad = own_->datagrams.open(ours.hail_key, ranks_, own_->channel.get());
          !bad.ok())
        return bad;
      ours.hail_number = own_->datagrams.number();
    }
    std::string bytes(as_bytes(ours));
    for (int r = 0; r < ranks_; ++r) {
      if (!connects_at_start(r)) continue;
      if (base::Status bad = own_->make_connection(r); !bad.ok()) return bad;
      if (!late_) base::StrAppend(&bytes, as_bytes(own_->with(r).numbers()));
    }
    if (late_) {
      for (const int step : {-1, 1}) {
        const int neighbour = context_.ranks_around().next(context_.rank(), step);
        base::StrAppend(&bytes, as_bytes(own_->with(neighbour).numbers()));
      }
    }
    return bytes;
  };
  const auto all = exchange(boot, base::StrCat("ibv-device-", config_.uid), told());
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
  // Everybody can receive before anybody sends.
  status = agree(boot, base::StrCat("ibv-opened-", config_.uid), status);
  if (!status.ok()) return status;
  return agree(boot, base::StrCat("ibv-greeted-", config_.uid), greet(boot.default_timeout()));
}

base::Status rdma_device::read_offer(int rank, std::string_view bytes) {
  peer& other = with(rank);
  const size_t numbers = sizeof(queue_pair_numbers);
  const size_t size = sizeof(offer) + (late_ ? 2 : static_cast<size_t>(ranks_)) * numbers;
  if (bytes.size() == size) std::memcpy(&other.offered, bytes.data(), sizeof(offer));
  if (bytes.size() != size || (other.offered.hail_number != 0) != late_) {
    return base::FailedPreconditionError(
        "does not connect as we do; give all ranks the same ibv_eager_ranks");
  }
  // Which of them are for us. Of neither, if it is no neighbour.
  const size_t ours = !late_ ? static_cast<size_t>(context_.rank())
                             : (is_us(context_.ranks_around().next(rank, 1)) ? 1 : 0);
  std::memcpy(&other.theirs, bytes.data() + sizeof(offer) + ours * numbers, numbers);
  if (is_us(rank)) other.theirs = own_->with(rank).numbers();
  if (other.offered.packet_bytes != choose_packet_bytes(config_)) {
    return base::FailedPreconditionError("has another packet_size; set it alike on all ranks");
  }
  return base::OkStatus();
}

far_end rdma_device::far_end_of(int rank, uint32_t number) {
  const offer& theirs = with(rank).offered;
  return {number, theirs.first_packet, context_.address_of(rank), theirs.concurrent_reads};
}

// With peer::theirs. Messages and the peer's puts and gets can arrive from now on.
base::Status rdma_device::connect_to(int rank) {
  peer& other = with(rank);
  const connection& ours = own_->with(rank);
  base::Status bad =
      own_->connect(*ours.messages, far_end_of(rank, other.theirs.messages), first_packet_);
  if (bad.ok()) {
    bad = own_->connect(*ours.writes, far_end_of(rank, other.theirs.written), first_packet_);
  }
  if (bad.ok()) bad = own_->listen(*ours.written, far_end_of(rank, other.theirs.writes));
  if (bad.ok()) {
    bad = own_->connect(*ours.pulse, far_end_of(rank, other.theirs.felt), first_packet_,
                        insistence::of_pulse);
  }
  if (bad.ok()) bad = own_->listen(*ours.felt, far_end_of(rank, other.theirs.pulse));
  if (!bad.ok()) return bad;
  // Nobody else uses the queues as long as the state is unconnected.
  const auto index = static_cast<uint32_t>(rank) * 2;
  other.messages.open(ours.messages.get(), index, lengths_.depth);
  other.writes.open(ours.writes.get(), index + 1, lengths_.depth);
  sources_.add(ours.messages->qp_num, rank);
  sources_.add(ours.written->qp_num, rank);
  other.meets = true;
  other.is_connected = true;
  return base::OkStatus();
}

// A marker to everybody: a way that is not there is found now and by name.
base::Status rdma_device::greet(std::chrono::nanoseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (int r = 0; r < ranks_; ++r) {
    if (with(r).is_connected) send_marker(with(r));
  }
  base::backoff backoff;
  for (;;) {
    completion none;
    size_t count = 0;
    // No message comes before all ranks have greeted each other.
    static_cast<void>(poll(&none, 1, &count));
    int missing = -1;
    for (int r = 0; r < ranks_; ++r) {
      peer& other = with(r);
      if (!other.is_connected) continue;
      if (other.state.load(std::memory_order_relaxed) != peer_state::alive ||
          std::chrono::steady_clock::now() > deadline) {
        return base::UnavailableError(
            base::StrCat("rank ", context_.rank(), " can't reach rank ", r,
                         "; is there a firewall (RoCE is UDP port 4791), or another device "
                         "(device_name) or GID (ibv_gid_idx) that both have?"));
      }
      if (!other.messages.is_empty()) missing = r;
    }
    if (missing < 0) return base::OkStatus();
    backoff.idle();
  }
}

rdma_device::~rdma_device() {
  if (!context_.is_ours()) {
    // In a child that was forked off, all this is the parent's.
    static_cast<void>(own_.release());
    return;
  }
  if (!connected_) return;
  end();
  if (late_) context_.remove_late(*this);
}

// Hands what was sent to the network for good, and says goodbye, so that nobody takes our going for
// a failure. Needs the others only where they have no room for it.
void rdma_device::end() {
  if (drain(*this, [this] { return has_said_goodbye(); })) return;
  for (int r = 0; r < ranks_; ++r) {
    const peer& other = with(r);
    if (other.state.load(std::memory_order_relaxed) != peer_state::alive) continue;
    LCI_LOG(warn, "ibv: device ", config_.uid, " of rank ", context_.rank(), " ended before rank ",
            r, " had taken all that was sent to it (", other.messages.under_way(), " messages, ",
            other.writes.under_way(), " puts and gets)");
  }
}

bool rdma_device::has_said_goodbye() {
  bool all = std::none_of(obituaries_.begin(), obituaries_.end(),
                          [](const obituary& each) { return each.rounds == 0; });
  for (int r = 0; r < ranks_; ++r) {
    peer& other = with(r);
    const peer_state state = other.state.load(std::memory_order_relaxed);
    if (is_us(r) || (state != peer_state::alive && state != peer_state::unconnected)) continue;
    if (state == peer_state::unconnected) {
      if (other.is_connected) {
        all = false;  // it may have sent already
      } else if (!other.bye_sent) {
        other.bye_sent = say(r, hail_kind::ended, context_.rank());
        if (!other.bye_sent) all = false;
      }
      continue;
    }
    if (!other.bye_sent && other.writes.is_empty()) {
      other.bye_sent = send_control(r, {control_kind::bye, 0}, work::kind::bye);
    }
    // The last in its queue: what was before it has been taken, too.
    if (!other.bye_taken) all = false;
  }
  return all;
}

}  // namespace lci::net::ibv
