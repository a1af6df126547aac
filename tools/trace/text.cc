#include "tools/trace/text.h"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string_view>

#include "lci/base/strings.h"
#include "lci/observe/recording_file.h"
#include "tools/trace/clocks.h"

namespace lci::trace {
namespace {

using base::StrAppend;
using base::StrCat;
using observe::event;
using observe::event_kind;
using observe::wire_form;

std::string rank_text(const event& what, std::string_view any) {
  return what.peer == event::no_peer ? std::string(any) : StrCat("rank ", what.peer);
}

std::string tag_text(const event& what) {
  return (what.flags & event::any_tag) != 0 ? "any tag" : StrCat("tag ", what.tag);
}

bool has_tag(wire_form form) {
  return form == wire_form::active_message || form == wire_form::tagged ||
         form == wire_form::ready_to_send || form == wire_form::rma_completion;
}

// The content of the message besides tag and size.
std::string detail_text(const event& what) {
  const auto low = static_cast<uint32_t>(what.detail);
  const auto high = static_cast<uint32_t>(what.detail >> 32);
  switch (what.form) {
    case wire_form::active_message:
    case wire_form::rma_completion:
      return StrCat("remote completion ", what.detail);
    case wire_form::tagged:
      return StrCat("engine ", what.detail);
    case wire_form::ready_to_send:
    case wire_form::reject:
      return StrCat("ticket ", low);
    case wire_form::ready_to_receive:
      return StrCat("tickets ", low, " and ", high);
    case wire_form::finish:
    case wire_form::taken:
    case wire_form::put_end:
      return StrCat("ticket ", low);
    case wire_form::rma_event:
      return StrCat("signal ", low, high == 0 ? "" : StrCat(", part ", high));
    case wire_form::put_notify:
    case wire_form::other:
      return StrCat("immediate data ", what.detail);
    default:
      return "";
  }
}

// "send to rank 1, tag 7, 8 bytes, ...".
std::string message_text(const event& what, std::string_view direction) {
  std::string text = StrCat(name_of(what.form), direction, rank_text(what, "no rank"));
  if (has_tag(what.form)) StrAppend(&text, ", tag ", what.tag);
  if (what.kind != event_kind::notification) StrAppend(&text, ", ", what.size, " bytes");
  const std::string detail = detail_text(what);
  if (!detail.empty()) StrAppend(&text, ", ", detail);
  const bool is_counted = what.form != wire_form::put && what.form != wire_form::get &&
                          what.form != wire_form::remote_add && what.kind != event_kind::refused;
  if (is_counted) StrAppend(&text, ", number ", what.sequence);
  return text;
}

std::string matching_text(const event& what) {
  return StrCat("with ", tag_text(what), " from ", rank_text(what, "any rank"), ", engine ",
                what.detail);
}

std::string own_text(const event& what) {
  switch (what.kind) {
    case event_kind::post:
      return message_text(what, " to ");
    case event_kind::refused:
      return StrCat(message_text(what, " to "), ", which has failed");
    case event_kind::poll:
      return StrCat("a poll found ", what.detail,
                    what.detail == 1 ? " completion" : " completions");
    case event_kind::arrival:
    case event_kind::notification:
      return message_text(what, " from ");
    case event_kind::completion:
      return StrCat("a posted ", what.form == wire_form::other ? "message" : name_of(what.form),
                    (what.flags & event::failed) != 0 ? " has failed" : " is complete");
    case event_kind::receive:
      return StrCat("a receive ", matching_text(what), " waits");
    case event_kind::matched_arrival:
      return StrCat("a message ", matching_text(what), " found its receive");
    case event_kind::unexpected:
      return StrCat("a message ", matching_text(what), " found no receive, and waits");
    case event_kind::matched_receive:
      return StrCat("a receive ", matching_text(what), " found its message");
    case event_kind::signal:
      return StrCat((what.flags & event::failed) != 0 ? "failure of an operation with "
                                                      : "an operation with ",
                    rank_text(what, "no rank"), ", tag ", what.tag, ", ", what.size, " bytes");
    case event_kind::collective:
      return StrCat(name_in(what), " ", what.detail, " begins",
                    what.peer == event::no_peer ? "" : StrCat(", root ", what.peer), ", ",
                    what.size, " bytes");
    case event_kind::peer_lost:
      return StrCat(rank_text(what, "a rank"), " has failed");
    case event_kind::report:
      return "the job was asked what it waits for";
    case event_kind::none:
      break;
  }
  return "";
}

std::string time_of_day(uint64_t realtime) {
  const auto seconds = static_cast<time_t>(realtime / 1000000000);
  tm split = {};
  ::gmtime_r(&seconds, &split);
  char text[64];
  std::snprintf(text, sizeof(text), "%04d-%02d-%02d %02d:%02d:%02d.%06d UTC", split.tm_year + 1900,
                split.tm_mon + 1, split.tm_mday, split.tm_hour, split.tm_min, split.tm_sec,
                static_cast<int>(realtime % 1000000000 / 1000));
  return text;
}

std::string milliseconds(int64_t nanoseconds) {
  char text[40];
  std::snprintf(text, sizeof(text), "%14.6f", static_cast<double>(nanoseconds) / 1e6);
  return text;
}

void show_thread(const observe::recorded_thread& thread, size_t most, const clock_offset& offset,
                 int64_t last, std::string* text) {
  StrAppend(text, "  thread ", thread.number, " \"", base::CHexEscape(thread.name), "\" (",
            thread.tid, "): ");
  const size_t shown = std::min(most, thread.events.size());
  StrAppend(text, "the last ", shown, " of ",
            thread.first - 1 + thread.events.size() + thread.missing, " events");
  if (thread.missing > 0) StrAppend(text, "; ", thread.missing, " were being written");
  StrAppend(text, "\n");
  for (size_t i = thread.events.size() - shown; i < thread.events.size(); ++i) {
    const event& each = thread.events[i];
    StrAppend(text, milliseconds(aligned(each.time, offset) - last), "  ", to_text(each), "\n");
  }
}

}  // namespace

std::string to_text(const event& what) {
  const std::string_view kind = name_of(what.kind);
  std::string text =
      StrCat(kind, std::string(kind.size() < 16 ? 16 - kind.size() : 1, ' '), own_text(what));
  if ((what.flags & event::of_library) != 0) StrAppend(&text, ", of a collective operation");
  if (what.operation != 0) StrAppend(&text, ", operation ", base::Hex(what.operation));
  if ((what.flags & event::posted) != 0) StrAppend(&text, ", completes later");
  if (what.duration > 0) {
    StrAppend(&text, ", took ", static_cast<double>(what.duration) / 1000, " us");
  }
  return text;
}

std::string title_of(const observe::recording& of) {
  return StrCat("rank ", of.rank, " of ", of.ranks, ", process ", of.pid, " of ",
                base::CHexEscape(of.program), " on ", base::CHexEscape(of.host), ", job ", of.job);
}

std::string state_of(const observe::recording& of) {
  std::string text;
  if (of.has_ended) {
    text = "it has finalized";
  } else if (of.is_running) {
    text = "it runs";
  } else {
    text = "it is gone, and has not finalized";
  }
  if ((of.keep_reasons & observe::keep_peer_lost) != 0) text += "; it has lost a peer";
  if ((of.keep_reasons & observe::keep_report) != 0) text += "; it was asked what it waits for";
  if ((of.keep_reasons & observe::keep_failure) != 0) {
    text += "; its ranks did not call the same collective operations";
  }
  if (of.unrecorded_threads > 0) {
    StrAppend(&text, "; ", of.unrecorded_threads, " threads are not recorded, for lack of room");
  }
  return text;
}

std::string show(const std::vector<observe::recording>& recordings, size_t most) {
  const std::vector<clock_offset> offsets = align_clocks(recordings);
  int64_t last = std::numeric_limits<int64_t>::min();
  for (size_t r = 0; r < recordings.size(); ++r) {
    for (const observe::recorded_thread& thread : recordings[r].threads) {
      for (const event& each : thread.events) {
        last = std::max(last, aligned(each.time, offsets[r]));
      }
    }
  }
  std::string text;
  if (last != std::numeric_limits<int64_t>::min()) {
    const observe::recording& first = recordings.front();
    StrAppend(&text, "times in ms before the last event, which began at ",
              time_of_day(static_cast<uint64_t>(last) - first.monotonic + first.realtime), "\n");
  }
  const std::string clocks = describe(recordings, offsets);
  if (!clocks.empty()) StrAppend(&text, clocks, "\n");
  for (size_t r = 0; r < recordings.size(); ++r) {
    const observe::recording& each = recordings[r];
    StrAppend(&text, "\n", title_of(each), ": ", state_of(each), "\n");
    if (each.threads.empty()) StrAppend(&text, "  no events\n");
    for (const observe::recorded_thread& thread : each.threads) {
      show_thread(thread, most, offsets[r], last, &text);
    }
  }
  return text;
}

}  // namespace lci::trace
