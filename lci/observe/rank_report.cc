#include "lci/observe/rank_report.h"

#include <cstdlib>
#include <type_traits>

#include "lci/base/strings.h"

namespace lci::observe {
namespace {

constexpr std::string_view first_line = "lci-report 2";

// The members of each entry, in the order of the text, for the writer, the reader and JSON alike.
template <class Visitor, class Entry>
void visit_wait(Visitor& v, Entry& e) {
  v("thread", e.thread);
  v("call", e.call);
  v("peer", e.peer);
  v("collective", e.collective);
  v("seconds", e.seconds);
  v("place", e.place);
  v("of_message", e.of_message);
  v("tag", e.tag);
  v("size", e.size);
}

template <class Visitor, class Entry>
void visit_message(Visitor& v, Entry& e) {
  v("kind", e.what);
  v("engine", e.engine);
  v("collective", e.collective);
  v("peer", e.peer);
  v("any_tag", e.any_tag);
  v("tag", e.tag);
  v("size", e.size);
  v("count", e.count);
  v("seconds", e.seconds);
}

template <class Visitor, class Entry>
void visit_transfer(Visitor& v, Entry& e) {
  v("device", e.device);
  v("outgoing", e.outgoing);
  v("peer", e.peer);
  v("tag", e.tag);
  v("size", e.size);
  v("collective", e.collective);
}

template <class Visitor, class Entry>
void visit_device(Visitor& v, Entry& e) {
  v("number", e.number);
  v("seconds_unpolled", e.seconds_unpolled);
  v("polls", e.polls);
  v("backlog", e.backlog);
  v("transfers", e.transfers);
  v("packets_out", e.packets_out);
  v("packets", e.packets);
}

template <class Visitor, class Entry>
void visit_queue(Visitor& v, Entry& e) {
  v("name", e.name);
  v("statuses", e.statuses);
}

template <class Visitor, class Entry>
void visit_collectives(Visitor& v, Entry& e) {
  v("engine", e.engine);
  v("last", e.last);
  v("last_kind", e.last_kind);
}

template <class Visitor, class Report>
void visit_rank(Visitor& v, Report& r) {
  v("rank", r.rank);
  v("size", r.size);
  v("pid", r.pid);
  v("host", r.host);
  v("program", r.program);
  v("left_out", r.left_out);
}

// Calls f(name, list, visit) for each list of a report.
template <class Report, class F>
void for_each_list(Report& r, const F& f) {
  f("wait", r.waits, [](auto& v, auto& e) { visit_wait(v, e); });
  f("message", r.messages, [](auto& v, auto& e) { visit_message(v, e); });
  f("transfer", r.transfers, [](auto& v, auto& e) { visit_transfer(v, e); });
  f("device", r.devices, [](auto& v, auto& e) { visit_device(v, e); });
  f("queue", r.queues, [](auto& v, auto& e) { visit_queue(v, e); });
  f("collectives", r.engines, [](auto& v, auto& e) { visit_collectives(v, e); });
  f("failed", r.failed, [](auto& v, auto& e) { v("rank", e); });
}

using message_kind = rank_report::message::kind;
constexpr const char* message_kinds[] = {"receive", "arrived", "announced"};

bool is_plain(char c) { return c > ' ' && c < 0x7f && c != '%'; }

class writer {
 public:
  explicit writer(std::string* to) : to_(to) {}

  void operator()(const char*, const std::string& text) {
    static constexpr char digits[] = "0123456789abcdef";
    *to_ += ' ';
    for (const char c : text) {
      if (is_plain(c)) {
        *to_ += c;
      } else {
        const auto byte = static_cast<unsigned char>(c);
        *to_ += {'%', digits[byte >> 4], digits[byte & 15]};
      }
    }
  }
  void operator()(const char*, message_kind kind) {
    base::StrAppend(to_, " ", static_cast<int>(kind));
  }
  template <class Number>
  void operator()(const char*, Number number) {
    base::StrAppend(to_, " ", +number);
  }

 private:
  std::string* const to_;
};

class reader {
 public:
  explicit reader(std::string_view line) : rest_(line) {}

  void operator()(const char*, std::string& text) {
    const std::string_view word = next();
    text.clear();
    for (size_t i = 0; i < word.size(); ++i) {
      if (word[i] != '%') {
        text += word[i];
        continue;
      }
      const std::string hex(word.substr(i + 1, 2));
      char* end = nullptr;
      text += static_cast<char>(std::strtoul(hex.c_str(), &end, 16));
      ok_ = ok_ && hex.size() == 2 && *end == 0;
      i += 2;
    }
  }
  void operator()(const char* name, message_kind& kind) {
    uint8_t number = 0;
    (*this)(name, number);
    ok_ = ok_ && number <= static_cast<uint8_t>(message_kind::announced);
    if (ok_) kind = static_cast<message_kind>(number);
  }
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  void operator()(const char*, Number& number) {
    const std::string word(next());
    char* end = nullptr;
    if constexpr (std::is_signed_v<Number>) {
      number = static_cast<Number>(std::strtoll(word.c_str(), &end, 10));
    } else {
      number = static_cast<Number>(std::strtoull(word.c_str(), &end, 10));
    }
    ok_ = ok_ && !word.empty() && *end == 0;
  }

  // All words were there, each what it should be, and nothing else.
  bool complete() const { return ok_ && rest_.empty(); }

 private:
  std::string_view next() {
    if (rest_.empty() || rest_[0] != ' ') {
      ok_ = false;
      return {};
    }
    rest_.remove_prefix(1);
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    return word;
  }

  std::string_view rest_;
  bool ok_ = true;
};

class json_writer {
 public:
  explicit json_writer(std::string* to) : to_(to) {}

  void operator()(const char* name, const std::string& text) {
    begin(name);
    *to_ += base::JsonQuote(text);
  }
  void operator()(const char* name, message_kind kind) {
    (*this)(name, std::string(message_kinds[static_cast<size_t>(kind)]));
  }
  void operator()(const char* name, bool yes) {
    begin(name);
    *to_ += yes ? "true" : "false";
  }
  template <class Number>
  void operator()(const char* name, Number number) {
    begin(name);
    base::StrAppend(to_, +number);
  }

 private:
  void begin(const char* name) {
    base::StrAppend(to_, first_ ? "" : ", ", "\"", name, "\": ");
    first_ = false;
  }

  std::string* const to_;
  bool first_ = true;
};

}  // namespace

std::string encode(const rank_report& report) {
  std::string text = base::StrCat(first_line, "\nrank");
  writer head(&text);
  visit_rank(head, report);
  text += '\n';
  for_each_list(report, [&text](const char* name, const auto& list, const auto& visit) {
    for (const auto& entry : list) {
      text += name;
      writer line(&text);
      visit(line, entry);
      text += '\n';
    }
  });
  return text;
}

base::StatusOr<rank_report> decode(std::string_view text) {
  rank_report report;
  const std::vector<std::string_view> lines = base::StrSplit(text, '\n');
  if (lines.size() < 2 || lines[0] != first_line) {
    return base::InvalidArgumentError("it is not a report of this release");
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::string_view name = lines[i].substr(0, lines[i].find(' '));
    reader line(lines[i].substr(name.size()));
    bool known = name == "rank";
    if (known) visit_rank(line, report);
    for_each_list(report, [&](const char* list_name, auto& list, const auto& visit) {
      if (name != list_name) return;
      known = true;
      list.emplace_back();
      visit(line, list.back());
      if (list.size() > rank_report::most_entries) list.pop_back();
    });
    if (!known || !line.complete()) {
      return base::InvalidArgumentError(base::StrCat("line ", i + 1, " of it is malformed"));
    }
  }
  return report;
}

std::string to_json(const rank_report& report) {
  std::string text = "{";
  json_writer head(&text);
  visit_rank(head, report);
  for_each_list(report, [&text](const char* name, const auto& list, const auto& visit) {
    base::StrAppend(&text, ", \"", name, "\": [");
    bool first = true;
    for (const auto& entry : list) {
      text += first ? "{" : ", {";
      first = false;
      json_writer members(&text);
      visit(members, entry);
      text += '}';
    }
    text += ']';
  });
  return text + "}";
}

}  // namespace lci::observe
