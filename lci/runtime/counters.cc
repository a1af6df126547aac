// The counters of a runtime: collected, and compared between ranks at its end.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lci/api/counters.hpp"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/observe/counter_table.h"
#include "lci/runtime/resolve.h"
#include "lci/runtime/runtime.h"

namespace lci {
namespace {

// For the counters of ranks that have all come to the end of the runtime.
constexpr boot::bootstrap::duration time_to_report{10000};

void add(traffic_t* to, const traffic_t& more) {
  to->messages += more.messages;
  to->bytes += more.bytes;
}

// In the order of ranks, as both lists are.
void add(std::vector<peer_counters_t>* to, const std::vector<peer_counters_t>& more) {
  auto at = to->begin();
  for (const peer_counters_t& each : more) {
    while (at != to->end() && at->rank < each.rank) ++at;
    if (at == to->end() || at->rank != each.rank) {
      at = to->insert(at, each);
    } else {
      add(&at->sent, each.sent);
      add(&at->received, each.received);
    }
  }
}

// Calls visit(name, member of a, member of b) for all that is summed and shown.
template <class A, class B, class Visit>
void visit_both(A& a, B& b, const Visit& visit) {
  visit("active messages sent", a.sent_am, b.sent_am);
  visit("sends", a.sent_tagged, b.sent_tagged);
  visit("large messages sent", a.sent_large, b.sent_large);
  visit("puts", a.puts, b.puts);
  visit("gets", a.gets, b.gets);
  visit("rendezvous puts", a.rendezvous_puts, b.rendezvous_puts);
  visit("control messages sent", a.control_sent, b.control_sent);
  visit("active messages received", a.received_am, b.received_am);
  visit("sends received", a.received_tagged, b.received_tagged);
  visit("large messages received", a.received_large, b.received_large);
  visit("notifications received", a.notified, b.notified);
  visit("control messages received", a.control_received, b.control_received);
  visit("refused: lock", a.refused_lock, b.refused_lock);
  visit("refused: full", a.refused_full, b.refused_full);
  visit("refused: peer gone", a.refused_fatal, b.refused_fatal);
  visit("backlogged", a.backlogged, b.backlogged);
  visit("polls", a.polls, b.polls);
  visit("polls that found nothing", a.empty_polls, b.empty_polls);
  visit("polls beside another one", a.busy_polls, b.busy_polls);
  visit("yields", a.yields, b.yields);
}

struct adder {
  void operator()(const char*, traffic_t& to, const traffic_t& more) const { add(&to, more); }
  void operator()(const char*, uint64_t& to, uint64_t more) const { to += more; }
};

void add(device_counters_t* to, const device_counters_t& more) {
  visit_both(*to, more, adder{});
  add(&to->peers, more.peers);
}

struct appender {
  void operator()(const char* name, const traffic_t& amount, const traffic_t&) const {
    to->push_back({name, amount.messages});
    to->push_back({base::StrCat(name, ", bytes"), amount.bytes});
  }
  void operator()(const char* name, uint64_t count, uint64_t) const {
    to->push_back({name, count});
  }
  std::vector<observe::named_count>* to;
};

// All that a rank shows, summed over its devices, engines and pools.
std::vector<observe::named_count> totals(const counters_t& counters) {
  device_counters_t devices = counters.freed_devices;
  for (const device_counters_t& each : counters.devices) add(&devices, each);
  uint64_t unexpected = 0;
  uint64_t unexpected_bytes = 0;
  for (const matching_engine_counters_t& each : counters.matching_engines) {
    unexpected += each.unexpected;
    unexpected_bytes += each.unexpected_bytes;
  }
  uint64_t used = 0;
  uint64_t exhausted = 0;
  for (const packet_pool_counters_t& each : counters.packet_pools) {
    used += each.used;
    exhausted += each.exhausted;
  }
  std::vector<observe::named_count> shown;
  visit_both(devices, devices, appender{&shown});
  shown.push_back({"unexpected messages", unexpected});
  shown.push_back({"unexpected messages, bytes", unexpected_bytes});
  shown.push_back({"packets used", used});
  shown.push_back({"packets wanted in vain", exhausted});
  shown.push_back({"registrations", counters.registrations});
  shown.push_back({"peers", devices.peers.size()});
  return shown;
}

std::string key_of(int rank) { return base::StrCat("counters-", rank); }

// In one piece, so that lines of other ranks stay outside of it.
void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void runtime_impl_t::add_to_freed(const device_impl_t& device) {
  device_counters_t last;
  device.read(&last);
  freed_devices_.uid = -1;
  add(&freed_devices_, last);
}

counters_t runtime_impl_t::read_counters() {
  counters_t counters;
  counters.counts_traffic = counts_traffic_;
  devices_alive_.with_all([&](const std::vector<device_impl_t*>& all) {
    for (const device_impl_t* each : all) each->read(&counters.devices.emplace_back());
    counters.freed_devices = freed_devices_;
    counters.freed_devices.uid = -1;
  });
  packet_pools_alive_.with_all([&](const std::vector<packet_pool_impl_t*>& all) {
    for (const packet_pool_impl_t* each : all) each->read(&counters.packet_pools.emplace_back());
  });
  net_contexts_alive_.with_all([&](const std::vector<net_context_impl_t*>& all) {
    for (const net_context_impl_t* each : all) counters.registrations += each->net->registrations();
  });
  const std::lock_guard<std::mutex> guard(engines_mutex_);
  for (uint32_t id = 0; id < next_engine_; ++id) {
    const matching_engine_impl_t* engine = engines_.get(id);
    if (engine != nullptr) engine->read(&counters.matching_engines.emplace_back());
  }
  return counters;
}

void runtime_impl_t::report_counters() {
  if (!counts_traffic_) return;
  const std::vector<observe::named_count> own = totals(read_counters());
  if (rank() != 0) {
    const base::Status put = boot_->put(key_of(rank()), observe::encode(own));
    if (!put.ok()) LCI_LOG(warn, "can't pass the counters to rank 0: ", put.ToString());
    return;
  }
  std::vector<observe::rank_counts> ranks = {{0, own}};
  std::vector<int> silent;
  using clock = std::chrono::steady_clock;
  const clock::time_point deadline = clock::now() + time_to_report;
  for (int r = 1; r < size(); ++r) {
    const auto left =
        std::chrono::duration_cast<boot::bootstrap::duration>(deadline - clock::now());
    const bool may_wait = left.count() > 0 && !has_failed(r);
    const auto text = boot_->get(key_of(r), may_wait ? left : boot::bootstrap::duration(0));
    const auto counts = text.ok()
                            ? observe::decode_counts(*text)
                            : base::StatusOr<std::vector<observe::named_count>>(text.status());
    if (counts.ok()) {
      ranks.push_back({r, *counts});
    } else {
      silent.push_back(r);
    }
  }
  write_all(base::StrCat("lci: ", observe::counter_table(ranks, silent)));
}

counters_t get_counters_x::operator()() const {
  if (get_device().is_empty()) return rt::resolve(get_runtime())->read_counters();
  const rt::target target = rt::resolve(get_runtime(), get_device());
  counters_t counters;
  counters.counts_traffic = target.runtime->counts_traffic();
  counters.registrations = target.device->context.net->registrations();
  target.device->read(&counters.devices.emplace_back());
  return counters;
}

}  // namespace lci
