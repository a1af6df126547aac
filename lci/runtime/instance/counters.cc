// The counters of a runtime: collected, and compared between ranks at its end.
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "lci/api/counters.hpp"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/observe/counter_table.h"
#include "lci/runtime/core/counter_sums.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace {

// For the counters of ranks that have all reached the end of the runtime.
constexpr boot::bootstrap::duration time_to_report{10000};

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
  for (const device_counters_t& each : counters.devices) rt::add(&devices, each);
  uint64_t unexpected = 0;
  uint64_t unexpected_bytes = 0;
  for (const matching_engine_counters_t& each : counters.matching_engines) {
    unexpected += each.unexpected;
    unexpected_bytes += each.unexpected_bytes;
  }
  uint64_t used = 0;
  uint64_t exhausted = 0;
  uint64_t kept_bytes = 0;
  for (const packet_pool_counters_t& each : counters.packet_pools) {
    used += each.used;
    exhausted += each.exhausted;
    kept_bytes += each.kept_bytes;
  }
  std::vector<observe::named_count> shown;
  rt::visit_both(devices, devices, appender{&shown});
  shown.push_back({"unexpected messages", unexpected});
  shown.push_back({"unexpected messages, bytes", unexpected_bytes});
  shown.push_back({"packets used", used});
  shown.push_back({"packets wanted in vain", exhausted});
  shown.push_back({"packets kept, bytes", kept_bytes});
  shown.push_back({"registrations", counters.registrations});
  shown.push_back({"peers", devices.peers.size()});
  return shown;
}

std::string key_of(int rank) { return base::StrCat("counters-", rank); }

}  // namespace

counters_t runtime_impl_t::read_counters() {
  counters_t counters;
  counters.counts_traffic = counts_traffic();
  devices().with_all([&](const std::vector<device_impl_t*>& all) {
    // (Not emplace_back: a template that returns a public type would be a symbol that programs
    // see.)
    for (const device_impl_t* each : all) {
      device_counters_t counted;
      each->read(&counted);
      counters.devices.push_back(counted);
    }
    counters.freed_devices = freed_devices();
  });
  packet_pools().with_all([&](const std::vector<packet_pool_impl_t*>& all) {
    for (const packet_pool_impl_t* each : all) each->read(&counters.packet_pools.emplace_back());
  });
  net_contexts().with_all([&](const std::vector<net_context_impl_t*>& all) {
    for (const net_context_impl_t* each : all) counters.registrations += each->net->registrations();
  });
  engines_.read(&counters.matching_engines);
  return counters;
}

void runtime_impl_t::report_counters() {
  if (!counts_traffic()) return;
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
  base::write_all(STDERR_FILENO, base::StrCat("lci: ", observe::counter_table(ranks, silent)));
}

counters_t get_counters_x::operator()() const {
  if (get_device().is_empty()) return rt::resolve(get_runtime())->read_counters();
  const rt::target target = rt::resolve(get_runtime(), get_device());
  counters_t counters;
  counters.counts_traffic = target.runtime->counts_traffic();
  counters.registrations = target.device->context.net->registrations();
  counters.devices.resize(1);
  target.device->read(&counters.devices.front());
  return counters;
}

}  // namespace lci
