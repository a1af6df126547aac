#include "lci/net/ofi/device.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "lci/base/strings.h"
#include "lci/net/ending.h"
#include "lci/net/ofi/coalescing.h"
#include "lci/net/ofi/credits.h"
#include "lci/net/ofi/pacing.h"
#include "lci/net/ofi/provider.h"
#include "lci/net/ofi/provider_facts.h"
#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {
namespace {

constexpr size_t max_message_bytes = size_t{1} << 20;
constexpr size_t max_rma_bytes = size_t{1} << 30;

size_t choose_message_bytes(const device_config& config) {
  // Always room for a request with some bytes.
  const size_t largest = std::max<size_t>(config.max_message, 4 * sizeof(request_header));
  return sizeof(packet_header) + record_span(std::min(largest, max_message_bytes));
}

// The largest message that is sent by copy where room in a packet costs nothing.
size_t eager_bytes(const device_config& config) {
  return std::min(config.attr.ofi_eager_size, max_message_bytes) + max_header_size;
}

size_t choose_packet_bytes(const ofi_context& context, const device_config& config) {
  const size_t for_eager = sizeof(packet_header) + record_span(eager_bytes(config));
  const auto peers = static_cast<size_t>(context.size()) - 1;
  return ofi::choose_packet_bytes(choose_message_bytes(config),
                                  std::max(config.attr.ofi_gather_size, for_eager),
                                  eager_limit_of(context.chosen_provider().name()),
                                  config.queues.receives, receives_needed(most_credits, peers));
}

// Bytes of a put that fit into the request.
size_t bytes_with_request(size_t message_bytes) {
  return message_bytes - sizeof(packet_header) - sizeof(record_header) - sizeof(request_header);
}

device_limits choose_limits(const ofi_context& context, const device_config& config) {
  const provider& from = context.chosen_provider();
  device_limits limits;
  limits.max_inject = std::clamp<size_t>(config.max_message, 64, max_message_bytes);
  if (is_over_tcp(from.name())) {
    const size_t room = largest_record(choose_packet_bytes(context, config));
    limits.max_inject = std::max(limits.max_inject, std::min(eager_bytes(config), room));
  }
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

packet_settings choose_packets(const ofi_context& context, const device_config& config,
                               const device_limits& limits, const void* device) {
  const provider& from = context.chosen_provider();
  const auto peers = static_cast<size_t>(context.size()) - 1;
  const size_t room = receives_grow(from.name()) ? SIZE_MAX : from.info->rx_attr->size;
  const size_t receives = std::min(config.queues.receives, room);
  packet_settings chosen = {};
  chosen.packet_bytes = choose_packet_bytes(context, config);
  chosen.largest_message = limits.max_send;
  chosen.coalescing_bytes = config.attr.ofi_gather_size;
  if (completes_in_order(from.name())) {
    chosen.inject_bytes = std::min(from.info->tx_attr->inject_size, most_injected_bytes);
  }
  chosen.sends_of_progress = config.queues.sends_of_progress;
  chosen.credits_each = static_cast<uint8_t>(choose_credits(receives, peers));
  chosen.token = static_cast<uint16_t>(reinterpret_cast<uintptr_t>(device) >> 6);
  return chosen;
}

}  // namespace

ofi_device::ofi_device(ofi_context& context, const device_config& config)
    : device(choose_limits(context, config)),
      context_(context),
      config_(config),
      core_(config.uid, context.rank(), context.size()),
      packets_(core_, choose_packets(context, config, limits_, this)),
      rma_(core_, packets_, context.regions(), context.chosen_provider(), limits_, config.queues,
           choose_message_bytes(config)),
      failures_(core_, context.processes(), packets_, rma_),
      reader_(core_, packets_, rma_, failures_),
      connections_(core_, context.processes(), context.chosen_provider(), packets_, rma_, failures_,
                   reader_) {}

base::StatusOr<std::unique_ptr<device>> ofi_device::make(ofi_context& context,
                                                         boot::bootstrap& boot,
                                                         const device_config& config) {
  std::unique_ptr<ofi_device> made(new ofi_device(context, config));
  const base::Status status = made->connections_.connect(boot, made->open());
  if (!status.ok()) {
    return base::WithPrefix(
        base::StrCat("device ", config.uid, ", provider ", context.chosen_provider().name(), ": "),
        status);
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
  resources& own = *core_.own;
  own.fabric = context_.fabric();
  own.active_domain = context_.shared_domain();
  if (own.active_domain == nullptr) {
    base::StatusOr<std::unique_ptr<domain>> opened =
        domain::open(*own.fabric, from, context_.registration_counter());
    if (!opened.ok()) return opened.status();
    own.own_domain = *std::move(opened);
    own.active_domain = own.own_domain.get();
    core_.lock = &own.active_domain->lock;
  }
  const size_t sends = config_.queues.sends();
  const size_t receives =
      receives_needed(packets_.settings().credits_each, static_cast<size_t>(core_.ranks) - 1);
  core_.sink.reserve(sends + receives);
  const size_t completions = sends       // packets in flight
                             + sends     // reads and writes
                             + sends     // writes to this rank, which produce a second entry
                             + receives  // or peers' writes, which cost a credit, too
                             + 1;        // a provider may keep one entry free
  base::StatusOr<endpoint> opened = endpoint::open(*own.fabric, own.active_domain->get(), from,
                                                   completions, config_.attr.progress_thread);
  if (!opened.ok()) return opened.status();
  own.ep = *std::move(opened);
  core_.ep = own.ep.ep();
  core_.cq = own.ep.cq();
  if (own.ep.descriptor() >= 0 && !core_.sleeper.open()) {
    return base::ResourceExhaustedError("no descriptor to sleep on (eventfd); see ulimit -n");
  }
  if (own.own_domain != nullptr) {
    own.active_domain->bind(own.ep.ep());
    if (base::Status status = context_.add_domain(*own.active_domain); !status.ok()) {
      return status;
    }
  }
  const size_t bytes = packets_.settings().packet_bytes;
  base::Status status = own.outgoing.make(sends, bytes, operation::kind::packet);
  if (status.ok()) status = own.incoming.make(receives, bytes, operation::kind::receive);
  for (packet_memory* each : {&own.outgoing, &own.incoming}) {
    if (!status.ok()) return status;
    status = each->register_in(*own.active_domain, context_.regions().take_key());
  }
  if (!status.ok()) return status;
  // Other threads may register memory in the same domain.
  const std::lock_guard<ds::spinlock> guard(*core_.lock);
  return packets_.open();
}

// Hands all packets to the network for good, and says bye, so that no peer takes the end of this
// device for a failure. Needs the peers to poll only where there is more than the network holds.
ofi_device::~ofi_device() {
  if (!context_.is_owner_process()) {
    // In a forked child, the objects belong to the parent.
    static_cast<void>(new std::shared_ptr<resources>(std::move(core_.own)));
    static_cast<void>(new auto(std::move(core_.others)));
    return;
  }
  if (connected_ && !drain(*this, [this] { return connections_.say_bye(); })) {
    connections_.warn_of_unsent();
  }
  if (core_.own->own_domain != nullptr) context_.remove_domain(*core_.own->own_domain);
}

error_t ofi_device::post(const op& operation) {
  ds::spinlock& lock = *core_.lock;
  if (!lock.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(lock, std::adopt_lock);
  if (__builtin_expect(!core_.health.is_alive(operation.rank), 0)) return errorcode_t::fatal;
  if (operation.kind != op_kind::send) return rma_.post(operation);
  outgoing_record record;
  record.imm = operation.imm;
  record.header = operation.header;
  record.header_size = operation.header_size;
  record.body = operation.buffer;
  record.body_size = operation.size;
  // A message to this rank can arrive only while this rank polls.
  const bool is_posted = operation.network_semantic && !core_.is_self(operation.rank);
  void* const context = is_posted ? operation.context : nullptr;
  if (!packets_.append(operation.rank, record, claim::post, context)) {
    return errorcode_t::retry_nomem;
  }
  return is_posted ? errorcode_t::posted : errorcode_t::done;
}

error_t ofi_device::post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                               const remote_place* where) {
  if (__builtin_expect(what.kind != op_kind::send || size > limits_.max_inject, 0)) {
    return device::post_short(what, imm, buffer, size, where);
  }
  ds::spinlock& lock = *core_.lock;
  if (!lock.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(lock, std::adopt_lock);
  if (__builtin_expect(!core_.health.is_alive(what.rank), 0)) return errorcode_t::fatal;
  outgoing_record record;
  record.imm = imm;
  record.body = buffer;
  record.body_size = size;
  return packets_.append(what.rank, record, claim::post) ? errorcode_t::done
                                                         : errorcode_t::retry_nomem;
}

error_t ofi_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  ds::spinlock& lock = *core_.lock;
  if (!lock.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(lock, std::adopt_lock);
  core_.sink.begin(out, max);
  // First, since peers wait for it.
  if (!core_.pending.empty()) process_pending();
  if (packets_.has_returned() || packets_.has_finished()) packets_.repost_all();
  if (packets_.has_arrived()) reader_.give();
  reader_.read();
  if (packets_.has_arrived()) reader_.give();
  if (!core_.pending.empty()) process_pending();
  if (++polls_ % polls_between_checks == 0) failures_.check();
  if (__builtin_expect(core_.health.has_suspects(), 0)) failures_.confirm();
  *count = core_.sink.end();
  return *count > 0 || core_.sink.has_progress() ? errorcode_t::done : errorcode_t::retry;
}

// Out of line, like all that not every poll does.
[[gnu::noinline]] void ofi_device::process_pending() {
  core_.pending.process_all([this](int rank) {
    if (!core_.health.is_alive(rank)) return false;
    const bool owes_answers = rma_.owes_answers(rank) && rma_.send_deferred(rank);
    return packets_.send_pending(rank) || owes_answers;
  });
}

void ofi_device::release(const completion& received) {
  if (received.is_small) return;
  packets_.release(*reinterpret_cast<packet*>(static_cast<uintptr_t>(received.lease)));
}

bool ofi_device::drained() {
  if (!core_.lock->try_lock()) return false;
  const std::lock_guard<ds::spinlock> guard(*core_.lock, std::adopt_lock);
  // Many operations are complete, but their completions have not been read yet.
  reader_.read();
  if (!core_.pending.empty()) process_pending();
  if (!rma_.is_idle()) return false;
  bool all = true;
  for (int r = 0; r < core_.ranks; ++r) {
    if (!core_.health.is_alive(r)) continue;
    if (!packets_.drain(r) || !rma_.is_idle(r)) all = false;
  }
  return all;
}

bool ofi_device::has_left(int rank) { return core_.health.state(rank) == peer_state::left; }

std::vector<int> ofi_device::wait_descriptors() const {
  const int descriptor = core_.own->ep.descriptor();
  if (descriptor < 0) return {};
  return {descriptor, core_.sleeper.descriptor()};
}

std::chrono::microseconds ofi_device::arm() {
  constexpr std::chrono::microseconds not_now{0};
  if (!core_.lock->try_lock()) return not_now;
  const std::lock_guard<ds::spinlock> guard(*core_.lock, std::adopt_lock);
  failures_.check();
  core_.sink.begin(nullptr, 0);
  if (!core_.pending.empty()) process_pending();
  if (core_.sink.has_progress() || core_.sink.has_waiting() || packets_.has_arrived() ||
      packets_.has_returned()) {
    return not_now;
  }
  const endpoint& ep = core_.own->ep;
  if (ep.descriptor() < 0) return short_sleep;
  // A post that leaves work behind takes the lock: it comes before this, or finds the sleeper
  // armed.
  core_.sleeper.arm();
  if (!ep.is_quiet(*core_.own->fabric)) {
    core_.sleeper.disarm();
    return not_now;
  }
  // Retries and failure decisions are due without an event.
  const bool soon =
      !core_.pending.empty() || packets_.has_finished() || core_.health.has_suspects();
  return soon ? short_sleep : long_sleep;
}

}  // namespace lci::net::ofi
