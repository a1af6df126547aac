#include "examples/poisson/transport.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace poisson {
namespace {

constexpr size_t line = 64;  // each message begins at one

size_t lines(size_t bytes) { return (bytes + line - 1) / line * line; }

class no_exchange final : public exchange {
 public:
  void start() override {}
  void wait() override {}
};

}  // namespace

// Local.

void local_transport::release::operator()(char* memory) const { std::free(memory); }

int local_transport::allocate(size_t bytes) {
  const size_t rounded = lines(bytes + 1);
  char* const made = static_cast<char*>(std::aligned_alloc(line, rounded));
  if (made == nullptr) throw std::bad_alloc();
  std::memset(made, 0, rounded);
  regions_.emplace_back(made);
  return static_cast<int>(regions_.size()) - 1;
}

char* local_transport::address(int region) const {
  return regions_.at(static_cast<size_t>(region)).get();
}

std::unique_ptr<exchange> local_transport::connect(const pattern& messages, work_clock& /*clock*/) {
  if (!messages.sends.empty() || !messages.receives.empty()) {
    throw std::logic_error("a message to another rank, of which there is none");
  }
  return std::make_unique<no_exchange>();
}

// Packing.

namespace {

// Whether these are places of one region that nothing has to be moved to or from.
bool lie_ready(const std::vector<message>& messages) {
  return std::all_of(messages.begin(), messages.end(), [&](const message& each) {
    return each.bytes.is_contiguous() && each.region == messages.front().region;
  });
}

}  // namespace

packing_exchange::packing_exchange(const pattern& messages, const transport& owner,
                                   work_clock& clock, bool receives_in_place)
    : clock_(clock) {
  const auto place_all = [&](const std::vector<message>& all, bool in_place,
                             std::vector<packed>* packed_all, std::vector<place>* places) {
    size_t end = 0;
    for (const message& each : all) {
      packed_all->push_back(
          {each.peer, each.tag, in_place ? each.bytes.offset : end, each.bytes.size()});
      if (in_place) continue;
      places->push_back({owner.address(each.region), each.bytes});
      end += lines(each.bytes.size());
    }
    return end;
  };
  const bool sends_in_place = lie_ready(messages.sends);
  receives_in_place = receives_in_place && lie_ready(messages.receives);
  own_outgoing_.resize(place_all(messages.sends, sends_in_place, &sends_, &from_));
  own_incoming_.resize(place_all(messages.receives, receives_in_place, &receives_, &to_));
  const auto base = [&](const std::vector<message>& all, bool in_place, std::vector<char>* own) {
    return in_place && !all.empty() ? owner.address(all.front().region) : own->data();
  };
  outgoing_ = base(messages.sends, sends_in_place, &own_outgoing_);
  incoming_ = base(messages.receives, receives_in_place, &own_incoming_);
}

size_t packing_exchange::incoming_size() const {
  return receives_.empty() ? 0 : lines(receives_.back().offset + receives_.back().size);
}

void packing_exchange::receive_into(char* memory) {
  own_incoming_ = std::vector<char>();
  incoming_ = memory;
}

void packing_exchange::start() {
  const work before = clock_.enter(work::pack);
  for (size_t i = 0; i < from_.size(); ++i) {
    pack(from_[i].buffer, from_[i].bytes, own_outgoing_.data() + sends_[i].offset);
  }
  clock_.enter(work::transfer);
  send();
  clock_.enter(before);
}

void packing_exchange::wait() {
  const work before = clock_.enter(work::wait);
  receive();
  clock_.enter(work::pack);
  for (size_t i = 0; i < to_.size(); ++i) {
    unpack(incoming_ + receives_[i].offset, to_[i].buffer, to_[i].bytes);
  }
  clock_.enter(work::transfer);
  unpacked();
  clock_.enter(before);
}

}  // namespace poisson
