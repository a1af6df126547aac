#include "examples/kmer/records.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kmer {
namespace {

constexpr uint8_t gap = 4;  // N
constexpr uint8_t invalid = 5;

constexpr std::array<uint8_t, 256> make_codes() {
  std::array<uint8_t, 256> codes{};
  for (uint8_t& code : codes) code = invalid;
  codes['A'] = codes['a'] = 0;
  codes['C'] = codes['c'] = 1;
  codes['G'] = codes['g'] = 2;
  codes['T'] = codes['t'] = 3;
  codes['N'] = codes['n'] = gap;
  return codes;
}
constexpr std::array<uint8_t, 256> codes = make_codes();

uint8_t code_of(char letter) { return codes[static_cast<uint8_t>(letter)]; }

std::string quoted(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return std::isprint(byte) ? absl::StrCat("'", std::string(1, letter), "'")
                            : absl::StrFormat("byte 0x%02x", byte);
}

// Appends the bases text[from, to).
void append_bases(absl::string_view text, size_t from, size_t to, packed_reads* reads) {
  for (size_t i = from; i < to; ++i) {
    const uint8_t code = code_of(text[i]);
    if (code < gap) {
      reads->push(code);
    } else if (code == gap) {
      reads->cut();
    } else {
      throw text_error(
          i, absl::StrCat(quoted(text[i]), " is not a base: only A, C, G, T and N are allowed"));
    }
  }
}

// Where the line that `from` is in ends: at its '\n' or at the end of the text.
size_t line_end(absl::string_view text, size_t from) {
  const void* found = std::memchr(text.data() + from, '\n', text.size() - from);
  return found == nullptr ? text.size()
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

// The same without a '\r' before it.
size_t content_end(absl::string_view text, size_t from, size_t end) {
  return end > from && text[end - 1] == '\r' ? end - 1 : end;
}

// Where a FASTA piece begins: the state of the reader there.
struct fasta_state {
  bool in_header = false;
  size_t header_begin = 0;
  bool at_line_start = true;
  std::string recent;  // codes of the bases since the last header or gap
};

fasta_state read_context(absl::string_view context) {
  fasta_state state;
  for (size_t i = 0; i < context.size(); ++i) {
    const char letter = context[i];
    if (letter == '\n') {
      state.at_line_start = true;
      state.in_header = false;
      continue;
    }
    if (state.at_line_start && letter == '>') {
      state.in_header = true;
      state.header_begin = i;
      state.recent.clear();
    }
    state.at_line_start = false;
    if (state.in_header || letter == '\r') continue;
    const uint8_t code = code_of(letter);
    if (code < gap) {
      state.recent.push_back(static_cast<char>(code));
    } else {
      state.recent.clear();
    }
  }
  return state;
}

}  // namespace

void parse_fasta(absl::string_view text, size_t begin, int k, packed_reads* reads,
                 read_counts* counts) {
  const fasta_state state = read_context(text.substr(0, begin));
  size_t pos = begin;
  size_t header_begin = state.header_begin;
  bool in_header = state.in_header;
  const size_t kept = std::min(state.recent.size(), static_cast<size_t>(k - 1));
  for (size_t i = state.recent.size() - kept; i < state.recent.size(); ++i) {
    reads->push(static_cast<unsigned>(state.recent[i]));
  }
  bool at_line_start = state.at_line_start;
  while (pos < text.size()) {
    const size_t end = line_end(text, pos);
    if (at_line_start && text[pos] == '>') {
      reads->cut();
      ++counts->reads;
      in_header = true;
      header_begin = pos;
    }
    if (in_header) {
      if (end - header_begin > max_header_bytes) {
        throw text_error(header_begin,
                         absl::StrCat("the header is longer than ", max_header_bytes, " bytes"));
      }
    } else {
      const size_t bases_end = content_end(text, pos, end);
      append_bases(text, pos, bases_end, reads);
      counts->bases += bases_end - pos;
    }
    in_header = false;
    at_line_start = true;
    pos = end + 1;
  }
  reads->cut();
}

void parse_fastq(absl::string_view text, packed_reads* reads, read_counts* counts) {
  size_t pos = 0;
  while (pos < text.size()) {
    const size_t header_end = line_end(text, pos);
    if (content_end(text, pos, header_end) == pos) {  // an empty line between records
      pos = header_end + 1;
      continue;
    }
    if (text[pos] != '@') {
      throw text_error(pos, absl::StrCat("a record must begin with '@', not ", quoted(text[pos])));
    }
    const auto next_line = [&](size_t end, absl::string_view missing) {
      if (end >= text.size()) {
        throw text_error(pos,
                         absl::StrCat("the record is cut short: its ", missing, " is missing"));
      }
      return end + 1;
    };
    const size_t bases = next_line(header_end, "sequence");
    const size_t bases_line_end = line_end(text, bases);
    const size_t plus = next_line(bases_line_end, "'+' line");
    const size_t bases_end = content_end(text, bases, bases_line_end);
    append_bases(text, bases, bases_end, reads);
    reads->cut();
    if (plus == text.size()) next_line(plus, "'+' line");
    if (text[plus] != '+') {
      throw text_error(plus, absl::StrCat("the third line of a record must begin with '+', not ",
                                          quoted(text[plus]), "; a record has four lines"));
    }
    const size_t quality = next_line(line_end(text, plus), "quality line");
    const size_t quality_line_end = line_end(text, quality);
    const size_t quality_bytes = content_end(text, quality, quality_line_end) - quality;
    if (quality_bytes != bases_end - bases) {
      const bool cut = quality_line_end == text.size() && quality_bytes < bases_end - bases;
      throw text_error(
          pos, absl::StrCat(cut ? "the record is cut short: " : "", "it has ", bases_end - bases,
                            " bases but ", quality_bytes, " quality values"));
    }
    ++counts->reads;
    counts->bases += bases_end - bases;
    pos = quality_line_end + 1;
  }
}

size_t find_fastq_record(absl::string_view text, size_t from, bool at_end) {
  const size_t unknown = at_end ? text.size() : absl::string_view::npos;
  size_t pos = from;
  if (pos > 0 && text[pos - 1] != '\n') pos = line_end(text, pos) + 1;
  while (pos < text.size()) {
    const size_t first = line_end(text, pos);
    if (first == text.size()) return unknown;
    if (text[pos] == '@') {
      const size_t second = line_end(text, first + 1);
      if (second + 1 >= text.size()) {
        if (!at_end) return unknown;
      } else if (text[second + 1] == '+') {
        return pos;
      }
    }
    pos = first + 1;
  }
  return unknown;
}

absl::string_view complete_fastq_records(absl::string_view text) {
  size_t pos = 0;
  while (pos < text.size()) {
    size_t end = line_end(text, pos);
    if (content_end(text, pos, end) != pos) {
      if (text[pos] != '@') return text;
      for (int line = 1; line < 4 && end < text.size(); ++line) end = line_end(text, end + 1);
    }
    if (end >= text.size()) break;
    pos = end + 1;
  }
  return text.substr(0, pos);
}

}  // namespace kmer
