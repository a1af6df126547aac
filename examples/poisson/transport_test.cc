#include "examples/poisson/transport.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace poisson {
namespace {

// The rank that sends a message receives it immediately, message by message.
class loop final : public packing_exchange {
 public:
  loop(const pattern& messages, const transport& owner, work_clock& clock, bool in_place = true)
      : packing_exchange(messages, owner, clock, in_place) {}
  const char* sent_from() { return outgoing(); }

 private:
  void send() override {}
  void receive() override {
    for (size_t i = 0; i < sends().size(); ++i) {
      EXPECT_EQ(sends()[i].size, receives()[i].size);
      std::memcpy(incoming() + receives()[i].offset, outgoing() + sends()[i].offset,
                  sends()[i].size);
    }
  }
};

struct two_regions {
  two_regions() : from(owner.allocate(64)), to(owner.allocate(64)) {
    for (int i = 0; i < 64; ++i) owner.address(from)[i] = static_cast<char>('A' + i);
  }
  std::string received() const { return std::string(owner.address(to), 8); }

  local_transport owner;
  work_clock clock;
  int from;
  int to;
};

TEST(PackingExchange, PacksWhatIsStrided) {
  two_regions memory;
  pattern messages;
  messages.sends = {{0, 0, memory.from, {0, 2, 2, 4}}, {0, 1, memory.from, {16, 4}}};
  messages.receives = {{0, 0, memory.to, {0, 4}}, {0, 1, memory.to, {4, 1, 4, 1}}};
  loop exchange(messages, memory.owner, memory.clock);
  exchange.start();
  exchange.wait();
  EXPECT_EQ(memory.received(), "ABEFQRST");
}

TEST(PackingExchange, SendsFromAndReceivesIntoTheArrayWhereItCan) {
  for (const bool in_place : {true, false}) {
    two_regions memory;
    pattern messages;
    messages.sends = {{0, 0, memory.from, {16, 4}}, {0, 1, memory.from, {1, 2}}};
    messages.receives = {{0, 0, memory.to, {2, 4}}, {0, 1, memory.to, {0, 2}}};
    loop exchange(messages, memory.owner, memory.clock, in_place);
    EXPECT_EQ(exchange.sent_from(), memory.owner.address(memory.from));
    exchange.start();
    exchange.wait();
    EXPECT_EQ(memory.received().substr(0, 6), "BCQRST");
  }
}

}  // namespace
}  // namespace poisson
