#include "lci/net/shm/device.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lci/base/strings.h"
#include "lci/net/capacity.h"
#include "lci/net/shm/laned_device.h"

namespace lci::net::shm {
namespace {

// Whether the processes of peers have ended is checked once in this time.
constexpr std::chrono::milliseconds check_interval{100};
constexpr size_t max_message_bytes = size_t{16} << 20;
static_assert(max_message_bytes + sizeof(remote_copy_header) < max_message_size);

device_limits choose_limits(const device_config& config, int ranks, bool any_target_copies) {
  device_limits limits;
  // Larger messages than the runtime needs, as far as that makes no ring larger.
  const size_t quarter = net::ring_bytes(span_of(config.max_message) * cell_size, ranks) / 4;
  const size_t wanted = std::min(config.attr.shm_eager_size, max_message_bytes) + max_header_size;
  limits.max_inject =
      std::max({size_t{64}, config.max_message,
                std::min(wanted, quarter - word_size - sizeof(remote_copy_header) - cell_size)});
  limits.max_send = limits.max_inject;
  limits.needs_registration = false;
  // A put or get that both ranks copy, or that the ring carries in several pieces, is waited for.
  limits.rma_short =
      any_target_copies ? 0 : std::min(limits.max_send + 1, config.attr.shm_joint_copy_size);
  limits.has_add = !any_target_copies;  // else the bytes themselves wait for the target
  // Upper bound on the copy that other messages to the same rank may have to wait for.
  limits.max_rma = size_t{4} << 20;
  limits.timed_below = get_selectors::largest;
  return limits;
}

// The largest message: a send, or a request with as many bytes.
size_t largest_message(const device_limits& limits) {
  return std::min(limits.max_send, max_message_bytes) + sizeof(remote_copy_header);
}

base::Status validate(const device_config& config) {
  if (config.max_message > max_message_bytes) {
    return base::InvalidArgumentError(base::StrCat("packets of ", config.max_message,
                                                   " bytes; the shm backend has room for ",
                                                   max_message_bytes, " at most"));
  }
  if (config.attr.shm_lanes < 0 || config.attr.shm_lanes > static_cast<int>(max_lanes)) {
    return base::InvalidArgumentError(
        base::StrCat("attribute shm_lanes is ", config.attr.shm_lanes, ", not 0 to ", max_lanes));
  }
  return base::OkStatus();
}

}  // namespace

base::StatusOr<std::unique_ptr<device>> shm_device::make(shm_context& context,
                                                         boot::bootstrap& boot,
                                                         const device_config& config) {
  const device_limits limits = choose_limits(config, context.size(), context.any_target_copies());
  base::StatusOr<std::unique_ptr<mailboxes>> boxes =
      mailboxes::make(context, boot, config, largest_message(limits), validate(config));
  if (!boxes.ok()) return boxes.status();
  const auto common = std::make_shared<lanes_common>(*std::move(boxes), context.size());
  if (common->boxes->lanes() == 1) {
    return std::unique_ptr<device>(
        std::make_unique<shm_device>(context, config, limits, common, 0, nullptr));
  }
  return std::unique_ptr<device>(std::make_unique<laned_device>(context, config, limits, common));
}

shm_device::shm_device(shm_context& context, const device_config& config,
                       const device_limits& limits, std::shared_ptr<lanes_common> common,
                       uint32_t lane, outlook* seen)
    : device(limits),
      context_(context),
      ranks_(context.size()),
      piece_(limits.max_send),
      cooperative_copy_size_(config.attr.shm_joint_copy_size),
      common_(std::move(common)),
      lease_base_(uint64_t{lane} << lane_shift),
      seen_(seen == nullptr ? outlook_ : *seen),
      writers_(new ring_writer[static_cast<size_t>(ranks_)]),
      readers_(new ring_reader[static_cast<size_t>(ranks_)]),
      puts_to_(new put_place[static_cast<size_t>(ranks_)]),
      health_("shm", ranks_, peer_state::alive, check_interval),
      large_puts_(ranks_),
      requests_(ranks_, context.regions(), piece_, large_puts_),
      cooperative_(
          ranks_, context.regions(),
          [&context](int rank, copy_direction direction, void* local, uint64_t remote,
                     size_t size) { return context.copy(rank, direction, local, remote, size); },
          large_puts_),
      pulse_(common_->boxes->pulse(context.rank(), lane)),
      active_rank_(context.rank()),
      region_user_(context.regions()),
      puts_from_(new put_place[static_cast<size_t>(ranks_)]) {
  const mailboxes& boxes = *common_->boxes;
  const int self = context.rank();
  for (int r = 0; r < ranks_; ++r) {
    writer(r).attach(boxes.control(r, lane, self), boxes.cells(r, lane, self), boxes.ring_shift());
    writer(r).set_receiver(context.assumed_distance(), boxes.pulse(r, lane), reader(r).position());
    reader(r).attach(boxes.control(self, lane, r), boxes.cells(self, lane, r), boxes.ring_shift(),
                     largest_message(limits));
    cooperative_.attach(r, boxes.slots(r, lane, self), boxes.slots(self, lane, r));
  }
}

shm_device::~shm_device() {
  // A child that was forked off must not end it for us.
  if (!context_.is_owner_process()) return;
  for (int r = 0; r < ranks_; ++r) writer(r).close();
}

}  // namespace lci::net::shm
