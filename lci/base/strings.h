// Formats text from pieces, and parses text into pieces and numbers. Independent of the locale.
//
//   base::StrCat("rank ", rank, " of ", size, " at 0x", base::Hex(address))
//
// Names and meanings are those of Abseil (lci/base/status.h says why the library has its own
// implementation). For messages and set-up, not for the path of a message.
//
// Thread safety: any thread at any time.
#ifndef LCI_BASE_STRINGS_H_
#define LCI_BASE_STRINGS_H_

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace lci::base {

// Argument of StrCat: an integer in lower-case hexadecimal digits, padded with zeros to a minimum
// width. A negative number is shown in two's complement of its own size.
struct Hex {
  template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
  explicit Hex(Integer number, int at_least = 1)
      : value(static_cast<std::make_unsigned_t<Integer>>(number)), width(at_least) {}

  uint64_t value;
  int width;  // minimum number of digits; at most 16
};

namespace internal {

// Text of one argument of StrCat. Texts are referenced; numbers are formatted into the piece.
class text_piece {
 public:
  text_piece(std::string_view text) : text_(text) {}
  text_piece(const std::string& text) : text_(text) {}
  text_piece(const char* text) : text_(text == nullptr ? std::string_view() : text) {}
  text_piece(char c) : text_(digits_.data(), 1) { digits_[0] = c; }
  text_piece(bool value) : text_(value ? "1" : "0") {}
  text_piece(int number) { write(static_cast<int64_t>(number)); }
  text_piece(long number) { write(static_cast<int64_t>(number)); }
  text_piece(long long number) { write(static_cast<int64_t>(number)); }
  text_piece(unsigned number) { write(static_cast<uint64_t>(number)); }
  text_piece(unsigned long number) { write(static_cast<uint64_t>(number)); }
  text_piece(unsigned long long number) { write(static_cast<uint64_t>(number)); }
  // At most six significant digits, as with printf's %g.
  text_piece(double number) { write(number); }
  text_piece(Hex number) { write(number); }
  // Without this overload a pointer would convert to bool.
  text_piece(const void*) = delete;
  text_piece(const text_piece&) = delete;
  text_piece& operator=(const text_piece&) = delete;

  std::string_view text() const { return text_; }

 private:
  template <class... Number>
  void write_digits(Number... number);
  void write(int64_t number);
  void write(uint64_t number);
  void write(double number);
  void write(Hex number);

  std::array<char, 32> digits_;
  std::string_view text_;
};

void append_texts(std::string* to, std::initializer_list<std::string_view> texts);

}  // namespace internal

// Appends texts, characters, numbers and bools (as 0 or 1) in order.
template <class... Pieces>
void StrAppend(std::string* to, const Pieces&... pieces) {
  internal::append_texts(to, {internal::text_piece(pieces).text()...});
}

template <class... Pieces>
[[nodiscard]] std::string StrCat(const Pieces&... pieces) {
  std::string text;
  internal::append_texts(&text, {internal::text_piece(pieces).text()...});
  return text;
}

// Joins the elements, each formatted as by StrCat, with the separator between them.
template <class Range>
[[nodiscard]] std::string StrJoin(const Range& range, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& element : range) {
    if (!first) text.append(separator);
    first = false;
    StrAppend(&text, element);
  }
  return text;
}

// Argument of StrSplit that omits empty pieces.
struct SkipEmpty {};

// Splits at the delimiters. Returns at least one piece, unless SkipEmpty is passed. The pieces
// refer to the text.
[[nodiscard]] std::vector<std::string_view> StrSplit(std::string_view text, char delimiter);
[[nodiscard]] std::vector<std::string_view> StrSplit(std::string_view text, char delimiter,
                                                     SkipEmpty);
// Deleted because the pieces would outlive a temporary text.
template <class T, class... Rest, class = std::enable_if_t<std::is_same_v<T, std::string>>>
void StrSplit(T&& temporary, Rest...) = delete;

[[nodiscard]] constexpr bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
[[nodiscard]] constexpr bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}
[[nodiscard]] constexpr bool StrContains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
[[nodiscard]] constexpr bool StrContains(std::string_view text, char c) {
  return text.find(c) != std::string_view::npos;
}

// Removes the prefix or suffix if the text has it. Returns whether the text had it.
bool ConsumePrefix(std::string_view* text, std::string_view prefix);
bool ConsumeSuffix(std::string_view* text, std::string_view suffix);

[[nodiscard]] std::string_view StripAsciiWhitespace(std::string_view text);

constexpr bool ascii_isdigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool ascii_isspace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr char ascii_tolower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr char ascii_toupper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
constexpr bool ascii_isalnum(char c) {
  return ascii_isdigit(c) || (ascii_tolower(c) >= 'a' && ascii_tolower(c) <= 'z');
}

[[nodiscard]] std::string AsciiStrToUpper(std::string_view text);
[[nodiscard]] bool EqualsIgnoreCase(std::string_view a, std::string_view b);

// Escapes the bytes for a C string literal: \n, \", \\ and so on, and \x with two hexadecimal
// digits for other bytes that are not printable ASCII.
[[nodiscard]] std::string CHexEscape(std::string_view bytes);
// The text as a JSON string, with its quotation marks.
[[nodiscard]] std::string JsonQuote(std::string_view text);
// Formats each byte as two lower-case hexadecimal digits.
[[nodiscard]] std::string BytesToHexString(std::string_view bytes);

// A hash of the bytes that is equal in all processes (FNV-1a). Not for bytes from an attacker.
[[nodiscard]] constexpr uint64_t Fnv1a(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

namespace internal {
// Removes surrounding white space, and one "+" in front of a digit or point.
std::string_view strip_for_number(std::string_view text);

template <class T>
bool parse_whole(std::string_view text, T* value) {
  const std::string_view number = strip_for_number(text);
  T parsed = 0;
  const char* const end = number.data() + number.size();
  const std::from_chars_result result = std::from_chars(number.data(), end, parsed);
  if (number.empty() || result.ec != std::errc() || result.ptr != end) return false;
  *value = parsed;
  return true;
}
}  // namespace internal

// Parses a text that is one number in the range of the type, with optional surrounding white space.
// Leaves *value unchanged if the text is no such number.
template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
[[nodiscard]] bool SimpleAtoi(std::string_view text, Integer* value) {
  return internal::parse_whole(text, value);
}
[[nodiscard]] bool SimpleAtod(std::string_view text, double* value);

}  // namespace lci::base

#endif  // LCI_BASE_STRINGS_H_
