// Bit fields at a fixed position in a word, for layouts that cross between ranks, and for words
// that one atomic operation changes. (The position of the compiler's own bit fields is not
// defined.)
#ifndef LCI_BASE_BITS_H_
#define LCI_BASE_BITS_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "lci/base/check.h"

namespace lci::base {

// The field of `Width` bits at bit `Offset` (0 is the least significant) of an unsigned `Word`.
template <unsigned Offset, unsigned Width, class Word = uint64_t>
struct bit_field {
  static_assert(std::is_unsigned_v<Word> && !std::is_same_v<Word, bool>, "unsigned words only");
  static_assert(sizeof(Word) >= sizeof(unsigned), "smaller words would be promoted to int");
  static constexpr unsigned word_bits = std::numeric_limits<Word>::digits;
  static_assert(Width >= 1, "an empty field holds nothing");
  static_assert(Width <= word_bits && Offset <= word_bits - Width, "the field leaves the word");

  using word_type = Word;
  static constexpr unsigned offset = Offset;
  static constexpr unsigned width = Width;
  static constexpr Word max = static_cast<Word>(~Word{0}) >> (word_bits - Width);
  static constexpr Word mask = max << Offset;

  static constexpr bool fits(Word value) { return value <= max; }

  // Returns the value at its position, with zeros elsewhere: combine fields with `|`. The value
  // must fit (asserted in debug builds); a value that does not fit is truncated, so that it never
  // changes a neighbor.
  static constexpr Word encode(Word value) {
    LCI_ASSERT(fits(value), "value ", value, " exceeds ", Width, " bits");
    return (value & max) << Offset;
  }

  static constexpr Word decode(Word word) { return (word >> Offset) & max; }

  // Returns `word` with this field replaced.
  static constexpr Word replace(Word word, Word value) {
    return (word & static_cast<Word>(~mask)) | encode(value);
  }
};

// True if no two of the fields share a bit; for a static_assert next to a layout.
template <class First, class... Rest>
constexpr bool disjoint() {
  using word = typename First::word_type;
  static_assert((std::is_same_v<word, typename Rest::word_type> && ...), "one word type a layout");
  word seen = First::mask;
  bool ok = true;
  ((ok = ok && (seen & Rest::mask) == 0, seen |= Rest::mask), ...);
  return ok;
}

}  // namespace lci::base

#endif  // LCI_BASE_BITS_H_
