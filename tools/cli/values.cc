// The kinds of values.
#include <charconv>

#include "tools/cli/cli.h"

namespace lci::cli {
namespace {

constexpr size_t max_size = size_t{1} << 30;
constexpr std::string_view units = "KMG";

// 0 for a text without one.
unsigned shift_of_suffix(std::string_view text) {
  if (text.empty()) return 0;
  const char last = text.back();
  const char upper = last >= 'a' && last <= 'z' ? static_cast<char>(last - 'a' + 'A') : last;
  const size_t unit = units.find(upper);
  return unit == units.npos ? 0 : static_cast<unsigned>(10 * (unit + 1));
}

bool read_bytes(std::string_view text, uint64_t low, uint64_t high, uint64_t* to) {
  const unsigned shift = shift_of_suffix(text);
  if (shift > 0) text.remove_suffix(1);
  uint64_t number = 0;
  if (!read_number(text, 0, high >> shift, &number) || number << shift < low) return false;
  *to = number << shift;
  return true;
}

// With the largest unit that divides the number.
std::string bytes_text(uint64_t number) {
  size_t unit = 0;
  while (number > 0 && number % 1024 == 0 && unit < units.size()) {
    number /= 1024;
    ++unit;
  }
  return std::to_string(number) + (unit > 0 ? std::string(1, units[unit - 1]) : "");
}

std::string real_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

bool is_power_of_two(uint64_t number) { return number > 0 && (number & (number - 1)) == 0; }

// Calls read for the text, or for both sides of its colon.
template <class Read>
bool read_ends(std::string_view text, const Read& read, uint64_t* from, uint64_t* to) {
  const size_t colon = text.find(':');
  if (!read(text.substr(0, colon), from)) return false;
  if (colon != text.npos) return read(text.substr(colon + 1), to) && *from <= *to;
  *to = *from;
  return true;
}

std::string joined(const std::vector<word_help>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i].name;
  }
  return text;
}

}  // namespace

bool read_number(std::string_view digits, uint64_t low, uint64_t high, uint64_t* to) {
  uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result read = std::from_chars(digits.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < low || number > high) return false;
  *to = number;
  return true;
}

std::vector<size_t> doubling(size_t from, size_t to) {
  std::vector<size_t> sizes;
  for (size_t size = from; size <= to; size *= 2) sizes.push_back(size);
  return sizes;
}

value flag(bool* to) {
  value made;
  made.allowed = "1, 0, true, false, yes, no, on or off";
  made.is_flag = true;
  made.set = [to](std::string_view text) {
    const bool on = text == "1" || text == "true" || text == "yes" || text == "on";
    if (!on && text != "0" && text != "false" && text != "no" && text != "off") return false;
    *to = on;
    return true;
  };
  return made;
}

value real(double low, double high, double* to) {
  value made;
  made.allowed = "a number from " + real_text(low) + " to " + real_text(high);
  made.initial = real_text(*to);
  made.set = [low, high, to](std::string_view text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    // Also false for what is no number.
    if (read.ec != std::errc() || read.ptr != end || !(number >= low && number <= high)) {
      return false;
    }
    *to = number;
    return true;
  };
  return made;
}

value size_range(std::vector<size_t>* to) {
  value made;
  made.allowed =
      "N, or A:B, powers of two with A <= B; bytes, 0 to 1G (A from 1), which K, M or G may follow";
  made.set = [to](std::string_view text) {
    const auto read = [](std::string_view end, uint64_t* size) {
      return read_bytes(end, 0, max_size, size);
    };
    uint64_t first = 0;
    uint64_t last = 0;
    if (!read_ends(text, read, &first, &last)) return false;
    if (text.find(':') == text.npos) {
      *to = {first};
      return true;
    }
    if (!is_power_of_two(first) || !is_power_of_two(last)) return false;
    *to = doubling(first, last);
    return true;
  };
  return made;
}

value number_range(int low, int high, std::vector<int>* to) {
  value made;
  made.allowed =
      "N, or A:B with A <= B, numbers from " + std::to_string(low) + " to " + std::to_string(high);
  made.set = [low, high, to](std::string_view text) {
    const auto read = [low, high](std::string_view end, uint64_t* number) {
      return read_number(end, static_cast<uint64_t>(low), static_cast<uint64_t>(high), number);
    };
    uint64_t first = 0;
    uint64_t last = 0;
    if (!read_ends(text, read, &first, &last)) return false;
    to->clear();
    for (uint64_t one = first; one <= last; ++one) to->push_back(static_cast<int>(one));
    return true;
  };
  return made;
}

value text(std::string* to) {
  value made;
  made.allowed = "a text that is not empty";
  made.initial = *to;
  made.set = [to](std::string_view text) {
    if (!text.empty()) *to = text;
    return !text.empty();
  };
  return made;
}

value list(std::vector<std::string>* to, char separator) {
  value made;
  made.allowed = separator == 0 ? "a text that is not empty"
                                : std::string("texts with \"") + separator + "\" between them";
  made.set = [to, separator](std::string_view text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
      if (separator != 0 && c == separator) {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    for (const std::string& part : parts) {
      if (part.empty()) return false;
    }
    to->insert(to->end(), parts.begin(), parts.end());
    return true;
  };
  return made;
}

namespace internal {

value make_number(uint64_t low, uint64_t high, bool in_bytes, std::optional<uint64_t> initial,
                  store_number store) {
  const auto text_of = [in_bytes](uint64_t number) {
    return in_bytes ? bytes_text(number) : std::to_string(number);
  };
  value made;
  made.allowed = "a number from " + text_of(low) + " to " + text_of(high) +
                 (in_bytes ? ", which K, M or G may follow" : "");
  if (initial) made.initial = text_of(*initial);
  made.set = [=, store = std::move(store)](std::string_view text) {
    uint64_t number = 0;
    if (!(in_bytes ? read_bytes : read_number)(text, low, high, &number)) return false;
    store(number);
    return true;
  };
  return made;
}

value make_choice(std::vector<word_help> words, size_t initial, std::function<void(size_t)> store) {
  value made;
  made.allowed = joined(words);
  if (initial < words.size()) made.initial = words[initial].name;
  made.words = words;
  made.set = [words = std::move(words), store = std::move(store)](std::string_view text) {
    for (size_t place = 0; place < words.size(); ++place) {
      if (words[place].name != text) continue;
      store(place);
      return true;
    }
    return false;
  };
  return made;
}

}  // namespace internal

}  // namespace lci::cli
