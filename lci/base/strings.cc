#include "lci/base/strings.h"

#include <algorithm>
#include <cstring>

namespace lci::base {
namespace internal {

// std::to_chars cannot fail here: the longest text is a double of 13 characters.
template <class... Number>
void text_piece::write_digits(Number... number) {
  char* const end = std::to_chars(digits_.begin(), digits_.end(), number...).ptr;
  text_ = std::string_view(digits_.data(), static_cast<size_t>(end - digits_.data()));
}

void text_piece::write(int64_t number) { write_digits(number); }

void text_piece::write(uint64_t number) { write_digits(number); }

void text_piece::write(double number) {
  constexpr int significant_digits = 6;
  write_digits(number, std::chars_format::general, significant_digits);
}

void text_piece::write(Hex number) {
  constexpr int base = 16;
  constexpr size_t most_digits = 16;
  char* const start = digits_.data() + most_digits;  // the first half is reserved for zeros
  char* const end = std::to_chars(start, digits_.data() + digits_.size(), number.value, base).ptr;
  const auto have = static_cast<size_t>(end - start);
  const size_t width = std::min(static_cast<size_t>(std::max(number.width, 0)), most_digits);
  const size_t zeros = width > have ? width - have : 0;
  std::memset(start - zeros, '0', zeros);
  text_ = std::string_view(start - zeros, zeros + have);
}

void append_texts(std::string* to, std::initializer_list<std::string_view> texts) {
  size_t size = to->size();
  for (const std::string_view text : texts) size += text.size();
  // At least doubled, so that many small appends take linear time.
  if (size > to->capacity()) to->reserve(std::max(size, 2 * to->capacity()));
  for (const std::string_view text : texts) to->append(text);
}

std::string_view strip_for_number(std::string_view text) {
  text = StripAsciiWhitespace(text);
  const bool sign = text.size() > 1 && text[0] == '+' && (ascii_isdigit(text[1]) || text[1] == '.');
  if (sign) text.remove_prefix(1);
  return text;
}

}  // namespace internal

namespace {

std::vector<std::string_view> split(std::string_view text, char delimiter, bool keep_empty) {
  std::vector<std::string_view> pieces;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(delimiter, start), text.size());
    if (keep_empty || end > start) pieces.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return pieces;
}

}  // namespace

std::vector<std::string_view> StrSplit(std::string_view text, char delimiter) {
  return split(text, delimiter, true);
}

std::vector<std::string_view> StrSplit(std::string_view text, char delimiter, SkipEmpty) {
  return split(text, delimiter, false);
}

bool ConsumePrefix(std::string_view* text, std::string_view prefix) {
  if (!StartsWith(*text, prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

bool ConsumeSuffix(std::string_view* text, std::string_view suffix) {
  if (!EndsWith(*text, suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}

std::string_view StripAsciiWhitespace(std::string_view text) {
  while (!text.empty() && ascii_isspace(text.front())) text.remove_prefix(1);
  while (!text.empty() && ascii_isspace(text.back())) text.remove_suffix(1);
  return text;
}

std::string AsciiStrToUpper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), ascii_toupper);
  return upper;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_tolower(x) == ascii_tolower(y); });
}

std::string CHexEscape(std::string_view bytes) {
  std::string text;
  bool after_hex = false;  // a hexadecimal digit would now be read as part of the escape
  for (const char c : bytes) {
    const bool hex_digit = ascii_isdigit(c) || (ascii_tolower(c) >= 'a' && ascii_tolower(c) <= 'f');
    const size_t named = std::string_view("\n\r\t\"'\\").find(c);
    const bool hex =
        named == std::string_view::npos && (c < ' ' || c > '~' || (after_hex && hex_digit));
    if (named != std::string_view::npos) {
      StrAppend(&text, '\\', "nrt\"'\\"[named]);
    } else if (hex) {
      StrAppend(&text, "\\x", Hex(c, 2));
    } else {
      text += c;
    }
    after_hex = hex;
  }
  return text;
}

std::string JsonQuote(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      StrAppend(&json, "\\u", Hex(static_cast<unsigned char>(c), 4));
    } else {
      json += c;
    }
  }
  return json + '"';
}

std::string BytesToHexString(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) StrAppend(&text, Hex(c, 2));
  return text;
}

bool SimpleAtod(std::string_view text, double* value) { return internal::parse_whole(text, value); }

}  // namespace lci::base
