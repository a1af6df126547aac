#include "lci/runtime/core/common_settings.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "lci/net/exchange.h"

namespace lci::rt {
namespace {

// A value from the environment has no such character.
constexpr char separator = '\0';
constexpr std::string_view not_reported = "unknown";

// The message begins with it; the host follows, then names and values in turn. Another release may
// write something else.
constexpr std::string_view magic = "lci settings";

struct chosen {
  std::map<std::string, std::vector<int>, std::less<>> ranks_of;  // by value
  std::vector<bool> has;  // by rank: it has reported a value
};

std::string describe(std::string_view name, const chosen& values) {
  std::string text = base::StrCat(name, " is ");
  bool first = true;
  // The value of the lowest rank first.
  std::vector<std::pair<int, std::string_view>> by_rank;
  for (const auto& [value, ranks] : values.ranks_of) by_rank.emplace_back(ranks.front(), value);
  std::sort(by_rank.begin(), by_rank.end());
  for (const auto& [rank, value] : by_rank) {
    const std::vector<int>& ranks = values.ranks_of.find(value)->second;
    base::StrAppend(&text, first ? "" : ", ", value.empty() ? "unset" : value, " on ",
                    base::rank_list(ranks));
    first = false;
  }
  return text;
}

}  // namespace

void common_settings::add(std::string_view name, std::string_view value) {
  settings_.push_back({std::string(name), std::string(value)});
}

void common_settings::attribute(std::string_view name, std::string_view value) {
  const std::string variable = base::AsciiStrToUpper(name);
  add(base::StrCat(name, " (LCI_ATTR_", variable, ")"), value);
}

std::string common_settings::encode() const {
  std::string text = base::StrCat(magic, std::string_view(&separator, 1), host_);
  for (const setting& each : settings_) {
    for (const std::string* part : {&each.name, &each.value}) {
      text += separator;
      text += *part;
    }
  }
  return text;
}

base::StatusOr<common_settings::outcome> common_settings::compare(
    const std::vector<std::string>& reports) {
  outcome found;
  std::vector<std::string> names;  // in the order of the first rank that has them
  std::map<std::string, chosen, std::less<>> all;
  const auto note = [&](std::string_view name, std::string_view value, int rank) {
    const auto [at, is_new] = all.try_emplace(std::string(name));
    if (is_new) names.emplace_back(name);
    at->second.ranks_of[std::string(value)].push_back(rank);
    at->second.has.resize(reports.size());
    at->second.has[static_cast<size_t>(rank)] = true;
  };
  for (size_t r = 0; r < reports.size(); ++r) {
    const std::vector<std::string_view> parts = base::StrSplit(reports[r], separator);
    if (parts[0] != magic || parts.size() % 2 != 0) {
      return base::FailedPreconditionError(
          base::StrCat("rank ", r,
                       " runs another release of the library; start all ranks with the same "
                       "program and library"));
    }
    found.hosts.emplace_back(parts[1]);
    for (size_t i = 2; i < parts.size(); i += 2) note(parts[i], parts[i + 1], static_cast<int>(r));
  }
  for (const std::string& name : names) {
    chosen& values = all.find(name)->second;
    for (size_t r = 0; r < reports.size(); ++r) {
      if (!values.has[r]) values.ranks_of[std::string(not_reported)].push_back(static_cast<int>(r));
    }
    if (values.ranks_of.size() == 1) continue;
    base::StrAppend(&found.differences, found.differences.empty() ? "" : "; ",
                    describe(name, values));
  }
  return found;
}

base::StatusOr<common_settings::outcome> common_settings::exchange(boot::bootstrap& boot,
                                                                   std::string_view name,
                                                                   const base::Status& own) const {
  const auto all =
      net::exchange(boot, name, own.ok() ? base::StatusOr<std::string>(encode()) : own);
  if (!all.ok()) return all.status();
  return compare(*all);
}

base::StatusOr<std::vector<std::string>> common_settings::meet(boot::bootstrap& boot,
                                                               std::string_view name,
                                                               const base::Status& own) const {
  auto found = exchange(boot, name, own);
  if (!found.ok()) return found.status();
  if (found->differences.empty()) return std::move(found->hosts);
  return base::FailedPreconditionError(
      base::StrCat("the ranks disagree: ", found->differences, "; set it alike on all ranks"));
}

}  // namespace lci::rt
