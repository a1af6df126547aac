#include "lci/runtime/wire.h"

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
        message_kind::reject, message_kind::fin, message_kind::signal}) {
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
