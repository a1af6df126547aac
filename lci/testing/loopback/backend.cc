// A backend for ranks that are threads of one process, which docs/adding-a-backend.md explains.
#include "lci/testing/loopback/backend.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/net/exchange.h"

namespace lci::net::loopback {
namespace {

// [begin mailbox]
// Messages that have arrived at one device of one rank and have not been polled. `mutex` guards
// every other member.
struct mailbox {
  static constexpr size_t most_messages = 128;

  explicit mailbox(size_t slot_bytes_) : slot_bytes(slot_bytes_) {
    for (size_t slot = 0; slot < most_messages; ++slot) free_slots.push_back(slot);
  }
  unsigned char* slot(size_t index) { return bytes.data() + index * slot_bytes; }
  bool is_full() const { return count == arrived.size() || free_slots.empty(); }
  completion& add() { return arrived[(first + count++) % arrived.size()]; }

  std::mutex mutex;
  bool has_ended = false;
  const size_t slot_bytes;
  // Allocated once, since a post must not allocate.
  std::vector<unsigned char> bytes = std::vector<unsigned char>(most_messages * slot_bytes);
  std::vector<size_t> free_slots;
  std::vector<completion> arrived = std::vector<completion>(most_messages);  // a ring
  size_t first = 0;
  size_t count = 0;
};

// State that the ranks of a job share.
struct hub {
  struct region {
    int rank;
    unsigned char* address;
    size_t size;
  };
  // The address of the remote bytes; null if the rank has not registered them. The caller holds the
  // mutex.
  unsigned char* find(const op& operation) const {
    const auto found = regions.find(operation.remote.key);
    if (found == regions.end()) return nullptr;
    const region& opened = found->second;
    const bool is_inside = operation.remote_offset <= opened.size &&
                           operation.size <= opened.size - operation.remote_offset;
    const bool is_same = opened.rank == operation.rank &&
                         operation.remote.base == reinterpret_cast<uintptr_t>(opened.address);
    return is_inside && is_same ? opened.address + operation.remote_offset : nullptr;
  }

  std::mutex mutex;  // taken after that of a mailbox
  std::map<std::pair<int, int>, std::shared_ptr<mailbox>> mailboxes;  // by uid and rank
  std::map<uint64_t, region> regions;                                 // by key
  uint64_t last_key = 0;
};
// [end mailbox]

// [begin device]
class loopback_device final : public device {
 public:
  loopback_device(int rank, std::shared_ptr<hub> shared,
                  std::vector<std::shared_ptr<mailbox>> mailboxes)
      : device(limits_of(*mailboxes[static_cast<size_t>(rank)])),
        rank_(rank),
        hub_(std::move(shared)),
        mailboxes_(std::move(mailboxes)) {}

  ~loopback_device() override {
    mailbox& own = mailbox_of(rank_);
    const std::lock_guard<std::mutex> guard(own.mutex);
    own.has_ended = true;
  }

  error_t post(const op& operation) override {
    mailbox& to = mailbox_of(operation.rank);
    const std::unique_lock<std::mutex> guard(to.mutex, std::try_to_lock);
    if (!guard.owns_lock()) return errorcode_t::retry_lock;
    if (to.has_ended) return errorcode_t::fatal;
    switch (operation.kind) {
      case op_kind::send:
        if (to.is_full()) return errorcode_t::retry_nomem;
        deliver(operation, &to);
        return errorcode_t::done;
      case op_kind::put_imm: {
        // Nothing may have happened when the answer is a retry.
        if (to.is_full()) return errorcode_t::retry_nomem;
        const error_t copied = copy(operation);
        if (copied.is_done()) notify(operation, &to);
        return copied;
      }
      default:
        return copy(operation);
    }
  }

  error_t poll(completion* out, size_t max, size_t* count) override {
    *count = 0;
    mailbox& own = mailbox_of(rank_);
    const std::unique_lock<std::mutex> guard(own.mutex, std::try_to_lock);
    if (!guard.owns_lock()) return errorcode_t::retry_lock;
    while (*count < max && own.count > 0) {
      out[(*count)++] = own.arrived[own.first];
      own.first = (own.first + 1) % own.arrived.size();
      --own.count;
    }
    return *count > 0 ? errorcode_t::done : errorcode_t::retry;
  }

  void release(const completion& received) override {
    if (received.is_small) return;
    mailbox& own = mailbox_of(rank_);
    const std::lock_guard<std::mutex> guard(own.mutex);
    own.free_slots.push_back(received.lease);
  }

  // A post leaves nothing to be done.
  bool drained() override { return true; }

 private:
  static device_limits limits_of(const mailbox& own) {
    device_limits limits;
    limits.max_inject = limits.max_send = own.slot_bytes;
    limits.max_rma = limits.rma_short = size_t{1} << 30;
    limits.needs_registration = false;
    limits.put_imm_bits = 64;
    return limits;
  }

  mailbox& mailbox_of(int rank) const { return *mailboxes_[static_cast<size_t>(rank)]; }

  void deliver(const op& operation, mailbox* to) const {
    completion& arrived = to->add();
    arrived = completion();
    arrived.kind = completion_kind::recv;
    arrived.rank = rank_;
    arrived.imm = operation.imm;
    arrived.size = operation.header_size + operation.size;
    arrived.is_small = arrived.size <= sizeof(arrived.small);
    unsigned char* bytes = arrived.small;
    if (!arrived.is_small) {
      arrived.lease = to->free_slots.back();
      to->free_slots.pop_back();
      bytes = to->slot(arrived.lease);
      arrived.buffer = bytes;
    }
    if (operation.header_size > 0) std::memcpy(bytes, operation.header, operation.header_size);
    if (operation.size > 0) {
      std::memcpy(bytes + operation.header_size, operation.buffer, operation.size);
    }
  }

  void notify(const op& operation, mailbox* to) const {
    completion& arrived = to->add();
    arrived = completion();
    arrived.kind = completion_kind::remote_put;
    arrived.rank = rank_;
    arrived.imm = operation.imm;
    arrived.imm_high = operation.imm_high;
  }

  // The mutex is held while bytes are copied, so that the memory is not deregistered meanwhile.
  error_t copy(const op& operation) const {
    const std::unique_lock<std::mutex> guard(hub_->mutex, std::try_to_lock);
    if (!guard.owns_lock()) return errorcode_t::retry_lock;
    unsigned char* const remote = hub_->find(operation);
    if (remote == nullptr) return errorcode_t::fatal;
    if (operation.size == 0) return errorcode_t::done;
    const bool reads = operation.kind == op_kind::get;
    std::memmove(reads ? operation.buffer : remote, reads ? remote : operation.buffer,
                 operation.size);
    return errorcode_t::done;
  }

  const int rank_;
  const std::shared_ptr<hub> hub_;
  const std::vector<std::shared_ptr<mailbox>> mailboxes_;  // of this uid, by rank
};
// [end device]

// [begin context]
class loopback_context final : public context {
 public:
  loopback_context(boot::bootstrap& boot, const context_config& config, std::shared_ptr<hub> shared)
      : context(config.max_registrations), boot_(boot), hub_(std::move(shared)) {}

  const char* name() const override { return "loopback"; }

  base::StatusOr<std::unique_ptr<device>> make_device(const device_config& config) override {
    constexpr size_t alignment = 8;  // of what a completion lends
    const size_t room = std::max<size_t>(config.max_message, 64) + alignment - 1;
    {
      const std::lock_guard<std::mutex> guard(hub_->mutex);
      hub_->mailboxes[{config.uid, boot_.rank()}] =
          std::make_shared<mailbox>(room / alignment * alignment);
    }
    const std::string step = base::StrCat("loopback-device-", config.uid);
    if (base::Status all = agree(boot_, step, base::OkStatus()); !all.ok()) return all;
    std::vector<std::shared_ptr<mailbox>> mailboxes;
    const std::lock_guard<std::mutex> guard(hub_->mutex);
    for (int r = 0; r < boot_.size(); ++r) mailboxes.push_back(hub_->mailboxes.at({config.uid, r}));
    return std::unique_ptr<device>(
        std::make_unique<loopback_device>(boot_.rank(), hub_, std::move(mailboxes)));
  }

  base::StatusOr<local_region> register_memory(void* address, size_t size) override {
    if (base::Status room = registrations_.add(1); !room.ok()) return room;
    const std::lock_guard<std::mutex> guard(hub_->mutex);
    hub_->regions[++hub_->last_key] = {boot_.rank(), static_cast<unsigned char*>(address), size};
    return local_region{hub_->last_key};
  }

  void deregister_memory(local_region region) override {
    const std::lock_guard<std::mutex> guard(hub_->mutex);
    hub_->regions.erase(region.handle);
    registrations_.remove(1);
  }

  remote_region remote_key(local_region region) const override {
    const std::lock_guard<std::mutex> guard(hub_->mutex);
    const unsigned char* const address = hub_->regions.at(region.handle).address;
    return {reinterpret_cast<uintptr_t>(address), region.handle};
  }

 private:
  boot::bootstrap& boot_;
  const std::shared_ptr<hub> hub_;
};
// [end context]

// [begin entry]
bool available() { return true; }

// Rank 0 makes the hub, and the others take it from its address.
base::StatusOr<std::unique_ptr<context>> make(boot::bootstrap& boot, const context_config& config) {
  struct introduction {
    pid_t process;
    std::shared_ptr<hub>* shared;
  };
  std::shared_ptr<hub> shared;
  if (boot.rank() == 0) shared = std::make_shared<hub>();
  const introduction own{getpid(), &shared};
  const auto all = exchange(boot, "loopback-ranks",
                            std::string(reinterpret_cast<const char*>(&own), sizeof(own)));
  if (!all.ok()) return all.status();
  introduction first{};
  if ((*all)[0].size() == sizeof(first)) std::memcpy(&first, (*all)[0].data(), sizeof(first));
  base::Status status;
  if (first.process == getpid()) {
    if (boot.rank() != 0) shared = *first.shared;
  } else {
    status =
        base::FailedPreconditionError("loopback joins only ranks that are threads of a process");
  }
  // Rank 0 stays in this function until all have taken it.
  if (base::Status taken = agree(boot, "loopback-ready", status); !taken.ok()) return taken;
  return std::unique_ptr<context>(
      std::make_unique<loopback_context>(boot, config, std::move(shared)));
}
// [end entry]

}  // namespace

// [begin backend]
const backend_entry backend = {attr_backend_t::none, "loopback", /*preference=*/-1, available,
                               make};
// [end backend]

}  // namespace lci::net::loopback
