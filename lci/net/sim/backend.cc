#include "lci/net/sim/backend.h"

#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/exchange.h"

namespace lci::net::sim {
namespace {

device_limits limits_of(const settings& how) {
  device_limits limits;
  limits.max_inject = how.max_inject;
  limits.max_send = how.max_send;
  limits.max_rma = how.max_rma;
  limits.has_put_imm = how.has_put_imm;
  limits.put_imm_bits = how.put_imm_bits;
  limits.has_add = how.has_add;
  limits.needs_registration = how.needs_registration;
  return limits;
}

class sim_device final : public device {
 public:
  sim_device(std::shared_ptr<fabric> shared, int rank, int uid)
      : device(limits_of(shared->how())), fabric_(std::move(shared)), rank_(rank), uid_(uid) {
    fabric_->open_device(rank_, uid_);
  }
  ~sim_device() override { fabric_->close_device(rank_, uid_); }

  error_t post(const op& operation) override { return fabric_->post(rank_, uid_, operation); }
  bool add(int rank, remote_region remote, uint64_t remote_offset, int64_t value) override {
    return fabric_->add(rank_, rank, remote, remote_offset, value);
  }
  bool is_got_sooner(int, size_t, bool) const override { return fabric_->how().gets_sooner; }
  bool read_memory(int rank, void* to, uint64_t from, size_t size) override {
    return fabric_->read_memory(rank_, rank, to, from, size);
  }
  error_t poll(completion* out, size_t max, size_t* count) override {
    return fabric_->poll(rank_, uid_, out, max, count);
  }
  void release(const completion& received) override {
    fabric_->release(rank_, uid_, received.lease);
  }
  bool drained() override { return fabric_->drained(rank_, uid_); }
  bool has_left(int rank) override { return fabric_->has_left(rank, uid_); }
  bool has_died(int rank) override { return fabric_->has_died(rank); }
  std::optional<bool> has_arrivals() override { return fabric_->has_arrivals(rank_, uid_); }

 private:
  const std::shared_ptr<fabric> fabric_;
  const int rank_;
  const int uid_;
};

class sim_context final : public context {
 public:
  sim_context(boot::bootstrap& boot, std::shared_ptr<fabric> shared, size_t max_registrations)
      : context(max_registrations), boot_(boot), fabric_(std::move(shared)) {}

  const char* name() const override { return "sim"; }
  base::StatusOr<std::unique_ptr<device>> make_device(const device_config& config) override {
    auto made = std::make_unique<sim_device>(fabric_, boot_.rank(), config.uid);
    const base::Status met =
        boot_.barrier(base::StrCat("sim-device-", config.uid), boot_.default_timeout());
    if (!met.ok()) return met;
    return std::unique_ptr<device>(std::move(made));
  }
  base::StatusOr<local_region> register_memory(void* address, size_t size) override {
    if (base::Status none_left = registrations_.add(1); !none_left.ok()) return none_left;
    return fabric_->register_memory(boot_.rank(), address, size);
  }
  void deregister_memory(local_region region) override {
    fabric_->deregister_memory(boot_.rank(), region);
    registrations_.remove(1);
  }
  remote_region remote_key(local_region region) const override {
    return fabric_->remote_key(boot_.rank(), region);
  }

  // All ranks are threads of one process.
  bool maps_memory() const override { return fabric_->how().hosts == 1; }
  bool maps_memory_of(int rank) const override {
    const settings& how = fabric_->how();
    return how.hosts > 0 &&
           how.host_of(rank, boot_.size()) == how.host_of(boot_.rank(), boot_.size());
  }
  void* map_memory(int rank, remote_region region, size_t size) override {
    return maps_memory_of(rank) ? fabric_->find_memory(rank, region, size) : nullptr;
  }
  bool reaches_memory(int rank) const override { return maps_memory_of(rank); }
  bool read_memory(int rank, void* to, uint64_t from, size_t size) const override {
    if (!reaches_memory(rank)) return false;
    std::memcpy(to, reinterpret_cast<const void*>(static_cast<uintptr_t>(from)), size);
    return true;
  }
  bool write_memory(int rank, uint64_t to, const void* from, size_t size) const override {
    if (!reaches_memory(rank)) return false;
    std::memcpy(reinterpret_cast<void*>(static_cast<uintptr_t>(to)), from, size);
    return true;
  }

  fabric* shared() { return fabric_.get(); }

 private:
  boot::bootstrap& boot_;
  const std::shared_ptr<fabric> fabric_;
};

// Where rank 0's fabric is, for ranks of the same process.
struct invitation {
  int64_t pid;
  uint64_t shared;  // address of a std::shared_ptr<fabric> that lives until all have copied it
};

base::StatusOr<std::unique_ptr<context>> make(boot::bootstrap& boot, const context_config& config) {
  std::shared_ptr<fabric> shared;
  invitation local{getpid(), 0};
  const auto invite = [&]() -> base::StatusOr<std::string> {
    if (boot.rank() == 0) {
      const base::StatusOr<settings> how = settings::from_environment();
      if (!how.ok()) return how.status();
      shared = std::make_shared<fabric>(boot.size(), *how);
      local.shared = reinterpret_cast<uintptr_t>(&shared);
      LCI_LOG(info, "simulated network: ", how->to_string());
    }
    return std::string(reinterpret_cast<const char*>(&local), sizeof(local));
  };
  const auto all = exchange(boot, "sim-ranks", invite());
  if (!all.ok()) return all.status();
  invitation first;
  std::memcpy(&first, (*all)[0].data(), sizeof(first));
  if (first.pid != local.pid) {
    return base::FailedPreconditionError(
        "the simulated network joins ranks that are threads of one process only");
  }
  if (boot.rank() != 0) {
    shared =
        *reinterpret_cast<const std::shared_ptr<fabric>*>(static_cast<uintptr_t>(first.shared));
  }
  const base::Status met = agree(boot, "sim-met", base::OkStatus());
  if (!met.ok()) return met;
  return std::unique_ptr<context>(
      std::make_unique<sim_context>(boot, std::move(shared), config.max_registrations));
}

std::vector<variable> variables() {
  return {
      {"LCI_SIM_SEED", "number", "1", "sim: seed from which all other settings follow"},
      {"LCI_SIM_MAX_DELAY", "polls", "by the seed",
       "sim: time that a message or completion takes at most"},
      {"LCI_SIM_REFUSE_PERCENT", "0 to 90", "by the seed",
       "sim: operations refused although there is room"},
      {"LCI_SIM_POST_PERCENT", "0 to 100", "by the seed",
       "sim: operations posted although they could be done at once"},
      {"LCI_SIM_QUEUE_LENGTH", "messages", "by the seed",
       "sim: messages in flight between two ranks at most"},
      {"LCI_SIM_MAX_INJECT", "bytes", "by the seed",
       "sim: largest message that the network copies by itself"},
      {"LCI_SIM_MAX_SEND", "bytes", "by the seed", "sim: largest message"},
      {"LCI_SIM_MAX_RMA", "bytes", "by the seed", "sim: largest put or get"},
      {"LCI_SIM_PUT_IMM", "0, 1", "by the seed", "sim: whether a put can notify its target"},
      {"LCI_SIM_PUT_IMM_BITS", "bits", "by the seed",
       "sim: size of the number in such a notification"},
      {"LCI_SIM_ADD", "0, 1", "by the seed", "sim: whether the network adds to remote memory"},
      {"LCI_SIM_REGISTRATION", "0, 1", "by the seed", "sim: whether memory must be registered"},
      {"LCI_SIM_GETS_SOONER", "0, 1", "by the seed",
       "sim: whether receivers get the bytes of large messages"},
      {"LCI_SIM_HOSTS", "0 to 1000", "0",
       "sim: hosts; the ranks of each share memory; 0: no ranks do"},
  };
}

}  // namespace

const backend_entry backend = {attr_backend_t::sim, "sim",    /*preference=*/-1,
                               [] { return true; }, make,     /*describe=*/nullptr,
                               /*common=*/nullptr,  variables};

fabric* fabric_of(context& network) {
  auto* local = dynamic_cast<sim_context*>(&network);
  return local == nullptr ? nullptr : local->shared();
}

}  // namespace lci::net::sim
