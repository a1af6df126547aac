#include "lci/runtime/core/wire.h"

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

TEST(ImmLayout, GoesThereAndBackAtTheBoundaries) {
  for (int tag_bits : {0, 1, 8, 16}) {
    for (int rcomp_bits : {1, 8, 15}) {
      const imm_layout layout{tag_bits, rcomp_bits};
      for (tag_t tag : {tag_t{0}, layout.max_tag() / 2, layout.max_tag()}) {
        for (uint64_t rcomp : {uint64_t{0}, uint64_t{1}, layout.max_rcomp()}) {
          const net_imm_data_t imm = layout.encode(tag, static_cast<rcomp_t>(rcomp));
          EXPECT_TRUE(is_short(imm));
          EXPECT_EQ(layout.tag(imm), tag);
          EXPECT_EQ(layout.rcomp(imm), rcomp);
        }
      }
    }
  }
}

TEST(ImmLayout, SaysWhatFits) {
  const imm_layout layout;
  EXPECT_TRUE(layout.fits(0xffff, 0x7fff));
  EXPECT_FALSE(layout.fits(0x10000, 1));
  EXPECT_FALSE(layout.fits(0, 0x8000));
  EXPECT_TRUE(layout.fits(0, 1));
  EXPECT_FALSE(layout.fits(0, 0));
}

// (network's bits, level, bits for parts) -> (largest signal, largest part).
TEST(SignalLayout, HoldsWhatTheLevelAllows) {
  const auto expect = [](int bits, int level, int part_bits, uint32_t signal, uint32_t part) {
    const signal_layout layout(bits, level, part_bits);
    EXPECT_EQ(layout.max_signal(), signal) << bits << " bits, level " << level;
    EXPECT_EQ(layout.max_part(), part) << bits << " bits, level " << level;
  };
  expect(0, 0, 8, 0, 0);
  expect(0, 4, 8, 0, 0);
  expect(32, 0, 8, 0, 0);
  expect(8, 1, 8, 0xff, 0);
  expect(8, 3, 8, 0xff, 0);
  expect(16, 1, 8, 0xffff, 0);
  expect(32, 1, 8, 0xffff, 0);
  expect(32, 1, 16, 0x3fff, 0);
  expect(32, 2, 0, 0x3fffffff, 0);  // mode 1
  expect(32, 2, 8, 0x3fffff, 0xff);
  expect(32, 4, 16, 0x3fff, 0xffff);
  expect(64, 2, 8, 0x3fffffff, 0xff);
  expect(64, 3, 8, 0x3fffffff, 0xffffffff);
}

TEST(SignalLayout, GoesThereAndBackAtTheBoundaries) {
  for (int bits : {8, 16, 32, 64}) {
    for (int level : {1, 2, 3, 4}) {
      for (int part_bits : {0, 1, 8, 16}) {
        const signal_layout layout(bits, level, part_bits);
        for (uint32_t signal : {uint32_t{1}, layout.max_signal() / 2 + 1, layout.max_signal()}) {
          for (uint32_t part : {uint32_t{0}, layout.max_part() / 2, layout.max_part()}) {
            const signal_event event{signal, part};
            EXPECT_TRUE(layout.fits(event));
            const net_imm_data_t imm = layout.encode(event);
            EXPECT_TRUE(bits >= 32 || imm >> bits == 0);
            EXPECT_TRUE(layout.is_event(imm));
            EXPECT_TRUE(bits < 32 || !is_short(imm));
            // The level is the sender's choice; the receiver need not know it.
            const signal_layout theirs(bits, 0, part_bits);
            const signal_event seen = theirs.decode(imm, layout.encode_high(event));
            EXPECT_EQ(seen.signal, signal);
            EXPECT_EQ(seen.part, part);
          }
        }
        EXPECT_FALSE(layout.fits({layout.max_signal() + 1, 0}));
        if (layout.max_part() != ~uint32_t{0}) {
          EXPECT_FALSE(layout.fits({1, layout.max_part() + 1}));
        }
        // The end of a rendezvous is none.
        if (bits >= 32) {
          EXPECT_FALSE(layout.is_event((net_imm_data_t{1} << ticket_bits) - 1));
        }
      }
    }
  }
}

TEST(SignalLayout, TheAddendsOfAMessageAddUp) {
  for (int event_bits : {1, 8, 32, 40}) {
    for (uint32_t parts = 2; parts <= 16; ++parts) {
      int64_t sum = addend_of(parts, event_bits);
      for (uint32_t i = 1; i < parts; ++i) sum += addend_of(1, event_bits);
      EXPECT_EQ(sum, addend_of(0, event_bits));
    }
  }
}

// Of any part that a message may hold: an overflow would not compile.
TEST(SignalLayout, TheAddendOfAMalformedPartIsDefined) {
  constexpr uint32_t most = ~uint32_t{0};
  static_assert(addend_of(most, 40) == static_cast<int64_t>((uint64_t{most} - 1) << 41) - 1);
  static_assert(addend_of(1, 40) == -(int64_t{1} << 41));
  static_assert(addend_of(most, 1) == (int64_t{most} - 1) * 4 - 1);
  static_assert(addend_of(0, 40) == -1);
}

TEST(Headers, AreNotReadFromShortMessages) {
  const am_header sent{0x1122334455667788, 7, 0};
  am_header seen{};
  EXPECT_TRUE(decode(&sent, sizeof(sent), &seen));
  EXPECT_EQ(seen.tag, sent.tag);
  EXPECT_EQ(seen.rcomp, sent.rcomp);
  EXPECT_FALSE(decode(&sent, sizeof(sent) - 1, &seen));
  EXPECT_FALSE(decode(&sent, 0, &seen));
}

TEST(MessageKinds, AreNotShort) {
  for (message_kind kind :
       {message_kind::am, message_kind::tagged, message_kind::rts, message_kind::rtr,
        message_kind::reject, message_kind::fin, message_kind::remote_completion,
        message_kind::rts_open, message_kind::taken}) {
    EXPECT_FALSE(is_short(encode(kind)));
    EXPECT_FALSE(is_short_tagged(encode(kind)));
  }
}

TEST(ShortTagged, GoesThereAndBackAndIsNothingElse) {
  for (tag_t tag : {tag_t{0}, tag_t{1}, max_short_tag / 2, max_short_tag}) {
    const net_imm_data_t imm = encode_short_tagged(tag);
    EXPECT_TRUE(is_short_tagged(imm));
    EXPECT_FALSE(is_short(imm));
    EXPECT_EQ(short_tag(imm), tag);
  }
  const imm_layout layout;
  EXPECT_FALSE(
      is_short_tagged(layout.encode(layout.max_tag(), static_cast<rcomp_t>(layout.max_rcomp()))));
  EXPECT_FALSE(is_short_tagged(layout.encode(0, 1)));
}

}  // namespace
}  // namespace lci::rt
