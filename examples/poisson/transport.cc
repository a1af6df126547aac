#include "examples/poisson/transport.h"

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

// ---- local --------------------------------------------------------------------------------------

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

// ---- packing ------------------------------------------------------------------------------------

packing_exchange::packing_exchange(const pattern& messages, const transport& owner,
                                   work_clock& clock)
    : clock_(clock) {
  const auto place_all = [&](const std::vector<message>& all, std::vector<packed>* packed_all,
                             std::vector<place>* places) {
    size_t offset = 0;
    for (const message& each : all) {
      packed_all->push_back({each.peer, each.tag, offset, each.bytes.size()});
      places->push_back({owner.address(each.region), each.bytes});
      offset += lines(each.bytes.size());
    }
    return offset;
  };
  outgoing_.resize(place_all(messages.sends, &sends_, &from_));
  own_incoming_.resize(place_all(messages.receives, &receives_, &to_));
  incoming_ = own_incoming_.data();
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
  for (size_t i = 0; i < sends_.size(); ++i) {
    pack(from_[i].buffer, from_[i].bytes, outgoing_.data() + sends_[i].offset);
  }
  clock_.enter(work::transfer);
  send();
  clock_.enter(before);
}

void packing_exchange::wait() {
  const work before = clock_.enter(work::wait);
  receive();
  clock_.enter(work::pack);
  for (size_t i = 0; i < receives_.size(); ++i) {
    unpack(incoming_ + receives_[i].offset, to_[i].buffer, to_[i].bytes);
  }
  clock_.enter(work::transfer);
  unpacked();
  clock_.enter(before);
}

}  // namespace poisson
