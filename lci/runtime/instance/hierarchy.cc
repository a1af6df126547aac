#include "lci/runtime/instance/hierarchy.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "lci/net/exchange.h"
#include "lci/runtime/core/start_failure.h"
#include "lci/runtime/instance/runtime.h"

namespace lci::rt {
namespace {

static_assert(std::is_trivially_copyable_v<hierarchy::report>);

std::string to_bytes(const hierarchy::report& own) {
  return std::string(reinterpret_cast<const char*>(&own), sizeof(own));
}

// Of bytes that are no report: that the rank can do nothing.
hierarchy::report from_bytes(const std::string& bytes) {
  hierarchy::report decoded{0, 0};
  if (bytes.size() == sizeof(decoded)) std::memcpy(&decoded, bytes.data(), sizeof(decoded));
  return decoded;
}

constexpr uint32_t number_of(coll::arena::join_state state) { return static_cast<uint32_t>(state); }

}  // namespace

bool hierarchy::is_possible(const std::vector<report>& reports) {
  std::vector<int> ids;
  for (const report& each : reports) {
    if (each.state < number_of(coll::arena::join_state::mapped)) return false;
    ids.push_back(each.host);
  }
  std::sort(ids.begin(), ids.end());
  const auto hosts = std::unique(ids.begin(), ids.end()) - ids.begin();
  return hosts > 1 && static_cast<size_t>(hosts) < reports.size();
}

hierarchy::hierarchy(std::shared_ptr<shared_memory> memory, const std::vector<report>& reports,
                     int place)
    : memory_(std::move(memory)), joined_(coll::arena::join_state::readable) {
  std::vector<int> known;  // the id of each host
  for (size_t p = 0; p < reports.size(); ++p) {
    const int id = reports[p].host;
    const auto found = std::find(known.begin(), known.end(), id);
    const auto host = static_cast<size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(id);
      places_.emplace_back();
    } else if (reports[p - 1].host != id) {
      is_in_order_ = false;
    }
    index_of_.push_back(static_cast<int>(places_[host].size()));
    host_of_.push_back(static_cast<int>(host));
    places_[host].push_back(static_cast<int>(p));
    if (reports[p].state == number_of(coll::arena::join_state::mapped)) {
      joined_ = coll::arena::join_state::mapped;
    }
  }
  own_host_ = host_of(place);
  index_ = index_of(place);
  least_ranks_ = static_cast<int>(reports.size());
  for (const std::vector<int>& each : places_) {
    least_ranks_ = std::min(least_ranks_, static_cast<int>(each.size()));
    most_ranks_ = std::max(most_ranks_, static_cast<int>(each.size()));
  }
}

std::unique_ptr<hierarchy> hierarchy::make(runtime_impl_t& runtime, boot::bootstrap& boot,
                                           net::context& network) {
  // Equal on all ranks: a network joins hosts, and maps the memory of each, or it maps none.
  if (network.maps_memory() || !network.maps_memory_of(boot.rank())) return nullptr;
  const char* const failure = "the ranks of a host could not share memory";
  auto memory = shared_memory::make(runtime, nullptr, network,
                                    shared_memory::exchange_blocks(boot, network, failure), phases);
  // From here on all ranks know what all of them can do.
  const report own_report{memory->arena().name_of(0), number_of(memory->own_state())};
  const auto all = net::exchange(boot, "collective-hosts", to_bytes(own_report));
  if (!all.ok()) throw_start_failure(boot, failure, all.status());
  std::vector<report> reports;
  for (const std::string& each : *all) reports.push_back(from_bytes(each));
  if (!is_possible(reports)) return nullptr;
  return std::make_unique<hierarchy>(std::move(memory), reports, boot.rank());
}

}  // namespace lci::rt
