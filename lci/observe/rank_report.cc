#include "lci/observe/rank_report.h"

#include <type_traits>

#include "lci/base/strings.h"
#include "lci/io/record.h"

namespace lci::observe {
namespace {

constexpr std::string_view format = "lci-report 4\n";

using message_kind = rank_report::message::kind;
constexpr const char* message_kinds[] = {"receive", "arrived", "announced"};
using arrivals = rank_report::device::arrivals;
constexpr const char* arrivals_names[] = {"unknown", "none", "some"};

template <class Value>
void append_json(std::string* to, const Value& value);

void append_json(std::string* to, const std::string& text) { *to += base::JsonQuote(text); }

void append_json(std::string* to, message_kind kind) {
  append_json(to, std::string(message_kinds[static_cast<size_t>(kind)]));
}

void append_json(std::string* to, arrivals some) {
  append_json(to, std::string(arrivals_names[static_cast<size_t>(some)]));
}

void append_json(std::string* to, bool yes) { *to += yes ? "true" : "false"; }

template <class Entry>
void append_json(std::string* to, const std::vector<Entry>& list) {
  *to += '[';
  for (const Entry& each : list) {
    if (&each != list.data()) *to += ", ";
    if constexpr (std::is_arithmetic_v<Entry>) {
      base::StrAppend(to, "{\"rank\": ", each, "}");
    } else {
      append_json(to, each);
    }
  }
  *to += ']';
}

// A number, or a struct with fields and names.
template <class Value>
void append_json(std::string* to, const Value& value) {
  if constexpr (std::is_arithmetic_v<Value>) {
    base::StrAppend(to, value);
  } else {
    const char* const* name = Value::names;
    const auto append_member = [&](const auto& member) {
      base::StrAppend(to, name == Value::names ? "{" : ", ", "\"", *name, "\": ");
      ++name;
      append_json(to, member);
    };
    std::apply([&](auto... member) { (append_member(value.*member), ...); }, Value::fields);
    *to += '}';
  }
}

template <class Member>
void cut_list(Member*) {}

template <class Entry>
void cut_list(std::vector<Entry>* list) {
  if (list->size() > rank_report::most_entries) list->resize(rank_report::most_entries);
}

}  // namespace

std::string encode(const rank_report& report) {
  return base::StrCat(format, io::encode_record(report));
}

base::StatusOr<rank_report> decode(std::string_view bytes) {
  if (!base::ConsumePrefix(&bytes, format)) {
    return base::InvalidArgumentError("it is not a report of this release");
  }
  rank_report report;
  bool is_valid = io::decode_record(bytes, &report);
  for (const rank_report::message& each : report.messages) {
    is_valid = is_valid && each.what <= message_kind::announced;
  }
  for (const rank_report::device& each : report.devices) {
    is_valid = is_valid && each.messages <= arrivals::some;
  }
  if (!is_valid) return base::InvalidArgumentError("it is malformed");
  std::apply([&](auto... member) { (cut_list(&(report.*member)), ...); }, rank_report::fields);
  return report;
}

std::string to_json(const rank_report& report) {
  std::string text;
  append_json(&text, report);
  return text;
}

}  // namespace lci::observe
