#include "lci/net/ofi/wire.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace lci::net::ofi {
namespace {

struct packet_bytes {
  alignas(8) unsigned char bytes[512] = {};
  size_t size = sizeof(packet_header);

  void add(record_kind kind, uint32_t imm, const std::string& header, const std::string& body) {
    outgoing_record record;
    record.kind = kind;
    record.imm = imm;
    record.header = header.data();
    record.header_size = header.size();
    record.body = body.data();
    record.body_size = body.size();
    write_record(record, bytes + size);
    size += record.span();
  }
};

TEST(Wire, RecordsComeBackInOrderWithAllTheirBits) {
  packet_bytes packet;
  packet.add(record_kind::send, 0xffffffff, "head", "and body");
  packet.add(record_kind::bye, 0, "", "");
  packet.add(record_kind::reply, 7, "12345678", "9");
  size_t position = sizeof(packet_header);
  incoming_record record;
  ASSERT_TRUE(read_record(packet.bytes, packet.size, &position, &record));
  EXPECT_EQ(record.kind, record_kind::send);
  EXPECT_EQ(record.imm, 0xffffffff);
  EXPECT_EQ(std::string(reinterpret_cast<char*>(record.bytes), record.size), "headand body");
  ASSERT_TRUE(read_record(packet.bytes, packet.size, &position, &record));
  EXPECT_EQ(record.kind, record_kind::bye);
  EXPECT_EQ(record.size, 0u);
  ASSERT_TRUE(read_record(packet.bytes, packet.size, &position, &record));
  EXPECT_EQ(record.kind, record_kind::reply);
  EXPECT_EQ(record.imm, 7u);
  EXPECT_EQ(record.size, 9u);
  EXPECT_EQ(position, packet.size);
}

TEST(Wire, RecordBytesAreAligned) {
  packet_bytes packet;
  for (size_t n = 0; n < 20; ++n) packet.add(record_kind::send, 0, "", std::string(n, 'x'));
  size_t position = sizeof(packet_header);
  for (size_t n = 0; n < 20; ++n) {
    incoming_record record;
    ASSERT_TRUE(read_record(packet.bytes, packet.size, &position, &record));
    EXPECT_EQ(record.size, n);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(record.bytes) % 8, 0u);
  }
}

TEST(Wire, PaddingIsZero) {
  packet_bytes packet;
  std::memset(packet.bytes, 0xee, sizeof(packet.bytes));
  packet.add(record_kind::send, 0, "", "abc");
  const unsigned char* end = packet.bytes + sizeof(packet_header) + sizeof(record_header) + 3;
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(end[i], 0);
}

// Sets each byte of a packet to each value: reads stay inside the packet.
TEST(Wire, MalformedPacketsAreNeverReadOutOfBounds) {
  size_t refused = 0;
  for (size_t at = sizeof(packet_header); at < 60; ++at) {
    for (int value = 0; value < 256; ++value) {
      packet_bytes packet;
      packet.add(record_kind::send, 1, "head", "body");
      packet.add(record_kind::put, 2, std::string(sizeof(request_header), 'h'), "bytes");
      packet.bytes[at] = static_cast<unsigned char>(value);
      size_t position = sizeof(packet_header);
      incoming_record record;
      while (position < packet.size) {
        if (!read_record(packet.bytes, packet.size, &position, &record)) {
          ++refused;
          break;
        }
        ASSERT_LE(position, packet.size);
        ASSERT_GE(record.bytes, packet.bytes);
        ASSERT_LE(record.bytes + record.size, packet.bytes + packet.size);
      }
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace lci::net::ofi
