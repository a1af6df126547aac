// Input of a faulty peer: any bytes in the cells of its ring, and any requests. They are refused or
// end the reading; nothing is read or written where it must not be (which the address sanitizer
// sees, too).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "lci/net/shm/cooperative_copy.h"
#include "lci/net/shm/regions.h"
#include "lci/net/shm/requests.h"
#include "lci/net/shm/ring.h"

namespace lci::net::shm {
namespace {

constexpr int runs = 20000;
constexpr uint32_t shift = 6;
constexpr uint32_t cells = 1 << shift;
constexpr size_t max_bytes = 128;
constexpr size_t max_size = max_bytes + sizeof(remote_copy_header);

class Fuzz : public testing::Test {
 protected:
  uint64_t any() { return random_(); }
  uint64_t below(uint64_t end) { return random_() % end; }
  // Mostly something that could be meant, so that checks behind the first are reached.
  uint64_t number(uint64_t plausible) {
    switch (below(8)) {
      case 0:
        return any();
      case 1:
        return ~below(64);
      case 2:
        return uint64_t{1} << below(64);
      default:
        return below(plausible);
    }
  }
  std::mt19937_64 random_{1};
};

TEST_F(Fuzz, ARingIsReadWithinItsBounds) {
  const auto control = std::make_unique<ring_control>();
  const std::unique_ptr<cell[]> ring(new cell[cells]());
  const auto* const begin = reinterpret_cast<const unsigned char*>(&ring[0]);
  const unsigned char* const end = begin + cells * cell_size;
  uint64_t messages = 0;
  uint64_t in_place = 0;
  uint64_t corrupt = 0;
  for (int run = 0; run < runs; ++run) {
    ring_reader reader;
    reader.attach(control.get(), ring.get(), shift, max_size);
    for (uint32_t i = 0; i < cells; ++i) {
      const auto kind = static_cast<ring_message_kind>(below(16));
      const auto size = static_cast<uint32_t>(number(100)) & max_message_size;
      ring[i].word.store(below(8) == 0 ? any()
                                       : make_word(kind, size, static_cast<uint32_t>(any())));
      for (unsigned char& byte : ring[i].bytes) byte = static_cast<unsigned char>(any());
    }
    const auto expect_within = [&](const unsigned char* bytes, uint32_t size) {
      ASSERT_GE(bytes, begin);
      ASSERT_LE(size, max_size);
      ASSERT_LE(bytes + size, end);
    };
    for (uint32_t i = 0; i < 2 * cells; ++i) {
      const ring_message_kind next = reader.next_kind();
      if ((static_cast<uint32_t>(run) + i) % 2 == 1 && next != ring_message_kind::pad &&
          reader.read_of(next, 0, max_size, [&](uint64_t word, const unsigned char* bytes) {
            expect_within(bytes, size_in(word));
          })) {
        ++messages;
        ++in_place;
        reader.reclaim();
        continue;
      }
      incoming message;
      const ring_reader::result result = reader.next(&message);
      if (result != ring_reader::result::message) {
        corrupt += result == ring_reader::result::corrupt;
        break;
      }
      ++messages;
      expect_within(message.bytes, message.size);
      reader.free(message.first_cell, message.size);
      reader.reclaim();
    }
  }
  EXPECT_GT(messages, uint64_t{runs});
  EXPECT_GT(in_place, uint64_t{runs} / 10);
  EXPECT_GT(corrupt, uint64_t{runs} / 10);
}

// Memory that is partly open to peers.
struct open_part {
  open_part() : slots(new region_slot[directory_capacity]()), memory(1024, 0xaa) {
    regions.attach(slots.get(), 1000);
    region = regions.open(memory.data() + 256, 512).value();
  }
  bool is_sound() const {
    const auto untouched = [](unsigned char byte) { return byte == 0xaa; };
    return std::all_of(memory.begin(), memory.begin() + 256, untouched) &&
           std::all_of(memory.begin() + 768, memory.end(), untouched);
  }
  const std::unique_ptr<region_slot[]> slots;
  std::vector<unsigned char> memory;
  region_table regions;
  local_region region;
};

TEST_F(Fuzz, RequestsReachOnlyOpenMemory) {
  // Not on the stack, where the address sanitizer does not keep its alignment.
  const auto made = std::make_unique<open_part>();
  open_part& target = *made;
  const remote_region region = target.regions.remote(target.region);
  int completed = 0;
  int malformed = 0;
  for (int run = 0; run < runs / 10; ++run) {
    large_puts timed(1);
    request_table table(1, target.regions, max_bytes, timed);
    const auto control = std::make_unique<ring_control>();
    const std::unique_ptr<cell[]> ring(new cell[cells]());
    // (On the heap, as above.)
    const auto back = std::make_unique<ring_writer>();
    back->attach(control.get(), ring.get(), shift);
    for (int i = 0; i < 20; ++i) {
      const size_t extra = below(max_bytes + 1);
      std::vector<unsigned char> bytes(sizeof(remote_copy_header) + extra);
      for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(any());
      remote_copy_header header;
      header.operation = static_cast<uint32_t>(number(max_requests));
      header.flag = static_cast<uint32_t>(number(4));
      header.base = below(8) == 0 ? any() : region.base;
      header.key = below(8) == 0 ? number(2000) : region.key;
      header.offset = number(600);
      header.size = below(2) == 0 ? extra : number(600);
      std::memcpy(bytes.data(), &header, sizeof(header));
      const auto kinds = static_cast<uint32_t>(ring_message_kind::reply) -
                         static_cast<uint32_t>(ring_message_kind::put_request) + 1;
      incoming message;
      message.kind =
          static_cast<ring_message_kind>(static_cast<uint32_t>(ring_message_kind::put_request) +
                                         static_cast<uint32_t>(below(kinds)));
      message.size = static_cast<uint32_t>(below(4) == 0 ? below(bytes.size() + 1) : bytes.size());
      message.bytes = bytes.data();
      completion out;
      const take_result result = table.take(0, message, *back, &out);
      completed += result == take_result::completed;
      malformed += result == take_result::malformed;
      ASSERT_TRUE(target.is_sound());
      if (result == take_result::malformed) break;
    }
  }
  EXPECT_GT(completed, 0);
  EXPECT_GT(malformed, 0);
}

TEST_F(Fuzz, CooperativeCopiesReachOnlyOpenMemory) {
  // Not on the stack, where the address sanitizer does not keep its alignment.
  const auto made = std::make_unique<open_part>();
  open_part& target = *made;
  const remote_region region = target.regions.remote(target.region);
  const std::unique_ptr<cooperative_slot[]> slots(new cooperative_slot[cooperative_slots]());
  int copied = 0;
  large_puts timed(1);
  cooperative_copies cooperative(
      1, target.regions,
      [&](int, copy_direction, void* local, uint64_t, size_t size) {
        std::memset(local, 1, size);
        ++copied;
        return true;
      },
      timed);
  cooperative.attach(0, nullptr, slots.get());
  int refused = 0;
  for (int run = 0; run < runs; ++run) {
    cooperative_header header;
    header.number = static_cast<uint32_t>(number(cooperative_slots));
    header.flag = static_cast<uint32_t>(number(2));
    header.base = below(8) == 0 ? any() : region.base;
    header.key = below(8) == 0 ? number(2000) : region.key;
    header.offset = number(600);
    header.size = number(600);
    header.source = any();
    for (uint32_t i = 0; i < cooperative_slots; ++i) slots[i].taken.store(number(2));
    std::vector<unsigned char> bytes(sizeof(header));
    std::memcpy(bytes.data(), &header, sizeof(header));
    incoming message;
    message.bytes = bytes.data();
    message.size = static_cast<uint32_t>(below(8) == 0 ? below(sizeof(header)) : sizeof(header));
    completion out;
    const take_result result =
        below(4) == 0 ? cooperative.take_done(0, message, &out) : cooperative.take(0, message);
    refused += result == take_result::malformed;
    ASSERT_TRUE(target.is_sound());
  }
  EXPECT_GT(copied, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace lci::net::shm
