#include "tools/launcher/hosts.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lci/base/env.h"

namespace lci::launcher {
namespace {

absl::Status bad(absl::string_view source, absl::string_view word, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(source, ": \"", word, "\" ", what));
}

bool is_name(absl::string_view name) {
  if (name.empty() || name.size() > 255 || name[0] == '-') return false;
  if (name[0] == ':' && !absl::StartsWith(name, "::")) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains("._-:@[]%", absl::string_view(&c, 1));
  });
}

// Hosts by name, in the order of their first mention.
class host_table {
 public:
  explicit host_table(absl::string_view source) : source_(source) {}

  absl::Status add(absl::string_view name, int slots) {
    if (!is_name(name)) return bad(source_, name, "is not the name of a host");
    const auto [at, is_new] = index_.emplace(std::string(name), hosts_.size());
    if (is_new) hosts_.push_back({std::string(name), 0});
    if (hosts_.size() > max_hosts) {
      return absl::InvalidArgumentError(absl::StrCat(source_, ": more than ", max_hosts, " hosts"));
    }
    host_slots& host = hosts_[at->second];
    if (slots > max_slots - host.slots) return bad(source_, name, "has too many slots");
    host.slots += slots;
    return absl::OkStatus();
  }

  // "name" or "name:slots". What has several colons is an address of IPv6, slots only after "]:".
  absl::Status add_word(absl::string_view word, int slots) {
    const size_t colon = word.rfind(':');
    const bool has_slots =
        colon != absl::string_view::npos && colon > 0 &&
        (word[colon - 1] == ']' || !absl::StrContains(word.substr(0, colon), ':'));
    if (!has_slots) return add(unbracketed(word), slots);
    const absl::StatusOr<int> said = parse_slots(word, word.substr(colon + 1));
    if (!said.ok()) return said.status();
    return add(unbracketed(word.substr(0, colon)), *said);
  }

  absl::StatusOr<int> parse_slots(absl::string_view word, absl::string_view text) const {
    int slots = 0;
    if (!absl::SimpleAtoi(text, &slots) || slots < 1 || slots > max_slots) {
      return bad(source_, word,
                 absl::StrCat("does not say a number of slots from 1 to ", max_slots));
    }
    return slots;
  }

  absl::StatusOr<std::vector<host_slots>> take() {
    if (hosts_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(source_, " names no host"));
    }
    return std::move(hosts_);
  }

 private:
  static absl::string_view unbracketed(absl::string_view name) {
    if (absl::ConsumePrefix(&name, "[")) absl::ConsumeSuffix(&name, "]");
    return name;
  }

  const std::string source_;
  std::vector<host_slots> hosts_;
  std::map<std::string, size_t> index_;
};

// Cuts at commas that are outside of brackets.
std::vector<absl::string_view> split_nodes(absl::string_view text) {
  std::vector<absl::string_view> parts;
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

// Appends what "n[1-3,07]x[1-2]" stands for.
absl::Status expand_nodes(absl::string_view prefix, absl::string_view rest,
                          std::vector<std::string>* names) {
  if (names->size() > max_hosts) {
    return absl::InvalidArgumentError(absl::StrCat(node_list, ": more than ", max_hosts, " hosts"));
  }
  const size_t open = rest.find('[');
  if (open == absl::string_view::npos) {
    names->push_back(absl::StrCat(prefix, rest));
    return absl::OkStatus();
  }
  const size_t close = rest.find(']', open);
  if (close == absl::string_view::npos) return bad(node_list, rest, "has no closing bracket");
  const std::string before = absl::StrCat(prefix, rest.substr(0, open));
  for (absl::string_view range : absl::StrSplit(rest.substr(open + 1, close - open - 1), ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(range, absl::MaxSplits('-', 1));
    const absl::string_view last_text = absl::StrContains(range, '-') ? ends.second : ends.first;
    uint32_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.first, &first) || !absl::SimpleAtoi(last_text, &last) ||
        last < first || last - first >= max_hosts || ends.first.size() > 10) {
      return bad(node_list, range, "is not a range of numbers");
    }
    for (uint32_t i = first; i <= last; ++i) {
      // Numbers are as wide as the first is written: 07, 08, ... 10.
      const std::string name =
          absl::StrFormat("%s%0*d", before, static_cast<int>(ends.first.size()), i);
      const absl::Status s = expand_nodes(name, rest.substr(close + 1), names);
      if (!s.ok()) return s;
    }
  }
  return absl::OkStatus();
}

// "2(x3),1" for four hosts: 2, 2, 2, 1.
absl::StatusOr<std::vector<int>> expand_tasks(absl::string_view text, size_t hosts) {
  constexpr char source[] = "SLURM_TASKS_PER_NODE";
  std::vector<int> tasks;
  if (text.empty()) return std::vector<int>(hosts, 1);
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    absl::string_view count = part, times = "1";
    const size_t open = part.find("(x");
    if (open != absl::string_view::npos && absl::EndsWith(part, ")")) {
      count = part.substr(0, open);
      times = part.substr(open + 2, part.size() - open - 3);
    }
    int n = 0;
    size_t repeat = 0;
    if (!absl::SimpleAtoi(count, &n) || n < 1 || n > max_slots ||
        !absl::SimpleAtoi(times, &repeat) || repeat > hosts) {
      return bad(source, part, "is not a number of tasks, such as 2 or 2(x3)");
    }
    tasks.insert(tasks.end(), repeat, n);
  }
  if (tasks.size() != hosts) {
    return bad(source, text,
               absl::StrCat("is for ", tasks.size(), " hosts, but ", node_list, " has ", hosts));
  }
  return tasks;
}

}  // namespace

absl::StatusOr<std::vector<host_slots>> parse_host_list(absl::string_view source,
                                                        absl::string_view text) {
  host_table table(source);
  for (absl::string_view word : absl::StrSplit(text, ',')) {
    const absl::Status s = table.add_word(absl::StripAsciiWhitespace(word), 1);
    if (!s.ok()) return s;
  }
  return table.take();
}

absl::StatusOr<std::vector<host_slots>> parse_host_file(absl::string_view source,
                                                        absl::string_view text) {
  host_table table(source);
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    absl::Status added;
    if (words.size() == 1) {
      added = table.add_word(words[0], 1);
    } else if (absl::string_view slots = words[1];
               words.size() == 2 && absl::ConsumePrefix(&slots, "slots=")) {
      const absl::StatusOr<int> n = table.parse_slots(words[1], slots);
      added = n.ok() ? table.add(words[0], *n) : n.status();
    } else {
      added = bad(source, words[1], "is not understood; a line is: host, host slots=N or host:N");
    }
    if (!added.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(added.message(), " (line ", number, ")"));
    }
  }
  return table.take();
}

absl::StatusOr<std::vector<host_slots>> parse_slurm(absl::string_view nodes,
                                                    absl::string_view tasks_per_node) {
  std::vector<std::string> names;
  for (absl::string_view part : split_nodes(nodes)) {
    const absl::Status s = expand_nodes("", part, &names);
    if (!s.ok()) return s;
  }
  const absl::StatusOr<std::vector<int>> tasks = expand_tasks(tasks_per_node, names.size());
  if (!tasks.ok()) return tasks.status();
  host_table table(node_list);
  for (size_t i = 0; i < names.size(); ++i) {
    const absl::Status s = table.add(names[i], (*tasks)[i]);
    if (!s.ok()) return s;
  }
  return table.take();
}

bool is_this_host(absl::string_view name) {
  if (name == "localhost" || name == "127.0.0.1" || name == "::1") return true;
  char own[256] = {};
  if (gethostname(own, sizeof(own) - 1) != 0) return false;
  const absl::string_view full = own;
  const absl::string_view own_short = full.substr(0, full.find('.'));
  return name == full || name == own_short ||
         (full == own_short && name.substr(0, name.find('.')) == full);
}

absl::StatusOr<std::vector<int>> share_out(const std::vector<host_slots>& hosts, int ranks,
                                           int per_host) {
  std::vector<int> slots;
  int64_t all = 0;
  for (const host_slots& host : hosts) {
    slots.push_back(per_host > 0 ? per_host : host.slots);
    all += slots.back();
  }
  if (per_host > 0 && ranks > all) {
    return absl::InvalidArgumentError(absl::StrCat(ranks, " ranks do not fit on ", hosts.size(),
                                                   " hosts with --ppn ", per_host, " each"));
  }
  if (ranks == 0 && all > max_slots) {
    return absl::InvalidArgumentError(absl::StrCat("the hosts have ", all, " slots; say -n"));
  }
  int64_t left = ranks == 0 ? all : ranks;
  std::vector<int> shares(hosts.size(), 0);
  while (left > 0) {
    for (size_t i = 0; i < shares.size() && left > 0; ++i) {
      const int take = static_cast<int>(std::min<int64_t>(slots[i], left));
      shares[i] += take;
      left -= take;
    }
  }
  return shares;
}

}  // namespace lci::launcher
