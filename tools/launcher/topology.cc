#include "tools/launcher/topology.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "lci/base/env.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/io/files.h"

namespace lci::launcher {
namespace {

constexpr int max_number = 1 << 20;

// The first line of a file; empty if there is none.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int> number(std::string_view text) {
  const base::StatusOr<int64_t> n = base::parse_int64("", text, 0, max_number);
  return n.ok() ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
}

// The numbers of a list such as "0-3,8"; empty if the text is not a list.
std::vector<int> parse_list(std::string_view text) {
  std::vector<int> list;
  for (std::string_view part : base::StrSplit(text, ',', base::SkipEmpty())) {
    const size_t dash = part.find('-');
    const std::optional<int> first = number(part.substr(0, dash));
    const std::optional<int> last = dash == part.npos ? first : number(part.substr(dash + 1));
    if (!first || !last) return {};
    for (int i = *first; i <= *last; ++i) list.push_back(i);
  }
  return list;
}

// Indexed by the kernel's number of the processor.
std::map<int, int> numa_nodes(const std::string& sysfs) {
  std::map<int, int> nodes;
  const std::string parent = base::StrCat(sysfs, "/devices/system/node");
  for (const std::string& entry : io::list_directory(parent)) {
    std::string_view name = entry;
    if (!base::ConsumePrefix(&name, "node")) continue;
    const std::optional<int> node = number(name);
    if (!node) continue;
    const std::string list = first_line(base::StrCat(parent, "/", entry, "/cpulist"));
    for (const int id : parse_list(list)) nodes[id] = *node;
  }
  return nodes;
}

}  // namespace

std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return processors;
  for (int id = 0; id < CPU_SETSIZE; ++id) {
    if (CPU_ISSET(id, &set)) processors.push_back(id);
  }
  return processors;
}

topology read_topology(const std::string& sysfs, const std::vector<int>& processors) {
  const std::map<int, int> nodes = numa_nodes(sysfs);
  topology all;
  for (const int id : processors) {
    const std::string dir = base::StrCat(sysfs, "/devices/system/cpu/cpu", id, "/topology/");
    processor here;
    here.id = id;
    here.socket = number(first_line(dir + "physical_package_id")).value_or(0);
    if (const auto node = nodes.find(id); node != nodes.end()) here.numa = node->second;
    // The lowest processor number identifies a core, because core_id is not unique.
    const std::vector<int> siblings = parse_list(first_line(dir + "thread_siblings_list"));
    here.core = siblings.empty() ? id : siblings[0];
    all.push_back(here);
  }
  const auto place = [](const processor& p) {
    return std::make_tuple(p.socket, p.numa, p.core, p.id);
  };
  std::sort(all.begin(), all.end(),
            [&](const processor& a, const processor& b) { return place(a) < place(b); });
  int cores = -1;
  int last = -1;
  for (processor& p : all) {
    if (p.core != last) ++cores;
    last = p.core;
    p.core = cores;
  }
  return all;
}

}  // namespace lci::launcher
