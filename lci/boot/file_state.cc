#include "lci/boot/file_state.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace lci::boot {

using file_layout::kind;

file_state::file_state(uint32_t size) : members_(size) {}

base::Status file_state::read(file_log* log) {
  return log->read_new([this](kind what, int rank, std::string_view name, std::string_view value) {
    apply(what, rank, name, value);
  });
}

void file_state::apply(kind what, int rank, std::string_view name, std::string_view value) {
  member& who = members_[static_cast<size_t>(rank)];
  switch (what) {
    case kind::join: {
      file_layout::join_value fixed = {};
      if (value.size() < sizeof fixed) return;
      memcpy(&fixed, value.data(), sizeof fixed);
      if (!who.joined) ++joined_;
      who.joined = true;
      who.process = {fixed.pid, fixed.start_time, fixed.image};
      who.local_rank = fixed.local_rank;
      who.local_size = fixed.local_size;
      who.domain = std::string(value.substr(sizeof fixed));
      who.node = std::string(name);
      break;
    }
    case kind::leave:
      who.left = true;
      break;
    case kind::put:
      values_.emplace(name, value);
      break;
    case kind::barrier:
    case kind::allgather: {
      collective& which = collectives_[{what, std::string(name)}];
      which.values.resize(members_.size());
      std::optional<std::string>& mine = which.values[static_cast<size_t>(rank)];
      if (!mine) ++which.entered;
      mine = std::string(value);
      break;
    }
    case kind::abort:
      if (!aborted_) aborted_ = abort_record{rank, std::string(value)};
      break;
  }
}

const file_state::collective* file_state::find(kind which, std::string_view name) const {
  const auto found = collectives_.find({which, std::string(name)});
  return found == collectives_.end() ? nullptr : &found->second;
}

void file_state::forget_values(kind which, std::string_view name) {
  collective& done = collectives_[{which, std::string(name)}];
  for (std::optional<std::string>& value : done.values) value = std::string();
}

rank_state file_state::state_of(const member& m) const {
  if (!m.joined) return rank_state::absent;
  if (m.left) return rank_state::finished;
  return has_died(m) ? rank_state::lost : rank_state::connected;
}

bool file_state::has_connected_ranks() const {
  return std::any_of(members_.begin(), members_.end(),
                     [this](const member& m) { return state_of(m) == rank_state::connected; });
}

bool file_state::has_died(const member& m) const {
  return m.joined && !m.left && m.domain == domain_ && !is_alive(m.process);
}

template <class Predicate>
std::vector<int> file_state::ranks_if(const Predicate& predicate) const {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < members_.size(); ++rank) {
    if (predicate(members_[rank])) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

std::vector<int> file_state::not_joined() const {
  return ranks_if([](const member& m) { return !m.joined; });
}

std::vector<int> file_state::left() const {
  return ranks_if([](const member& m) { return m.left; });
}

std::vector<int> file_state::died() const {
  return ranks_if([this](const member& m) { return has_died(m); });
}

std::vector<int> file_state::left_or_died() const {
  return ranks_if([this](const member& m) { return m.left || has_died(m); });
}

std::string encode_join(const file_state::member& m) {
  const file_layout::join_value fixed = {m.process.pid, m.process.start_time, m.process.image,
                                         m.local_rank, m.local_size};
  return std::string(reinterpret_cast<const char*>(&fixed), sizeof fixed) + m.domain;
}

}  // namespace lci::boot
