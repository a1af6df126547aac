#include "lci/net/ofi/device.h"

#include <rdma/fi_errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "lci/base/backoff.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/ending.h"
#include "lci/net/exchange.h"
#include "lci/net/ofi/pacing.h"
#include "lci/net/ofi/provider.h"

namespace lci::net::ofi {
namespace {

constexpr size_t max_message_bytes = size_t{1} << 20;
constexpr size_t max_rma_bytes = size_t{1} << 30;

size_t choose_message_bytes(const device_config& config) {
  // Always room for a request with some bytes.
  const size_t largest = std::max<size_t>(config.max_message, 4 * sizeof(request_header));
  return sizeof(packet_header) + record_span(std::min(largest, max_message_bytes));
}

size_t packet_bytes_for(const ofi_context& context, const device_config& config) {
  return choose_packet_bytes(
      choose_message_bytes(config), config.attr.ofi_gather_size,
      eager_limit_of(context.chosen_provider().name()), config.queues.receives,
      receives_needed(most_credits, static_cast<size_t>(context.size()) - 1));
}

// Bytes of a put that fit into the request.
size_t bytes_with_request(size_t message_bytes) {
  return message_bytes - sizeof(packet_header) - sizeof(record_header) - sizeof(request_header);
}

device_limits choose_limits(const provider& from, const device_config& config) {
  device_limits limits;
  limits.max_inject = std::clamp<size_t>(config.max_message, 64, max_message_bytes);
  limits.max_send = limits.max_inject;
  limits.needs_registration = from.rma != rma_mode::messages;
  limits.polls_after_done = true;
  limits.max_rma = from.rma == rma_mode::messages
                       ? bytes_with_request(choose_message_bytes(config))
                       : std::min(from.info->ep_attr->max_msg_size, max_rma_bytes);
  if (from.writes_latency_critical() && is_over_tcp(from.name())) {
    // Puts no larger than a packet are not written directly.
    limits.latency_critical_piece =
        std::clamp(choose_piece(config.attr.ofi_piece_size, congestion_control()),
                   limits.max_send + 1, limits.max_rma);
  }
  return limits;
}

size_t choose_inject_bytes(const provider& from) {
  if (!completes_in_order(from.name())) return 0;
  return std::min(from.info->tx_attr->inject_size, most_injected_bytes);
}

uint8_t choose_credits_each(const ofi_context& context, const device_config& config) {
  const size_t receives =
      std::min(config.queues.receives, context.chosen_provider().info->rx_attr->size);
  return static_cast<uint8_t>(choose_credits(receives, static_cast<size_t>(context.size()) - 1));
}

// Exchanged when a device is made, followed by the endpoint's address.
struct offer {
  uint64_t packet_bytes;
  uint32_t credits;
  uint16_t rma;
  uint16_t token;
  int64_t pid;
  uint64_t shared;  // for ranks of the same process: the address of own_
};
static_assert(sizeof(offer) == 32);

}  // namespace

ofi_device::ofi_device(ofi_context& context, const device_config& config)
    : device(choose_limits(context.chosen_provider(), config)),
      context_(context),
      ranks_(context.size()),
      config_(config),
      rma_(context.chosen_provider().rma),
      writes_latency_critical_(context.chosen_provider().writes_latency_critical()),
      message_bytes_(choose_message_bytes(config)),
      packet_bytes_(packet_bytes_for(context, config)),
      coalescing_(config.attr.ofi_gather_size, packet_bytes_),
      inject_bytes_(choose_inject_bytes(context.chosen_provider())),
      credits_each_(choose_credits_each(context, config)),
      immediate_(context.chosen_provider().info->domain_attr->cq_data_size),
      token_(static_cast<uint16_t>(reinterpret_cast<uintptr_t>(this) >> 6)),
      own_(new resources),
      peers_(static_cast<size_t>(ranks_)),
      last_check_(std::chrono::steady_clock::now()),
      last_probe_(last_check_) {}

base::StatusOr<std::unique_ptr<device>> ofi_device::make(ofi_context& context,
                                                         boot::bootstrap& boot,
                                                         const device_config& config) {
  std::unique_ptr<ofi_device> made(new ofi_device(context, config));
  if (base::Status status = made->connect(boot); !status.ok()) {
    return base::Status(status.code(),
                        base::StrCat("device ", config.uid, ", provider ",
                                     context.chosen_provider().name(), ": ", status.message()));
  }
  made->connected_ = true;
  return std::unique_ptr<device>(std::move(made));
}

base::Status ofi_device::open() {
  if (config_.max_message > max_message_bytes) {
    return base::InvalidArgumentError(base::StrCat("packets of ", config_.max_message,
                                                   " bytes; the ofi backend has room for ",
                                                   max_message_bytes, " at most"));
  }
  const provider& from = context_.chosen_provider();
  own_->fabric = context_.fabric();
  own_->active_domain = context_.shared_domain();
  if (own_->active_domain == nullptr) {
    base::StatusOr<std::unique_ptr<domain>> opened =
        domain::open(*own_->fabric, from, context_.registration_counter());
    if (!opened.ok()) return opened.status();
    own_->own_domain = *std::move(opened);
    own_->active_domain = own_->own_domain.get();
    lock_ = &own_->active_domain->lock;
  }
  const size_t sends = config_.queues.sends();
  const size_t receives = receives_needed(credits_each_, static_cast<size_t>(ranks_) - 1);
  arrived_.reserve(sends + receives);
  finished_.reserve(sends + receives);
  ready_.reserve(sends + receives);
  pending_.reserve(static_cast<size_t>(ranks_));
  const size_t completions = sends       // packets in flight
                             + sends     // reads and writes
                             + sends     // writes to this rank, which produce a second entry
                             + receives  // or peers' writes, which cost a credit, too
                             + 1;        // a provider may keep one entry free
  base::StatusOr<endpoint> opened =
      endpoint::open(own_->active_domain->get(), from, completions, config_.attr.progress_thread);
  if (!opened.ok()) return opened.status();
  own_->ep = *std::move(opened);
  notifies_ = own_->ep.descriptor() >= 0;
  if (notifies_ && !sleeper_.open()) {
    return base::ResourceExhaustedError("no descriptor to sleep on (eventfd); see ulimit -n");
  }
  if (own_->own_domain != nullptr) {
    own_->active_domain->bind(own_->ep.ep());
    if (base::Status status = context_.add_domain(*own_->active_domain); !status.ok()) {
      return status;
    }
  }
  region_table& regions = context_.regions();
  base::Status status = own_->outgoing.make(*own_->active_domain, sends, packet_bytes_,
                                            operation::kind::packet, regions.take_key());
  if (status.ok()) {
    status = own_->incoming.make(*own_->active_domain, receives, packet_bytes_,
                                 operation::kind::receive, regions.take_key());
  }
  if (!status.ok()) return status;
  for (size_t i = 0; i < sends; ++i) free_packets_.push_back(&own_->outgoing.at(i));
  accesses_ = base::make_aligned_array<access>(sends);
  access_count_ = sends;
  for (size_t i = 0; i < sends; ++i) {
    accesses_[i].what = operation::kind::access;
    free_accesses_.push_back(&accesses_[i]);
  }
  // Other threads may register memory in the same domain.
  const std::lock_guard<ds::spinlock> guard(*lock_);
  for (size_t i = 0; i < receives; ++i) {
    const int64_t refused = repost(own_->incoming.at(i));
    if (refused == 0) continue;
    if (refused != -FI_EAGAIN) return failure("posting a receive", refused);
    return base::ResourceExhaustedError(
        base::StrCat("it takes only ", i, " receives of the ", receives, " for ", ranks_,
                     " ranks; choose another (ofi_provider_name), or start fewer"));
  }
  return base::OkStatus();
}

base::Status ofi_device::connect(boot::bootstrap& boot) {
  const auto make_offer = [&]() -> base::StatusOr<std::string> {
    if (base::Status status = open(); !status.ok()) return status;
    const base::StatusOr<std::string> name = own_->ep.name();
    if (!name.ok()) return name.status();
    const offer local{packet_bytes_, credits_each_, static_cast<uint16_t>(rma_),
                      token_,        getpid(),      reinterpret_cast<uintptr_t>(&own_)};
    return base::StrCat(std::string_view(reinterpret_cast<const char*>(&local), sizeof(local)),
                        *name);
  };
  const auto all = exchange(boot, base::StrCat("ofi-device-", config_.uid), make_offer());
  if (!all.ok()) return all.status();
  base::Status status;
  for (int r = 0; r < ranks_ && status.ok(); ++r) {
    status = insert(r, (*all)[static_cast<size_t>(r)]);
    if (!status.ok()) {
      status = base::Status(status.code(), base::StrCat("rank ", r, ": ", status.message()));
    }
  }
  // All ranks can receive before any rank sends.
  status = agree(boot, base::StrCat("ofi-opened-", config_.uid), status);
  if (!status.ok()) return status;
  return greet(boot);
}

base::Status ofi_device::insert(int rank, const std::string& bytes) {
  offer remote;
  if (bytes.size() <= sizeof(remote)) return base::FailedPreconditionError("offers no endpoint");
  std::memcpy(&remote, bytes.data(), sizeof(remote));
  const char* differs = nullptr;
  if (remote.packet_bytes != packet_bytes_) differs = "packet_size";
  if (remote.credits != credits_each_) differs = "net_max_sends or net_max_recvs";
  if (remote.rma != static_cast<uint16_t>(rma_)) differs = "LCI_OFI_RMA";
  if (differs != nullptr) {
    return base::FailedPreconditionError(
        base::StrCat("has another ", differs, "; set it alike on all ranks"));
  }
  peer& other = peer_of(rank);
  other.token = remote.token;
  other.credit.set(credits_each_);
  other.requests = base::make_aligned_array<request>(max_requests);
  constexpr std::string_view of_shm = "fi_shm://";
  const std::string_view name = std::string_view(bytes).substr(sizeof(remote));
  if (base::StartsWith(name, of_shm)) {
    // The name ends with a zero.
    other.shared_memory = base::StrCat("/", name.substr(of_shm.size()).data());
  }
  // Messages to this rank bypass the provider; native puts and gets do not.
  if (is_self(rank) && rma_ != rma_mode::native) return base::OkStatus();
  const std::lock_guard<ds::spinlock> guard(*lock_);
  const base::StatusOr<fi_addr_t> address = own_->ep.insert(name);
  if (!address.ok()) return address.status();
  other.address = *address;
  const bool in_this_process = remote.pid == getpid() && !context_.is_elsewhere(rank);
  if (!is_self(rank) && in_this_process && core_of(context_.chosen_provider().name()) == "shm") {
    others_.push_back(*reinterpret_cast<const std::shared_ptr<resources>*>(remote.shared));
  }
  return base::OkStatus();
}

// Exchanges a packet with every rank in both directions, so that all connections exist before they
// are needed, and a missing path is found now and the error names the ranks.
base::Status ofi_device::greet(boot::bootstrap& boot) {
  const auto deadline = std::chrono::steady_clock::now() + boot.default_timeout();
  completion none;
  batch nothing{&none, 0};
  const auto progress = [&] {
    const std::lock_guard<ds::spinlock> guard(*lock_);
    read_completions(nothing);
    give(&nothing);
    check_for_failures();
  };
  base::Status status;
  base::backoff backoff;
  // A rank that has ended before it could be connected to is found by the job only.
  constexpr std::chrono::milliseconds look_period{500};
  auto next_look = std::chrono::steady_clock::now() + look_period;
  for (bool all = false; !all && status.ok(); backoff.idle()) {
    int missing = -1;
    for (int r = 0; r < ranks_; ++r) {
      peer& other = peer_of(r);
      if (is_self(r) || other.state != peer_state::alive) continue;
      const std::lock_guard<ds::spinlock> guard(*lock_);
      if (!other.greeting_sent) other.greeting_sent = send_free(r, nullptr);
      if (!other.greeted || !other.greeting_sent || other.in_flight > 0) missing = r;
    }
    progress();
    all = missing < 0;
    status = first_failure(boot);
    if (status.ok() && !all && std::chrono::steady_clock::now() > next_look) {
      next_look += look_period;
      if (const std::optional<int> lost = boot.first_lost()) {
        status = base::AbortedError(base::StrCat("rank ", *lost, " is lost"));
      }
    }
    if (status.ok() && !all && std::chrono::steady_clock::now() > deadline) {
      status = base::DeadlineExceededError(
          base::StrCat("rank ", missing, " and rank ", context_.rank(),
                       " can't reach each other; is there a firewall between them, or another "
                       "interface (device_name) that both have?"));
    }
  }
  if (notifies_ && status.ok() && !descriptor_settles()) {
    LCI_LOG(info, "ofi: a thread that sleeps on device ", config_.uid,
            " polls at intervals, since ", context_.chosen_provider().name(),
            " leaves its descriptor readable");
    notifies_ = false;
  }
  // Other ranks may need this one to make progress until they are done.
  status = agree_while(boot, base::StrCat("ofi-greeted-", config_.uid), status, [&] {
    progress();
    return first_failure(boot);
  });
  // All have opened it. Without a name it goes with the last process, also if all are killed.
  if (status.ok()) remove_shared_memory(context_.rank());
  return status;
}

// Whether the descriptor becomes unreadable when nothing arrives: all greetings have arrived. With
// some providers it stays readable for good after the first completion (libfabric before 1.18.1:
// tcp without ofi_rxm, and net).
bool ofi_device::descriptor_settles() {
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    if (arm() > std::chrono::microseconds(0)) return true;
    completion none;
    batch nothing{&none, 0};
    const std::lock_guard<ds::spinlock> guard(*lock_);
    read_completions(nothing);
    give(&nothing);
    take_returned();
  }
  return false;
}

base::Status ofi_device::first_failure(boot::bootstrap& boot) const {
  for (int r = 0; r < ranks_; ++r) {
    if (peers_[static_cast<size_t>(r)].state != peer_state::alive) {
      boot.report_lost(r);
      return base::AbortedError(
          base::StrCat("rank ", r, " went away (seen by rank ", context_.rank(), ")"));
    }
  }
  return base::OkStatus();
}

ofi_device::~ofi_device() {
  if (!context_.is_owner_process()) {
    // In a forked child, the objects belong to the parent.
    static_cast<void>(new std::shared_ptr<resources>(std::move(own_)));
    static_cast<void>(new auto(std::move(others_)));
    return;
  }
  if (connected_) end();
  if (own_->own_domain != nullptr) context_.remove_domain(*own_->own_domain);
}

// Hands all packets to the network for good, and says goodbye, so that no peer takes the end of
// this device for a failure. Needs the peers to poll only where there is more than the network
// holds.
void ofi_device::end() {
  if (drain(*this, [this] { return has_said_goodbye(); })) return;
  for (int r = 0; r < ranks_; ++r) {
    const peer& other = peer_of(r);
    if (is_self(r) || other.state != peer_state::alive) continue;
    LCI_LOG(warn, "ofi: device ", config_.uid, " of rank ", context_.rank(),
            " ended before the network had taken all for rank ", r, " (", other.in_flight,
            " packets on the way, ", other.filling == nullptr ? "none" : "one", " not yet)");
  }
}

bool ofi_device::has_said_goodbye() {
  const std::lock_guard<ds::spinlock> guard(*lock_);
  bool all = true;
  for (int r = 0; r < ranks_; ++r) {
    peer& other = peer_of(r);
    if (is_self(r) || other.state != peer_state::alive) continue;
    if (other.filling == nullptr && other.deferred.empty() && !other.bye_sent) {
      outgoing_record bye;
      bye.kind = record_kind::bye;
      other.bye_sent = send_free(r, &bye);
    }
    if (!other.bye_sent || other.in_flight > 0) all = false;
  }
  return all;
}

}  // namespace lci::net::ofi
