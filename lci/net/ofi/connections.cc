#include "lci/net/ofi/connections.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <string_view>

#include "lci/base/backoff.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/net/exchange.h"
#include "lci/net/ofi/provider_facts.h"

namespace lci::net::ofi {
namespace {

// Exchanged when a device is made, followed by the endpoint's address.
struct offer {
  uint64_t packet_bytes;
  uint64_t largest_message;
  uint32_t credits;
  uint16_t rma;
  uint16_t token;
  int64_t pid;
  uint64_t shared;  // for ranks of the same process: the address of device_core::own
};
static_assert(sizeof(offer) == 40);

}  // namespace

connections::connections(device_core& core, const process_table& processes, const provider& from,
                         packet_path& packets, rma& accesses, failure_detector& failures,
                         completion_reader& reader)
    : core_(core),
      processes_(processes),
      provider_(from),
      packets_(packets),
      rma_(accesses),
      failures_(failures),
      reader_(reader),
      peers_(static_cast<size_t>(core.ranks)) {}

base::Status connections::connect(boot::bootstrap& boot, const base::Status& opened) {
  // All ranks can receive before any rank sends.
  const base::Status status = exchange_and_accept(
      boot, base::StrCat("ofi-device-", core_.uid),
      opened.ok() ? make_offer() : base::StatusOr<std::string>(opened),
      [this](int r, const std::string& offered) {
        return base::WithPrefix(base::StrCat("rank ", r, ": "), take_offer(r, offered));
      });
  return status.ok() ? greet(boot) : status;
}

base::StatusOr<std::string> connections::make_offer() const {
  const base::StatusOr<std::string> name = core_.own->ep.name();
  if (!name.ok()) return name.status();
  const offer local{packets_.settings().packet_bytes,
                    packets_.settings().largest_message,
                    packets_.settings().credits_each,
                    static_cast<uint16_t>(provider_.rma),
                    packets_.settings().token,
                    getpid(),
                    reinterpret_cast<uintptr_t>(&core_.own)};
  return base::StrCat(std::string_view(reinterpret_cast<const char*>(&local), sizeof(local)),
                      *name);
}

base::Status connections::take_offer(int rank, const std::string& bytes) {
  offer remote;
  if (bytes.size() <= sizeof(remote)) return base::FailedPreconditionError("offers no endpoint");
  std::memcpy(&remote, bytes.data(), sizeof(remote));
  const char* differs = nullptr;
  if (remote.packet_bytes != packets_.settings().packet_bytes ||
      remote.largest_message != packets_.settings().largest_message) {
    differs = "packet_size, ofi_gather_size or ofi_eager_size";
  }
  if (remote.credits != packets_.settings().credits_each)
    differs = "net_max_sends or net_max_recvs";
  if (remote.rma != static_cast<uint16_t>(provider_.rma)) differs = "LCI_OFI_RMA";
  if (differs != nullptr) {
    return base::FailedPreconditionError(
        base::StrCat("has another ", differs, "; set it alike on all ranks"));
  }
  const std::string_view name = std::string_view(bytes).substr(sizeof(remote));
  packets_.set_token(rank, remote.token);
  failures_.set_endpoint_name(rank, name);
  // Messages to this rank bypass the provider; native puts and gets do not.
  if (core_.is_self(rank) && provider_.rma != rma_mode::native) return base::OkStatus();
  const std::lock_guard<ds::spinlock> guard(*core_.lock);
  const base::StatusOr<fi_addr_t> address = core_.own->ep.insert(name);
  if (!address.ok()) return address.status();
  core_.addresses[static_cast<size_t>(rank)] = *address;
  const bool in_this_process = remote.pid == getpid() && !processes_.is_elsewhere(rank);
  if (!core_.is_self(rank) && in_this_process && core_of(provider_.name()) == "shm") {
    core_.others.push_back(*reinterpret_cast<const std::shared_ptr<resources>*>(remote.shared));
  }
  return base::OkStatus();
}

// Exchanges a packet with every rank in both directions, so that all connections exist before they
// are needed, and a missing path is found now and the error names the ranks.
base::Status connections::greet(boot::bootstrap& boot) {
  base::Status status = exchange_greetings(boot);
  if (core_.own->ep.descriptor() >= 0 && status.ok() && !descriptor_settles()) {
    LCI_LOG(info, "ofi: a thread that sleeps on device ", core_.uid, " polls at intervals, since ",
            provider_.name(), " leaves its descriptor readable");
    core_.own->ep.ignore_descriptor();
  }
  // Other ranks may need this one to make progress until they are done.
  status = agree_while(boot, base::StrCat("ofi-greeted-", core_.uid), status, [&] {
    progress();
    return first_failure(boot);
  });
  // All have opened it. Without a name it goes with the last process, also if all are killed.
  if (status.ok()) failures_.remove_shared_memory(core_.rank);
  return status;
}

base::Status connections::exchange_greetings(boot::bootstrap& boot) {
  using std::chrono::steady_clock;
  // A rank that has ended before it could be connected to is found by the job only.
  constexpr std::chrono::milliseconds look_period{500};
  constexpr std::chrono::seconds patience{5};
  const auto deadline = steady_clock::now() + boot.default_timeout();
  auto next_look = steady_clock::now() + look_period;
  auto next_warning = steady_clock::now() + patience;
  base::backoff backoff;
  for (absentees missing = greet_all(); missing.count > 0;) {
    backoff.idle();
    progress();
    const int missing_before = missing.count;
    missing = greet_all();
    if (base::Status failed = first_failure(boot); !failed.ok()) return failed;
    if (missing.count == 0) break;
    const auto now = steady_clock::now();
    if (missing.count != missing_before) next_warning = now + patience;
    if (now > next_warning) {
      LCI_LOG(warn, "ofi: for ", patience.count(), " s, ", unreachable(missing.last, ""));
      next_warning = steady_clock::time_point::max();
    }
    if (now > deadline) return base::DeadlineExceededError(unreachable(missing.last, ""));
    if (now <= next_look) continue;
    next_look += look_period;
    if (base::Status lost = check_for_loss(boot); !lost.ok()) return lost;
  }
  return base::OkStatus();
}

connections::absentees connections::greet_all() {
  absentees missing;
  const std::lock_guard<ds::spinlock> guard(*core_.lock);
  for (int r = 0; r < core_.ranks; ++r) {
    if (!core_.is_alive_peer(r)) continue;
    bool& sent = peers_[static_cast<size_t>(r)].sent;
    if (!sent) sent = packets_.send_free(r, nullptr);
    if (sent && packets_.has_greeted(r) && packets_.in_flight(r) == 0) continue;
    ++missing.count;
    missing.last = r;
  }
  return missing;
}

// Delivers nothing: what arrives already is kept for the first poll.
void connections::progress() {
  const std::lock_guard<ds::spinlock> guard(*core_.lock);
  reader_.read();
  reader_.give();
  failures_.check();
}

// Whether the descriptor becomes unreadable when nothing arrives: all greetings have arrived. With
// some providers it stays readable for good after the first completion.
bool connections::descriptor_settles() {
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    progress();
    const std::lock_guard<ds::spinlock> guard(*core_.lock);
    packets_.repost_all();
    if (core_.own->ep.is_quiet(*core_.own->fabric)) return true;
  }
  return false;
}

base::Status connections::first_failure(boot::bootstrap& boot) const {
  for (int r = 0; r < core_.ranks; ++r) {
    if (core_.health.is_alive(r)) continue;
    const std::string reason = core_.health.reason(r);
    // No sign that it has ended: a wrong interface, or a firewall.
    if (!packets_.has_greeted(r) && !processes_.has_ended(r) && !boot.first_lost()) {
      return base::FailedPreconditionError(unreachable(r, reason));
    }
    boot.report_lost(r);
    return base::AbortedError(base::StrCat("rank ", r, " went away (seen by rank ", core_.rank, ")",
                                           reason.empty() ? "" : ": ", reason));
  }
  return base::OkStatus();
}

// An error that names both ends, and the interface of this one.
std::string connections::unreachable(int rank, std::string_view reason) const {
  const std::string theirs = provider_.address_of(core_.own->ep.inserted_name(core_.address(rank)));
  const std::string ours = provider_.place();
  return base::StrCat("rank ", rank, theirs.empty() ? "" : base::StrCat(" (", theirs, ")"),
                      " and rank ", core_.rank, ours.empty() ? "" : base::StrCat(" (", ours, ")"),
                      " can't reach each other", reason.empty() ? "" : ": ", reason,
                      "; is there a firewall between them, or another interface (device_name) that "
                      "both have?");
}

bool connections::say_bye() {
  const std::lock_guard<ds::spinlock> guard(*core_.lock);
  bool all = true;
  for (int r = 0; r < core_.ranks; ++r) {
    if (!core_.is_alive_peer(r)) continue;
    bool& sent = peers_[static_cast<size_t>(r)].bye_sent;
    if (!sent && !packets_.is_coalescing(r) && !rma_.owes_answers(r)) {
      outgoing_record bye;
      bye.kind = record_kind::bye;
      sent = packets_.send_free(r, &bye);
    }
    if (!sent || packets_.in_flight(r) > 0) all = false;
  }
  return all;
}

void connections::warn_of_unsent() {
  for (int r = 0; r < core_.ranks; ++r) {
    if (!core_.is_alive_peer(r)) continue;
    LCI_LOG(warn, "ofi: device ", core_.uid, " of rank ", core_.rank,
            " ended before the network had taken all for rank ", r, " (", packets_.in_flight(r),
            " packets on the way, ", packets_.is_coalescing(r) ? "one" : "none", " not yet)");
  }
}

}  // namespace lci::net::ofi
