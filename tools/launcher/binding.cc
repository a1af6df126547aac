#include "tools/launcher/binding.h"

#include <algorithm>
#include <set>

#include "lci/base/rank_list.h"
#include "lci/base/strings.h"

namespace lci::launcher {
namespace {

int group_of(const processor& p, mapping map_by) {
  if (map_by == mapping::numa) return p.numa;
  if (map_by == mapping::socket) return p.socket;
  return 0;  // the host
}

// The processors of each NUMA node or socket, in order, or of the whole host.
std::vector<topology> groups_of(const topology& host, mapping map_by) {
  std::vector<topology> groups;
  std::vector<int> names;
  for (const processor& p : host) {
    const int name = group_of(p, map_by);
    const auto found = std::find(names.begin(), names.end(), name);
    const auto index = static_cast<size_t>(found - names.begin());
    if (found == names.end()) {
      names.push_back(name);
      groups.emplace_back();
    }
    groups[index].push_back(p);
  }
  return groups;
}

// The part of the `index`-th of `ranks` ranks.
topology part_of(const topology& group, int index, int ranks) {
  std::vector<size_t> units = {0};  // where cores begin, and the end
  for (size_t i = 1; i <= group.size(); ++i) {
    if (i == group.size() || group[i].core != group[i - 1].core) units.push_back(i);
  }
  if (ranks > static_cast<int>(units.size()) - 1) {
    units.clear();
    for (size_t i = 0; i <= group.size(); ++i) units.push_back(i);
  }
  const auto count = static_cast<int64_t>(units.size()) - 1;
  int64_t begin = index % count;
  int64_t end = begin + 1;
  if (ranks <= count) {
    begin = index * count / ranks;
    end = (index + 1) * count / ranks;
  }
  return topology(group.begin() + static_cast<long>(units[static_cast<size_t>(begin)]),
                  group.begin() + static_cast<long>(units[static_cast<size_t>(end)]));
}

std::string described(const char* one, const char* several, const std::set<int>& numbers) {
  return base::StrCat(numbers.size() == 1 ? one : several, " ",
                      base::number_ranges(std::vector<int>(numbers.begin(), numbers.end())));
}

}  // namespace

std::vector<int> bind_rank(const topology& host, int local_rank, int ranks, binding bind_to,
                           mapping map_by) {
  if (bind_to == binding::none || host.empty()) return {};
  const std::vector<topology> groups = groups_of(host, map_by);
  const auto count = static_cast<int>(groups.size());
  const int group = local_rank % count;
  const int ranks_there = (ranks - group + count - 1) / count;
  const topology part =
      part_of(groups[static_cast<size_t>(group)], local_rank / count, ranks_there);
  std::vector<int> processors;
  if (bind_to == binding::core) {
    for (const processor& p : part) processors.push_back(p.id);
  } else {
    const mapping kind = bind_to == binding::numa ? mapping::numa : mapping::socket;
    for (const processor& p : host) {
      if (group_of(p, kind) == group_of(part[0], kind)) processors.push_back(p.id);
    }
  }
  std::sort(processors.begin(), processors.end());
  return processors;
}

std::string describe_binding(const topology& host, const std::vector<int>& processors) {
  if (processors.empty()) return "not bound";
  std::set<int> cores;
  std::set<int> nodes;
  std::set<int> sockets;
  for (const processor& p : host) {
    if (!std::binary_search(processors.begin(), processors.end(), p.id)) continue;
    cores.insert(p.core);
    nodes.insert(p.numa);
    sockets.insert(p.socket);
  }
  return base::StrCat(processors.size() == 1 ? "processor " : "processors ",
                      base::number_ranges(processors), " (", described("core", "cores", cores),
                      ", ", described("NUMA node", "NUMA nodes", nodes), ", ",
                      described("socket", "sockets", sockets), ")");
}

std::string oversubscription(const std::vector<host_load>& hosts) {
  constexpr size_t max_named = 4;
  std::vector<std::string> loaded;
  for (const host_load& host : hosts) {
    if (host.processors == 0 || host.ranks <= host.processors) continue;
    loaded.push_back(base::StrCat(host.name, " (", host.ranks, " ranks, ", host.processors,
                                  host.processors == 1 ? " processor)" : " processors)"));
  }
  if (loaded.empty()) return "";
  const size_t named = std::min(loaded.size(), max_named);
  std::string list = base::StrJoin(
      std::vector<std::string>(loaded.begin(), loaded.begin() + static_cast<long>(named)), ", ");
  if (loaded.size() > named) base::StrAppend(&list, " and ", loaded.size() - named, " more hosts");
  return base::StrCat("more ranks than processors on ", list,
                      "; --oversubscribe silences this warning");
}

}  // namespace lci::launcher
