#include "lci/io/framing.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/io/bytes.h"

namespace lci::io {
namespace {

using item = frame_reader::item;
using testing::HasSubstr;

constexpr protocol test_protocol = {0x54534554, 7, "test", "a server of the test"};
constexpr uint64_t max_body = 100;

std::string preamble() {
  std::string bytes;
  append_preamble(&bytes, test_protocol);
  return bytes;
}

std::string frame(uint8_t kind, uint32_t request, std::string_view body) {
  std::string bytes;
  append_frame(&bytes, kind, request, body);
  return bytes;
}

// All that a reader takes out of the bytes so far, as text.
std::string take_all(frame_reader* from) {
  std::string taken;
  for (;;) {
    frame_header header;
    std::string_view body;
    switch (from->next(max_body, &header, &body)) {
      case item::none:
        return taken;
      case item::preamble:
        taken += "preamble ";
        break;
      case item::frame:
        EXPECT_EQ(header.body_size, body.size());
        base::StrAppend(&taken, unsigned{header.kind}, "/", header.request, "=", body, " ");
        break;
      case item::invalid:
        return taken + "invalid";
    }
  }
}

std::string read(std::string_view bytes) {
  frame_reader in(test_protocol);
  in.add(bytes);
  return take_all(&in);
}

base::Status error_of(std::string_view bytes) {
  frame_reader in(test_protocol);
  in.add(bytes);
  EXPECT_THAT(take_all(&in), HasSubstr("invalid"));
  in.add(frame(1, 2, "more"));  // nothing is read after an error
  EXPECT_EQ(take_all(&in), "invalid");
  return in.error();
}

TEST(framing, preambles_and_headers_have_their_layout) {
  EXPECT_EQ(preamble(), std::string("TEST\7\0\0\0", 8));
  EXPECT_EQ(frame(0xab, 0x01020304, "xy"), std::string("\2\0\0\0\0\0\xab\0\4\3\2\1\0\0\0\0xy", 18));
}

// The pieces that a stream delivers are not those that were sent.
TEST(framing, reads_the_same_at_every_split) {
  const std::string bytes = preamble() + frame(1, 2, "one") + frame(255, 0xffffffff, "") +
                            frame(3, 4, std::string(max_body, 'x')) +
                            frame(5, 6, std::string("\0\n\xff", 3));
  const std::string whole = read(bytes);
  EXPECT_EQ(whole, base::StrCat("preamble 1/2=one 255/4294967295= 3/4=", std::string(max_body, 'x'),
                                " 5/6=", std::string("\0\n\xff", 3), " "));
  for (size_t first = 0; first <= bytes.size(); ++first) {
    for (size_t second = first; second <= bytes.size(); ++second) {
      frame_reader in(test_protocol);
      std::string taken;
      in.add(bytes.substr(0, first));
      taken += take_all(&in);
      in.add(bytes.substr(first, second - first));
      taken += take_all(&in);
      in.add(bytes.substr(second));
      taken += take_all(&in);
      ASSERT_EQ(taken, whole) << "split at " << first << " and " << second;
    }
  }
  frame_reader in(test_protocol);
  std::string taken;
  for (const char byte : bytes) {
    in.add(std::string_view(&byte, 1));
    taken += take_all(&in);
  }
  EXPECT_EQ(taken, whole);
}

TEST(framing, what_is_not_complete_is_not_read) {
  const std::string bytes = preamble() + frame(1, 2, "body");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(read(bytes.substr(0, size)), size < preamble_size ? "" : "preamble ") << size;
  }
}

TEST(framing, another_protocol_is_an_error) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), std::string(8, '\0'), std::string("SSH-2.0-OpenSSH"),
        std::string("TEST\7\0\1\0", 8), std::string("TESU\7\0\0\0", 8)}) {
    const base::Status why = error_of(bytes);
    EXPECT_TRUE(base::IsFailedPrecondition(why)) << why;
    EXPECT_THAT(std::string(why.message()), HasSubstr("not a server of the test"));
  }
}

// The preamble is reported, so that the other end can get a notice of this version.
TEST(framing, another_version_is_an_error_after_the_preamble) {
  for (const char version : {'\0', '\6', '\10', '\x63'}) {
    std::string bytes = preamble();
    bytes[4] = version;
    EXPECT_EQ(read(bytes), "preamble invalid");
    const base::Status why = error_of(bytes + frame(1, 2, "body"));
    EXPECT_TRUE(base::IsFailedPrecondition(why)) << why;
    EXPECT_THAT(std::string(why.message()),
                HasSubstr(base::StrCat("version ", int{version},
                                       " of the test protocol, this process version 7")));
  }
}

TEST(framing, a_body_has_a_limit_that_its_header_can_exceed) {
  EXPECT_EQ(read(preamble() + frame(1, 2, std::string(max_body, 'x'))).substr(0, 13),
            "preamble 1/2=");
  for (const uint64_t size : {max_body + 1, uint64_t{1} << 32, (uint64_t{1} << 48) - 1}) {
    std::string header;
    append_header(&header, {size, 1, 2});
    const base::Status why = error_of(preamble() + header);  // without a byte of the body
    EXPECT_TRUE(base::IsInvalidArgument(why)) << why;
    EXPECT_THAT(std::string(why.message()), HasSubstr(base::StrCat(size, " bytes; at most 100")));
  }
}

TEST(framing, bits_of_later_versions_are_errors) {
  for (const size_t byte : {7, 12, 13, 14, 15}) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = frame(1, 2, "body");
      bytes[byte] = static_cast<char>(bytes[byte] | (1 << bit));
      EXPECT_TRUE(base::IsInvalidArgument(error_of(preamble() + bytes))) << byte << ", " << bit;
    }
  }
}

TEST(body_reader, reads_what_is_there_and_says_when_it_is_not) {
  std::string body;
  append_le(&body, 0x01020304, 4);
  append_text(&body, "text");
  append_le(&body, 0xfe, 1);
  for (size_t size = 0; size <= body.size(); ++size) {
    body_reader in(std::string_view(body).substr(0, size));
    const uint32_t number = in.u32();
    const std::string_view text = in.text();
    const uint8_t last = in.u8();
    EXPECT_EQ(in.ok(), size == body.size()) << size;
    EXPECT_EQ(in.complete(), size == body.size()) << size;
    EXPECT_EQ(number, size < 4 ? 0u : 0x01020304u);
    if (size == body.size()) {
      EXPECT_EQ(text, "text");
      EXPECT_EQ(last, 0xfe);
    }
  }
  body_reader lies(std::string_view("\xff\xff\xff\xffx", 5));  // the size of a text
  EXPECT_EQ(lies.text(), "");
  EXPECT_FALSE(lies.ok());
  body_reader more("ab");
  more.u8();
  EXPECT_TRUE(more.ok());
  EXPECT_FALSE(more.complete());
  EXPECT_EQ(more.rest(), "b");
  EXPECT_TRUE(more.complete());
}

}  // namespace
}  // namespace lci::io
