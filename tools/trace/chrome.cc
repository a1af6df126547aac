#include "tools/trace/chrome.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "lci/base/strings.h"
#include "tools/trace/clocks.h"
#include "tools/trace/messages.h"
#include "tools/trace/text.h"

namespace lci::trace {
namespace {

using base::CHexEscape;
using base::JsonQuote;
using base::StrAppend;
using base::StrCat;
using observe::event;
using observe::event_kind;

// Nanoseconds as microseconds, exactly.
std::string microseconds(int64_t nanoseconds) {
  const auto rest = std::to_string(nanoseconds % 1000);
  return StrCat(nanoseconds / 1000, ".", std::string(3 - rest.size(), '0'), rest);
}

std::string_view category_of(event_kind kind) {
  switch (kind) {
    case event_kind::post:
    case event_kind::refused:
      return "post";
    case event_kind::arrival:
    case event_kind::notification:
      return "arrival";
    case event_kind::poll:
    case event_kind::completion:
      return "network";
    case event_kind::receive:
    case event_kind::matched_arrival:
    case event_kind::unexpected:
    case event_kind::matched_receive:
      return "matching";
    case event_kind::signal:
    case event_kind::collective:
      return "program";
    default:
      return "job";
  }
}

// Few different ones, so that the viewer can sum them up.
std::string label_of(const event& what) {
  switch (what.kind) {
    case event_kind::post:
      return std::string(name_of(what.form));
    case event_kind::arrival:
    case event_kind::notification:
      return StrCat(name_of(what.kind), ": ", name_of(what.form));
    case event_kind::signal:
      return what.duration > 0 ? "handler" : "signal";
    case event_kind::collective:
      return name_in(what);
    default:
      return std::string(name_of(what.kind));
  }
}

bool is_arrival(const event& what) {
  return what.kind == event_kind::arrival || what.kind == event_kind::notification;
}

// The members that the event's kind has. The text says it all for people.
std::string arguments_of(const event& what) {
  std::string text = StrCat("{\"text\":", JsonQuote(to_text(what)));
  if (what.peer != event::no_peer) StrAppend(&text, ",\"peer\":", what.peer);
  if (what.kind == event_kind::collective) {
    return StrCat(text, ",\"size\":", what.size, ",\"number\":", what.detail,
                  ",\"engine\":", what.device, "}");
  }
  if (what.form != observe::wire_form::none || what.kind == event_kind::signal) {
    // As texts: a viewer's numbers have 53 bits.
    StrAppend(&text, ",\"tag\":\"", what.tag, "\",\"size\":", what.size);
  }
  if (what.kind == event_kind::post || is_arrival(what)) {
    StrAppend(&text, ",\"number\":", what.sequence, ",\"detail\":\"", what.detail, "\"");
  }
  if (category_of(what.kind) == "matching") {
    StrAppend(&text, ",\"tag\":\"", what.tag, "\",\"engine\":", what.detail);
  } else {
    StrAppend(&text, ",\"runtime\":", int{what.runtime}, ",\"net context\":", int{what.context},
              ",\"device\":", what.device);
  }
  if (what.operation != 0) StrAppend(&text, ",\"operation\":\"", base::Hex(what.operation), "\"");
  return text + "}";
}

class writer {
 public:
  explicit writer(const std::vector<observe::recording>& recordings)
      : recordings_(recordings), offsets_(align_clocks(recordings)) {}

  chrome_trace write() {
    place_events();
    const matched_messages matched = match_messages(recordings_, offsets_);
    made_.json = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":\"lci_trace\"";
    const std::string clocks = describe(recordings_, offsets_);
    if (!clocks.empty()) StrAppend(&made_.json, ",\"clocks\":", JsonQuote(clocks));
    made_.json += "},\"traceEvents\":[";
    for (size_t r = 0; r < recordings_.size(); ++r) add_rank(r);
    for (const arrow& each : matched.arrows) {
      const std::string id = StrCat(made_.arrows++);
      add_arrow_end("s", "", id, each.from);
      add_arrow_end("f", ",\"bp\":\"e\"", id, each.to);
    }
    made_.json += "\n]}\n";
    made_.only_sent = matched.only_sent;
    made_.only_arrived = matched.only_arrived;
    return std::move(made_);
  }

 private:
  // Sets when each event begins, from the first of all. Completions of one poll follow each other,
  // a nanosecond each, so that every arrival is a slice of its own.
  void place_events() {
    int64_t first = std::numeric_limits<int64_t>::max();
    for (size_t r = 0; r < recordings_.size(); ++r) {
      auto& ranks = begins_.emplace_back();
      for (const observe::recorded_thread& thread : recordings_[r].threads) {
        auto& begins = ranks.emplace_back();
        int64_t last_arrival = std::numeric_limits<int64_t>::min();
        for (const event& each : thread.events) {
          int64_t begin = aligned(each.time, offsets_[r]);
          if (is_arrival(each)) {
            begin = std::max(begin, last_arrival + 1);
            last_arrival = begin;
          }
          first = std::min(first, begin);
          begins.push_back(begin);
        }
      }
    }
    for (auto& rank : begins_) {
      for (auto& thread : rank) {
        for (int64_t& begin : thread) begin -= first;
      }
    }
  }

  void add(const std::string& members) {
    StrAppend(&made_.json, is_first_ ? "\n{" : ",\n{", members, "}");
    is_first_ = false;
  }

  void add_name(std::string_view what, const std::string& whose, const std::string& name) {
    add(StrCat("\"ph\":\"M\",\"name\":\"", what, "\",", whose,
               ",\"args\":{\"name\":", JsonQuote(name), "}"));
  }

  // "pid" and "tid": rank and thread number.
  std::string thread_at(const event_place& place) const {
    const observe::recording& rank = recordings_[place.recording];
    return StrCat("\"pid\":", rank.rank, ",\"tid\":", rank.threads[place.thread].number);
  }

  int64_t begin_of(const event_place& place) const {
    return begins_[place.recording][place.thread][place.event];
  }

  void add_rank(size_t r) {
    const observe::recording& rank = recordings_[r];
    const std::string pid = StrCat("\"pid\":", rank.rank);
    add_name("process_name", pid,
             StrCat("rank ", rank.rank, " (", CHexEscape(rank.program), ", process ", rank.pid,
                    " on ", CHexEscape(rank.host), "): ", state_of(rank)));
    add(StrCat("\"ph\":\"M\",\"name\":\"process_sort_index\",", pid,
               ",\"args\":{\"sort_index\":", rank.rank, "}"));
    for (size_t t = 0; t < rank.threads.size(); ++t) {
      const observe::recorded_thread& thread = rank.threads[t];
      add_name("thread_name", thread_at({r, t, 0}),
               StrCat("thread ", thread.number, " ", CHexEscape(thread.name)));
      for (size_t e = 0; e < thread.events.size(); ++e) add_event({r, t, e}, thread.events[e]);
    }
  }

  void add_event(const event_place& place, const event& what) {
    ++made_.events;
    const bool is_slice = what.duration > 0 || is_arrival(what) || what.kind == event_kind::post;
    const std::string shape = is_slice ? StrCat("\"ph\":\"X\",\"dur\":",
                                                microseconds(std::max<int64_t>(what.duration, 1)))
                                       : "\"ph\":\"i\",\"s\":\"t\"";
    add(StrCat(shape, ",\"name\":", JsonQuote(label_of(what)), ",\"cat\":\"",
               category_of(what.kind), "\",", thread_at(place),
               ",\"ts\":", microseconds(begin_of(place)), ",\"args\":", arguments_of(what)));
  }

  void add_arrow_end(std::string_view phase, std::string_view more, const std::string& id,
                     const event_place& place) {
    add(StrCat("\"ph\":\"", phase, "\"", more, ",\"id\":", id,
               ",\"name\":\"message\",\"cat\":\"message\",", thread_at(place),
               ",\"ts\":", microseconds(begin_of(place))));
  }

  const std::vector<observe::recording>& recordings_;
  const std::vector<clock_offset> offsets_;
  std::vector<std::vector<std::vector<int64_t>>> begins_;  // by recording, thread and event
  chrome_trace made_;
  bool is_first_ = true;
};

}  // namespace

chrome_trace make_chrome_trace(const std::vector<observe::recording>& recordings) {
  return writer(recordings).write();
}

}  // namespace lci::trace
