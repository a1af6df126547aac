#include "lci/observe/event.h"

#include "gtest/gtest.h"

namespace lci::observe {
namespace {

event full() {
  event made;
  made.time = 0x0123456789abcdef;
  made.duration = 0xfedcba98;
  made.kind = event_kind::matched_receive;
  made.form = wire_form::remote_add;
  made.flags = event::all_flags;
  made.runtime = 0xa1;
  made.context = 0xb2;
  made.device = 0xc3d4;
  made.peer = 0x7edcba98;
  made.operation = 0x89abcdef;
  made.size = event::max_size - 1;
  made.tag = ~uint64_t{2};
  made.sequence = 0x1122334455667788;
  made.detail = 0x99aabbccddeeff00;
  return made;
}

TEST(Event, SurvivesItsImage) {
  event read;
  const event_image image = encode(full(), 77);
  EXPECT_EQ(image[0], 77u);
  EXPECT_EQ(decode(image, &read), nullptr);
  EXPECT_EQ(read.time, full().time);
  EXPECT_EQ(read.duration, full().duration);
  EXPECT_EQ(read.kind, full().kind);
  EXPECT_EQ(read.form, full().form);
  EXPECT_EQ(read.flags, full().flags);
  EXPECT_EQ(read.runtime, full().runtime);
  EXPECT_EQ(read.context, full().context);
  EXPECT_EQ(read.device, full().device);
  EXPECT_EQ(read.peer, full().peer);
  EXPECT_EQ(read.operation, full().operation);
  EXPECT_EQ(read.size, full().size);
  EXPECT_EQ(read.tag, full().tag);
  EXPECT_EQ(read.sequence, full().sequence);
  EXPECT_EQ(read.detail, full().detail);
}

TEST(Event, OfNoPeerSurvivesItsImage) {
  event made;
  made.kind = event_kind::poll;
  event read;
  EXPECT_EQ(decode(encode(made, 1), &read), nullptr);
  EXPECT_EQ(read.peer, event::no_peer);
  EXPECT_EQ(read, made);
}

TEST(Event, SizesThatDoNotFitAreCapped) {
  event made = full();
  made.size = ~uint64_t{0};
  event read;
  EXPECT_EQ(decode(encode(made, 1), &read), nullptr);
  EXPECT_EQ(read.size, event::max_size);
  EXPECT_EQ(read.context, full().context);
}

TEST(Event, WhatNoRankWritesIsRefused) {
  event read;
  EXPECT_STREQ(decode({}, &read), "of an unknown kind");
  event_image image = encode(full(), 1);
  image[2] |= uint64_t{0xff} << 32;
  EXPECT_STREQ(decode(image, &read), "of an unknown kind");
  image = encode(full(), 1);
  image[2] |= uint64_t{0xff} << 40;
  EXPECT_STREQ(decode(image, &read), "of an unknown form");
  image = encode(full(), 1);
  image[2] |= uint64_t{0x10} << 48;
  EXPECT_STREQ(decode(image, &read), "with unknown flags");
  image = encode(full(), 1);
  image[3] |= 0x80000000;
  EXPECT_STREQ(decode(image, &read), "with a negative rank");
}

TEST(Event, KeepsTheNameOfACollective) {
  event made;
  made.kind = event_kind::collective;
  for (const char* name : {"", "barrier", "reduce_scatter", "sixteen_letters_"}) {
    set_name(&made, name);
    event read;
    EXPECT_EQ(decode(encode(made, 1), &read), nullptr);
    EXPECT_EQ(name_in(read), name);
  }
  set_name(&made, "seventeen_letters");
  EXPECT_EQ(name_in(made), "seventeen_letter");
  set_name(&made, "line\nline");
  event read;
  EXPECT_STREQ(decode(encode(made, 1), &read), "with a name that is no text");
}

TEST(Event, EveryKindAndFormHasAName) {
  for (int kind = 0; kind < event_kinds; ++kind) {
    EXPECT_NE(name_of(static_cast<event_kind>(kind)), "") << kind;
  }
  for (int form = 1; form < wire_forms; ++form) {
    EXPECT_NE(name_of(static_cast<wire_form>(form)), "") << form;
  }
  EXPECT_EQ(name_of(event_kind::report), "report");
  EXPECT_EQ(name_of(wire_form::other), "message");
}

}  // namespace
}  // namespace lci::observe
