// Decides whether a history of concurrent calls is equivalent to a sequential one.
#ifndef LCI_TESTING_LINEARIZABILITY_LINEARIZABLE_H_
#define LCI_TESTING_LINEARIZABILITY_LINEARIZABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "lci/base/strings.h"
#include "lci/testing/linearizability/history.h"

namespace lci::ds::explorer {

// A Specification defines the behavior of the structure when one thread uses it:
//   operation                   a call with its answer (type); text(operation) describes it
//   bool apply(operation)       whether the answer is right in the current state; if so, changes to
//                               the next state, otherwise leaves the state unchanged
//   void append_state(std::vector<uint64_t>*) const
//                               appends words that are equal for equal states, and only for those
// The specification is copied once for each step of the search, so states should be small.

struct verdict {
  bool linearizable = false;
  // If not linearizable: the history, and the longest beginning of an order that was found.
  // Otherwise empty.
  std::string explanation;
  // Number of steps of the search.
  uint64_t steps = 0;
};

namespace internal {

inline std::string times(uint64_t invoked, uint64_t returned, uint64_t origin) {
  return base::StrCat("[", invoked - origin, ", ", returned - origin, "] ");
}

template <class Specification>
std::string explain(const history<typename Specification::operation>& calls,
                    const std::vector<size_t>& longest) {
  std::string text = "not linearizable. Calls [invoked, returned]:\n";
  const uint64_t origin = calls.front().invoked;
  for (const auto& c : calls) {
    base::StrAppend(&text, "  ", times(c.invoked, c.returned, origin), "thread ", c.thread, ": ",
                    Specification::text(c.operation), "\n");
  }
  base::StrAppend(&text, "The longest order that can be continued by none of the rest:\n");
  for (const size_t i : longest) {
    const auto& c = calls[i];
    base::StrAppend(&text, "  ", times(c.invoked, c.returned, origin), "thread ", c.thread, ": ",
                    Specification::text(c.operation), "\n");
  }
  return text;
}

// FNV-1a over words instead of bytes.
struct hash_of_words {
  size_t operator()(const std::vector<uint64_t>& words) const {
    uint64_t hash = 0xcbf29ce484222325;
    for (const uint64_t word : words) {
      hash = (hash ^ word) * 0x100000001b3;
      hash ^= hash >> 32;  // a multiplication alone does not carry high bits down
    }
    return hash;
  }
};

}  // namespace internal

// Searches for an order of all calls that respects "returned before invoked" and in which every
// answer is right, beginning with the state `initial`. All calls must have returned.
//
// A depth-first search that takes, of the calls not yet ordered, any one invoked before all of them
// returned (Wing and Gong, "Testing and verifying concurrent objects", JPDC 1993), and never
// continues twice from the same state with the same set of calls ordered (Lowe, "Testing for
// linearizability", CCPE 2017). Exponential in the number of calls that overlap, not in the length.
template <class Specification>
verdict check_linearizable(const Specification& initial,
                           history<typename Specification::operation> calls) {
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.invoked < b.invoked; });
  const size_t count = calls.size();
  struct step {
    Specification state;  // before the call
    size_t next;          // the call to try next, as an index
    size_t taken;         // the call that led to the next step
  };
  verdict result;
  std::vector<bool> ordered(count, false);
  std::vector<size_t> longest;
  std::unordered_set<std::vector<uint64_t>, internal::hash_of_words> seen;

  std::vector<step> path;
  path.push_back({initial, 0, 0});
  while (path.size() <= count) {
    step& here = path.back();
    // Calls are sorted by invocation: all calls after the first one invoked after some return were
    // invoked after that return, too.
    uint64_t first_return = UINT64_MAX;
    for (size_t i = 0; i < count && calls[i].invoked <= first_return; ++i) {
      if (!ordered[i]) first_return = std::min(first_return, calls[i].returned);
    }
    size_t i = here.next;
    bool advanced = false;
    for (; i < count && calls[i].invoked <= first_return; ++i) {
      if (ordered[i]) continue;
      Specification state = here.state;
      ++result.steps;
      if (!state.apply(calls[i].operation)) continue;
      ordered[i] = true;
      std::vector<uint64_t> key((count + 63) / 64, 0);
      for (size_t j = 0; j < count; ++j) key[j / 64] |= uint64_t{ordered[j]} << (j % 64);
      state.append_state(&key);
      if (!seen.insert(std::move(key)).second) {
        ordered[i] = false;
        continue;
      }
      here.next = i + 1;
      here.taken = i;
      path.push_back({std::move(state), 0, 0});
      advanced = true;
      break;
    }
    if (advanced) {
      if (path.size() - 1 > longest.size()) {
        longest.clear();
        for (size_t s = 0; s + 1 < path.size(); ++s) longest.push_back(path[s].taken);
      }
      continue;
    }
    path.pop_back();
    if (path.empty()) {
      result.explanation = internal::explain<Specification>(calls, longest);
      return result;
    }
    ordered[path.back().taken] = false;
  }
  result.linearizable = true;
  return result;
}

// As check_linearizable, for a structure that consists of many independent ones, identified by
// key_of(operation). A history is linearizable if and only if the part of each one is (Herlihy and
// Wing, "Linearizability: a correctness condition for concurrent objects", TOPLAS 1990, theorem 1),
// and the parts are much quicker to check than the whole. `initial` is the state of each.
template <class Specification, class KeyOf>
verdict check_each_linearizable(const Specification& initial,
                                const history<typename Specification::operation>& calls,
                                const KeyOf& key_of) {
  std::map<uint64_t, history<typename Specification::operation>> parts;
  for (const auto& c : calls) parts[key_of(c.operation)].push_back(c);
  verdict total;
  total.linearizable = true;
  for (auto& [key, part] : parts) {
    verdict one = check_linearizable(initial, std::move(part));
    total.steps += one.steps;
    if (one.linearizable) continue;
    total.linearizable = false;
    base::StrAppend(&total.explanation, "key ", key, ": ", one.explanation);
  }
  return total;
}

// Returns the history without the calls that `is_refusal` and that overlap a call that `excuses`
// them. For structures that may refuse (say, find nothing) while another thread is in the middle of
// an operation: such a refusal changes nothing and proves nothing.
template <class Operation, class IsRefusal, class Excuses>
history<Operation> without_excused(const history<Operation>& calls, const IsRefusal& is_refusal,
                                   const Excuses& excuses) {
  history<Operation> rest;
  for (const auto& c : calls) {
    const bool excused =
        is_refusal(c.operation) && std::any_of(calls.begin(), calls.end(), [&](const auto& other) {
          return other.invoked <= c.returned && c.invoked <= other.returned && &other != &c &&
                 excuses(other.operation);
        });
    if (!excused) rest.push_back(c);
  }
  return rest;
}

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_LINEARIZABILITY_LINEARIZABLE_H_
