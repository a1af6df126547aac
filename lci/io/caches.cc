#include "lci/io/caches.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "lci/base/env.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/io/files.h"

namespace lci::io {
namespace {

std::optional<int64_t> number(std::string_view text) {
  const base::StatusOr<int64_t> n = base::parse_int64("", text, 0, int64_t{1} << 40);
  return n.ok() ? std::optional<int64_t>(*n) : std::nullopt;
}

// The text of a file without the end of the line; empty if there is no such file.
std::string line_of(const std::string& path) {
  std::string text = read_file(path).value_or("");
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The name of a processor's cache with the highest level; empty: there is none.
std::string last_cache_of(const std::string& caches) {
  int64_t highest = 0;
  std::string found;
  for (const std::string& name : list_directory(caches)) {
    if (name.rfind("index", 0) != 0) continue;
    const int64_t level = number(line_of(base::StrCat(caches, "/", name, "/level"))).value_or(0);
    if (level <= highest) continue;
    if (line_of(base::StrCat(caches, "/", name, "/type")) == "Instruction") continue;
    highest = level;
    found = name;
  }
  return found;
}

// Of "32768K"; 0: it is not a size.
size_t size_of(const std::string& text) {
  std::string_view digits = text;
  if (!base::ConsumeSuffix(&digits, "K")) return 0;
  return static_cast<size_t>(number(digits).value_or(0)) << 10;
}

}  // namespace

last_level_caches read_last_level_caches(const std::string& sysfs) {
  const std::string parent = sysfs + "/devices/system/cpu";
  last_level_caches all;
  std::set<std::string> seen;  // the processors of each cache, as a list
  std::string last;            // equal on all processors: hosts with many have many files
  for (const std::string& name : list_directory(parent)) {
    std::string_view id = name;
    if (!base::ConsumePrefix(&id, "cpu") || !number(id)) continue;
    const std::string caches = base::StrCat(parent, "/", name, "/cache");
    if (last.empty()) last = last_cache_of(caches);
    if (last.empty()) continue;
    const std::string cache = base::StrCat(caches, "/", last);
    const std::string processors = line_of(cache + "/shared_cpu_list");
    if (processors.empty() || !seen.insert(processors).second) continue;  // empty: it is offline
    const size_t bytes = size_of(line_of(cache + "/size"));
    if (bytes == 0) return {};
    all.bytes = all.count == 0 ? bytes : std::min(all.bytes, bytes);
    ++all.count;
  }
  return all;
}

}  // namespace lci::io
