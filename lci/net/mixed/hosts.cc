#include "lci/net/mixed/hosts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lci/base/env.h"
#include "lci/base/strings.h"
#include "lci/boot/process.h"
#include "lci/net/exchange.h"

namespace lci::net::mixed {

base::StatusOr<std::vector<int>> parse_hosts(std::string_view text, int ranks) {
  std::vector<int> numbers;
  for (const std::string_view item : base::StrSplit(text, ',')) {
    const base::StatusOr<int64_t> number = base::parse_int64("LCI_HOSTS", item, 0, 1 << 30);
    if (!number.ok()) return number.status();
    numbers.push_back(static_cast<int>(*number));
  }
  std::vector<int> hosts;
  for (size_t r = 0; r < static_cast<size_t>(ranks); ++r)
    hosts.push_back(numbers[r % numbers.size()]);
  return hosts;
}

hosts group_by_host(const std::vector<std::string>& numbers, int rank) {
  hosts found;
  std::map<std::string_view, int> counted;
  for (size_t r = 0; r < numbers.size(); ++r) {
    found.largest = std::max(found.largest, ++counted[numbers[r]]);
    const bool near = numbers[r] == numbers[static_cast<size_t>(rank)];
    found.index.push_back(near ? static_cast<int>(found.neighbors.size()) : -1);
    if (near) found.neighbors.push_back(static_cast<int>(r));
  }
  return found;
}

base::StatusOr<hosts> find_hosts(boot::bootstrap& boot) {
  const auto number = [&]() -> base::StatusOr<std::string> {
    const std::optional<std::string> text = base::env_text("LCI_HOSTS");
    // Ranks are on one host if the bootstrap counts them as local and shm can connect them, whatever
    // containers they are in.
    const std::string host = base::StrCat(boot::node_name(), " ", boot::network_domain());
    if (!text) return host;
    const base::StatusOr<std::vector<int>> numbers = parse_hosts(*text, boot.size());
    if (!numbers.ok()) return numbers.status();
    return base::StrCat(host, " ", (*numbers)[static_cast<size_t>(boot.rank())]);
  };
  const auto all = exchange(boot, "mixed-hosts", number());
  if (!all.ok()) return all.status();
  return group_by_host(*all, boot.rank());
}

}  // namespace lci::net::mixed
