#include "lci/testing/explorer/choices.h"

#include <stdexcept>
#include <string_view>

#include "lci/base/check.h"
#include "lci/base/strings.h"

namespace lci::ds::explorer {

size_t choices::choose(choice_kind kind, size_t count) {
  const size_t number = decide(kind, count);
  LCI_CHECK(number < count, "choice ", made_.size(), " is ", number, " of ", count);
  made_.push_back(number);
  return number;
}

std::string choices::schedule() const {
  std::string text;
  for (size_t position = 0; position < made_.size(); ++position) {
    if (made_[position] == 0) continue;
    base::StrAppend(&text, text.empty() ? "" : " ", position, ":", made_[position]);
  }
  return text;
}

bool all_choices::next_run() {
  if (begun_) {
    while (!path_.empty() && path_.back().number + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().number;
  }
  begun_ = true;
  position_ = preemptions_ = old_reads_ = 0;
  begin();
  return true;
}

size_t all_choices::decide(choice_kind kind, size_t count) {
  // A choice without an alternative takes no entry in the path, but must be the same in each run.
  if (kind == choice_kind::preempt && preemptions_ == most_preemptions_) return 0;
  if (kind == choice_kind::read && old_reads_ == most_old_reads_) return 0;
  if (position_ == path_.size()) path_.push_back({kind, 0, count});
  const decision& d = path_[position_++];
  LCI_CHECK(d.kind == kind && d.count == count, "the scenario is not the same in each run: choice ",
            position_);
  if (d.number != 0 && kind == choice_kind::preempt) ++preemptions_;
  if (d.number != 0 && kind == choice_kind::read) ++old_reads_;
  return d.number;
}

bool random_choices::next_run() {
  random_.seed(seed_++);
  preempt_percent_ = 2 + static_cast<unsigned>(random_() % 40);
  begin();
  return true;
}

size_t random_choices::decide(choice_kind kind, size_t count) {
  if (kind == choice_kind::preempt && random_() % 100 >= preempt_percent_) return 0;
  if (kind == choice_kind::read && random_() % 2 == 0) return 0;
  return random_() % count;
}

replay_choices::replay_choices(const std::string& schedule) {
  for (std::string_view entry : base::StrSplit(schedule, ' ', base::SkipEmpty())) {
    const std::vector<std::string_view> parts = base::StrSplit(entry, ':');
    size_t position = 0;
    size_t number = 0;
    if (parts.size() != 2 || !base::SimpleAtoi(parts[0], &position) ||
        !base::SimpleAtoi(parts[1], &number) || position > 10000000) {
      throw std::invalid_argument(
          base::StrCat("\"", entry, "\" is not \"<position>:<number>\" of a schedule"));
    }
    if (numbers_.size() <= position) numbers_.resize(position + 1, 0);
    numbers_[position] = number;
  }
}

bool replay_choices::next_run() {
  if (done_) return false;
  done_ = true;
  begin();
  return true;
}

size_t replay_choices::decide(choice_kind, size_t count) {
  const size_t number = made().size() < numbers_.size() ? numbers_[made().size()] : 0;
  // The schedule belongs to another scenario.
  return number < count ? number : 0;
}

}  // namespace lci::ds::explorer
