#include "tools/trace/messages.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace lci::trace {
namespace {

using observe::event;
using observe::event_kind;
using observe::wire_form;

// Messages that are counted in different order are not further apart than this.
constexpr uint64_t most_apart = 4096;
// By so many numbers, what threads count in another order than it travels in is mostly wrong; by
// more if the system held a thread up between its operation and the count.
constexpr uint64_t usual_neighbors = 64;

// Those that the two sides count together: sender, receiver, device, and whether they are puts.
using stream = std::tuple<int, int, int, int, int, bool>;
// The description of a message that both sides have.
using description = std::tuple<wire_form, uint64_t, uint64_t, uint64_t>;

struct end {
  event_place place;
  const event* what = nullptr;
  int64_t time = 0;  // when it began, by the first recording's clock
  uint64_t error = 0;
  bool is_matched = false;
  size_t arrow = 0;  // its number, if it is matched
};
struct ends {
  std::vector<end> sent;
  std::vector<end> arrived;
};

bool is_notifying_put(wire_form form) {
  return form == wire_form::put_notify || form == wire_form::put_end;
}

bool is_sent(const event& what) {
  return what.kind == event_kind::post && what.form != wire_form::put &&
         what.form != wire_form::get && what.form != wire_form::remote_add;
}

bool is_arrived(const event& what) {
  return what.kind == event_kind::arrival || what.kind == event_kind::notification;
}

description describe(const event& what) {
  // The target of a put gets nothing but the immediate data.
  const bool is_put = is_notifying_put(what.form);
  return {what.form, is_put ? 0 : what.tag, is_put ? 0 : what.size, what.detail};
}

bool may_be(const end& sent, const end& arrived) {
  const uint64_t error =
      sent.error > unknown_error - arrived.error ? unknown_error : sent.error + arrived.error;
  if (error == unknown_error) return true;
  // A poll that found the message ended after its post began.
  return arrived.time + static_cast<int64_t>(error) >= sent.time;
}

uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

class matcher {
 public:
  matcher(const std::vector<observe::recording>& recordings,
          const std::vector<clock_offset>& offsets) {
    for (size_t r = 0; r < recordings.size(); ++r) {
      const auto& threads = recordings[r].threads;
      for (size_t t = 0; t < threads.size(); ++t) {
        for (size_t e = 0; e < threads[t].events.size(); ++e) {
          add({r, t, e}, threads[t].events[e], recordings[r].rank, offsets[r]);
        }
      }
    }
  }

  matched_messages match() {
    matched_messages result;
    for (auto& [key, both] : streams_) {
      static_cast<void>(key);
      by_number(&both.sent, &both.arrived, &result);
      by_description(&both.sent, &both.arrived, &result);
      by_time(&both.sent, &both.arrived, &result);
      result.only_sent += left(both.sent);
      result.only_arrived += left(both.arrived);
    }
    return result;
  }

 private:
  void add(const event_place& place, const event& what, int rank, const clock_offset& offset) {
    const bool sent = is_sent(what);
    if (!sent && !is_arrived(what)) return;
    const stream key = {sent ? rank : what.peer,
                        sent ? what.peer : rank,
                        what.runtime,
                        what.context,
                        what.device,
                        is_notifying_put(what.form)};
    end made;
    made.place = place;
    made.what = &what;
    made.time = aligned(what.time, offset);
    made.error = offset.error;
    ends& both = streams_[key];
    (sent ? both.sent : both.arrived).push_back(made);
  }

  static void join(end* sent, end* arrived, matched_messages* result) {
    sent->is_matched = true;
    arrived->is_matched = true;
    sent->arrow = arrived->arrow = result->arrows.size();
    result->arrows.push_back({sent->place, arrived->place});
  }

  static void by_number(std::vector<end>* sent, std::vector<end>* arrived,
                        matched_messages* result) {
    const auto earlier = [](const end& a, const end& b) {
      return a.what->sequence < b.what->sequence;
    };
    std::stable_sort(sent->begin(), sent->end(), earlier);
    std::stable_sort(arrived->begin(), arrived->end(), earlier);
    auto other = sent->begin();
    for (end& each : *arrived) {
      while (other != sent->end() && other->what->sequence < each.what->sequence) ++other;
      if (other == sent->end()) return;
      if (other->what->sequence == each.what->sequence &&
          describe(*other->what) == describe(*each.what) && may_be(*other, each)) {
        join(&*other, &each, result);
        ++other;
      }
    }
  }

  // Both are sorted by number.
  static void by_description(std::vector<end>* sent, std::vector<end>* arrived,
                             matched_messages* result) {
    std::map<description, std::vector<end*>> left;
    for (end& each : *sent) {
      if (!each.is_matched) left[describe(*each.what)].push_back(&each);
    }
    for (end& each : *arrived) {
      if (each.is_matched) continue;
      const auto found = left.find(describe(*each.what));
      if (found == left.end()) continue;
      for (end* candidate : found->second) {
        if (candidate->is_matched || !may_be(*candidate, each) ||
            distance(candidate->what->sequence, each.what->sequence) > most_apart) {
          continue;
        }
        join(candidate, &each, result);
        break;
      }
    }
  }

  // Matches the posts and arrivals of equal messages that are left because an arrival is before the
  // posts that are left. They and their neighbors by number are matched anew in the order of time,
  // if that matches more of them: few neighbors first, to change little.
  static void by_time(std::vector<end>* sent, std::vector<end>* arrived, matched_messages* result) {
    if (sent->empty() || arrived->empty()) return;
    // Both are sorted by number. Messages that only one of the recordings has cannot be matched.
    const uint64_t first = std::max(sent->front().what->sequence, arrived->front().what->sequence);
    const uint64_t last = std::min(sent->back().what->sequence, arrived->back().what->sequence);
    const auto counts = [&](const end& each) {
      return each.is_matched || (each.what->sequence >= first && each.what->sequence <= last);
    };
    std::map<description, std::pair<std::vector<end*>, std::vector<end*>>> equal;
    for (end& each : *sent) {
      if (counts(each)) equal[describe(*each.what)].first.push_back(&each);
    }
    for (end& each : *arrived) {
      if (counts(each)) equal[describe(*each.what)].second.push_back(&each);
    }
    for (auto& [key, both] : equal) {
      static_cast<void>(key);
      for (uint64_t neighbors = usual_neighbors; neighbors <= most_apart; neighbors *= 4) {
        const std::set<size_t> arrows = arrows_near_left(both.first, both.second, neighbors);
        if (arrows.empty()) break;
        match_again(of_arrows(both.first, arrows), of_arrows(both.second, arrows), arrows, result);
      }
    }
  }

  // The arrows of messages whose numbers are at most `neighbors` from those of the ones that are
  // left; none if one of the sides has none left.
  static std::set<size_t> arrows_near_left(const std::vector<end*>& sent,
                                           const std::vector<end*>& arrived, uint64_t neighbors) {
    uint64_t least = ~uint64_t{0};
    uint64_t greatest = 0;
    const auto look = [&](const std::vector<end*>& side) {
      size_t left = 0;
      for (const end* each : side) {
        if (each->is_matched) continue;
        least = std::min(least, each->what->sequence);
        greatest = std::max(greatest, each->what->sequence);
        ++left;
      }
      return left > 0;
    };
    std::set<size_t> arrows;
    const bool sent_left = look(sent);
    if (!look(arrived) || !sent_left) return arrows;
    const auto add = [&](const std::vector<end*>& side) {
      for (const end* each : side) {
        const uint64_t number = each->what->sequence;
        if (each->is_matched && number + neighbors >= least && number <= greatest + neighbors) {
          arrows.insert(each->arrow);
        }
      }
    };
    add(sent);
    add(arrived);
    return arrows;
  }

  // In the order of time.
  static std::vector<end*> of_arrows(const std::vector<end*>& side,
                                     const std::set<size_t>& arrows) {
    std::vector<end*> found;
    for (end* each : side) {
      if (!each->is_matched || arrows.count(each->arrow) != 0) found.push_back(each);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const end* a, const end* b) { return a->time < b->time; });
    return found;
  }

  static void match_again(const std::vector<end*>& sent, const std::vector<end*>& arrived,
                          const std::set<size_t>& arrows, matched_messages* result) {
    std::vector<std::pair<end*, end*>> pairs;
    for (end* arrival : arrived) {
      if (pairs.size() == sent.size()) break;
      end* const post = sent[pairs.size()];
      if (may_be(*post, *arrival)) pairs.emplace_back(post, arrival);
    }
    if (pairs.size() <= arrows.size()) return;
    for (end* each : sent) each->is_matched = false;
    for (end* each : arrived) each->is_matched = false;
    auto reused = arrows.begin();
    for (const auto& [post, arrival] : pairs) {
      if (reused == arrows.end()) {
        join(post, arrival, result);
        continue;
      }
      post->is_matched = arrival->is_matched = true;
      post->arrow = arrival->arrow = *reused;
      result->arrows[*reused++] = {post->place, arrival->place};
    }
  }

  static size_t left(const std::vector<end>& of) {
    return static_cast<size_t>(
        std::count_if(of.begin(), of.end(), [](const end& each) { return !each.is_matched; }));
  }

  std::map<stream, ends> streams_;
};

}  // namespace

matched_messages match_messages(const std::vector<observe::recording>& recordings,
                                const std::vector<clock_offset>& offsets) {
  return matcher(recordings, offsets).match();
}

}  // namespace lci::trace
