#include "lci/io/reachable.h"

#include <algorithm>

#include "lci/base/strings.h"

namespace lci::io {
namespace {

constexpr size_t max_addresses = 16;

}  // namespace

std::vector<base::interface_address> list_reachable() {
  std::vector<base::interface_address> found = base::list_interface_addresses();
  found.erase(std::remove_if(found.begin(), found.end(),
                             [](const auto& one) { return one.is_v6 && one.is_link_local; }),
              found.end());
  std::stable_partition(found.begin(), found.end(),
                        [](const auto& one) { return one.has_carrier; });
  return found;
}

std::string host_text(const base::interface_address& one) {
  return one.is_v6 ? base::StrCat("[", one.address, "]") : one.address;
}

base::StatusOr<reachable> find_reachable() {
  const std::vector<base::interface_address> all = list_reachable();
  const bool outside =
      std::any_of(all.begin(), all.end(), [](const auto& one) { return !one.is_loopback; });
  reachable result;
  for (const bool v6 : {false, true}) {
    for (const base::interface_address& one : all) {
      if (one.is_v6 != v6 || (outside && one.is_loopback)) continue;
      if (result.addresses.size() == max_addresses) break;
      result.addresses.push_back(host_text(one));
      result.bind = v6 ? "[::]" : "0.0.0.0";
    }
  }
  if (result.addresses.empty()) {
    return base::InvalidArgumentError("no network interface of this machine is up");
  }
  return result;
}

}  // namespace lci::io
