#include "tools/launcher/hosts.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "lci/base/env.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"

namespace lci::launcher {
namespace {

base::Status invalid(std::string_view source, std::string_view word, std::string_view what) {
  return base::InvalidArgumentError(base::StrCat(source, ": \"", word, "\" ", what));
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || name[0] == '-') return false;
  if (name[0] == ':' && !base::StartsWith(name, "::")) return false;
  if (std::count(name.begin(), name.end(), '[') != std::count(name.begin(), name.end(), ']')) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return base::ascii_isalnum(c) || base::StrContains("._-:@[]%", c);
  });
}

// Hosts by name, in the order of first mention.
class host_table {
 public:
  explicit host_table(std::string_view source) : source_(source) {}

  base::Status add(std::string_view name, int slots) {
    if (!is_name(name)) return invalid(source_, name, "is not the name of a host");
    const auto [at, is_new] = index_.emplace(std::string(name), hosts_.size());
    if (is_new) hosts_.push_back({std::string(name), 0});
    if (hosts_.size() > max_hosts) {
      return base::InvalidArgumentError(base::StrCat(source_, ": more than ", max_hosts, " hosts"));
    }
    host_slots& host = hosts_[at->second];
    if (slots > max_slots - host.slots) return invalid(source_, name, "has too many slots");
    host.slots += slots;
    return base::OkStatus();
  }

  // Adds "name" or "name:slots". A word with several colons is an IPv6 address, which has slots
  // only after "]:".
  base::Status add_word(std::string_view word, int slots) {
    const size_t colon = word.rfind(':');
    const bool has_slots =
        colon != std::string_view::npos && colon > 0 &&
        (word[colon - 1] == ']' || !base::StrContains(word.substr(0, colon), ':'));
    if (!has_slots) return add(unbracketed(word), slots);
    const base::StatusOr<int> number = parse_slots(word, word.substr(colon + 1));
    if (!number.ok()) return number.status();
    return add(unbracketed(word.substr(0, colon)), *number);
  }

  base::StatusOr<int> parse_slots(std::string_view word, std::string_view text) const {
    int slots = 0;
    if (!base::SimpleAtoi(text, &slots) || slots < 1 || slots > max_slots) {
      return invalid(source_, word,
                     base::StrCat("does not say a number of slots from 1 to ", max_slots));
    }
    return slots;
  }

  base::StatusOr<std::vector<host_slots>> take() {
    if (hosts_.empty()) {
      return base::InvalidArgumentError(base::StrCat(source_, " names no host"));
    }
    return std::move(hosts_);
  }

 private:
  static std::string_view unbracketed(std::string_view name) {
    std::string_view inner = name;
    return base::ConsumePrefix(&inner, "[") && base::ConsumeSuffix(&inner, "]") ? inner : name;
  }

  const std::string source_;
  std::vector<host_slots> hosts_;
  std::map<std::string, size_t> index_;
};

// Splits at commas outside of brackets.
std::vector<std::string_view> split_nodes(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

constexpr char node_list[] = "SLURM_JOB_NODELIST";

// Appends the names that "n[1-3,07]x[1-2]" stands for.
base::Status expand_nodes(std::string_view prefix, std::string_view rest,
                          std::vector<std::string>* names) {
  if (names->size() > max_hosts) {
    return base::InvalidArgumentError(base::StrCat(node_list, ": more than ", max_hosts, " hosts"));
  }
  const size_t open = rest.find('[');
  if (open == std::string_view::npos) {
    names->push_back(base::StrCat(prefix, rest));
    return base::OkStatus();
  }
  const size_t close = rest.find(']', open);
  if (close == std::string_view::npos) return invalid(node_list, rest, "has no closing bracket");
  const std::string before = base::StrCat(prefix, rest.substr(0, open));
  for (std::string_view range : base::StrSplit(rest.substr(open + 1, close - open - 1), ',')) {
    const size_t dash = range.find('-');
    const std::string_view first_text = range.substr(0, dash);
    const std::string_view last_text =
        dash == std::string_view::npos ? first_text : range.substr(dash + 1);
    uint32_t first = 0, last = 0;
    if (!base::SimpleAtoi(first_text, &first) || !base::SimpleAtoi(last_text, &last) ||
        last < first || last - first >= max_hosts || first_text.size() > 10) {
      return invalid(node_list, range, "is not a range of numbers");
    }
    for (uint32_t i = first; i <= last; ++i) {
      // All numbers have at least the width of the first: 07, 08, ... 10.
      const std::string name =
          absl::StrFormat("%s%0*d", before, static_cast<int>(first_text.size()), i);
      const base::Status s = expand_nodes(name, rest.substr(close + 1), names);
      if (!s.ok()) return s;
    }
  }
  return base::OkStatus();
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr char space[] = " \t\r";
  std::vector<std::string_view> words;
  for (size_t start = line.find_first_not_of(space); start != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(space, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(space, end);
  }
  return words;
}

// Expands "2(x3),1" for four hosts: 2, 2, 2, 1.
base::StatusOr<std::vector<int>> expand_tasks(std::string_view text, size_t hosts) {
  constexpr char source[] = "SLURM_TASKS_PER_NODE";
  std::vector<int> tasks;
  if (text.empty()) return std::vector<int>(hosts, 1);
  for (std::string_view part : base::StrSplit(text, ',')) {
    std::string_view count = part, times = "1";
    const size_t open = part.find("(x");
    if (open != std::string_view::npos && base::EndsWith(part, ")")) {
      count = part.substr(0, open);
      times = part.substr(open + 2, part.size() - open - 3);
    }
    int n = 0;
    size_t repeat = 0;
    if (!base::SimpleAtoi(count, &n) || n < 1 || n > max_slots ||
        !base::SimpleAtoi(times, &repeat) || repeat > hosts) {
      return invalid(source, part, "is not a number of tasks, such as 2 or 2(x3)");
    }
    tasks.insert(tasks.end(), repeat, n);
  }
  if (tasks.size() != hosts) {
    return invalid(
        source, text,
        base::StrCat("is for ", tasks.size(), " hosts, but ", node_list, " has ", hosts));
  }
  return tasks;
}

}  // namespace

base::StatusOr<std::vector<host_slots>> parse_host_list(std::string_view source,
                                                        std::string_view text) {
  host_table table(source);
  for (std::string_view word : base::StrSplit(text, ',')) {
    const base::Status s = table.add_word(base::StripAsciiWhitespace(word), 1);
    if (!s.ok()) return s;
  }
  return table.take();
}

base::StatusOr<std::vector<host_slots>> parse_host_file(std::string_view source,
                                                        std::string_view text) {
  host_table table(source);
  int number = 0;
  for (std::string_view line : base::StrSplit(text, '\n')) {
    ++number;
    const std::vector<std::string_view> words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    base::Status added;
    if (words.size() == 1) {
      added = table.add_word(words[0], 1);
    } else if (std::string_view slots = words[1];
               words.size() == 2 && base::ConsumePrefix(&slots, "slots=")) {
      const base::StatusOr<int> n = table.parse_slots(words[1], slots);
      added = n.ok() ? table.add(words[0], *n) : n.status();
    } else {
      const bool has_slots = base::StartsWith(words[1], "slots=") && words.size() > 2;
      added = invalid(source, words[has_slots ? 2 : 1],
                      "is not understood; a line is: host, host slots=N or host:N");
    }
    if (!added.ok()) {
      return base::InvalidArgumentError(base::StrCat(added.message(), " (line ", number, ")"));
    }
  }
  return table.take();
}

base::StatusOr<std::vector<host_slots>> parse_grid_engine(std::string_view source,
                                                          std::string_view text) {
  host_table table(source);
  for (std::string_view line : base::StrSplit(text, '\n')) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    if (words.size() < 2) return invalid(source, line, "is not: host slots queue processors");
    const base::StatusOr<int> slots = table.parse_slots(line, words[1]);
    if (!slots.ok()) return slots.status();
    const base::Status added = table.add(words[0], *slots);
    if (!added.ok()) return added;
  }
  return table.take();
}

base::StatusOr<std::vector<host_slots>> parse_slurm(std::string_view nodes,
                                                    std::string_view tasks_per_node) {
  std::vector<std::string> names;
  for (std::string_view part : split_nodes(nodes)) {
    const base::Status s = expand_nodes("", part, &names);
    if (!s.ok()) return s;
  }
  const base::StatusOr<std::vector<int>> tasks = expand_tasks(tasks_per_node, names.size());
  if (!tasks.ok()) return tasks.status();
  host_table table(node_list);
  for (size_t i = 0; i < names.size(); ++i) {
    const base::Status s = table.add(names[i], (*tasks)[i]);
    if (!s.ok()) return s;
  }
  return table.take();
}

bool is_this_host(std::string_view name) {
  if (name == "localhost" || name == "127.0.0.1" || name == "::1") return true;
  const std::string own = base::host_name();
  const std::string_view full = own;
  const std::string_view own_short = full.substr(0, full.find('.'));
  return name == full || name == own_short ||
         (full == own_short && name.substr(0, name.find('.')) == full);
}

base::StatusOr<std::vector<int>> distribute_ranks(const std::vector<host_slots>& hosts, int ranks,
                                                  int per_host, bool in_turn) {
  std::vector<int> slots;
  int64_t all = 0;
  for (const host_slots& host : hosts) {
    slots.push_back(per_host > 0 ? per_host : host.slots);
    all += slots.back();
  }
  if (per_host > 0 && ranks > all) {
    return base::InvalidArgumentError(base::StrCat(ranks, " ranks do not fit on ", hosts.size(),
                                                   hosts.size() == 1 ? " host" : " hosts",
                                                   " with --ppn ", per_host, " each"));
  }
  if (ranks == 0 && all > max_slots) {
    return base::InvalidArgumentError(base::StrCat("the hosts have ", all, " slots; say -n"));
  }
  int64_t left = ranks == 0 ? all : ranks;
  std::vector<int> counts(hosts.size(), 0);
  std::vector<int> free(hosts.size(), 0);
  for (int64_t all_free = 0; left > 0;) {
    if (all_free == 0) {
      free = slots;
      all_free = all;
    }
    for (size_t i = 0; i < counts.size() && left > 0; ++i) {
      const int most = in_turn ? std::min(free[i], 1) : free[i];
      const int take = static_cast<int>(std::min<int64_t>(most, left));
      counts[i] += take;
      free[i] -= take;
      all_free -= take;
      left -= take;
    }
  }
  return counts;
}

std::vector<std::vector<int>> place_ranks(const std::vector<int>& counts, bool in_turn) {
  std::vector<std::vector<int>> placed(counts.size());
  int rank = 0;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < counts.size(); ++i) {
      const auto count = static_cast<size_t>(counts[i]);
      if (placed[i].size() == count) continue;
      do {
        placed[i].push_back(rank++);
      } while (!in_turn && placed[i].size() < count);
      more = true;
    }
  }
  return placed;
}

}  // namespace lci::launcher
