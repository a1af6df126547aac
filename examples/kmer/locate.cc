#include "examples/kmer/locate.h"

#include <cctype>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/kmer/byte_stream.h"

namespace kmer {
namespace {

constexpr size_t block_bytes = 256 * 1024;
constexpr size_t shown_name_bytes = 60;

// Follows the text byte by byte.
class follower {
 public:
  explicit follower(text_format format) : format_(format) {}

  void step(char letter) {
    if (at_line_start_) {
      begin_line(letter);
      at_line_start_ = false;
    }
    if (letter == '\n') {
      at_line_start_ = true;
      return;
    }
    if (kind_ == kind::header && !name_complete_) {
      if (std::isspace(static_cast<unsigned char>(letter)) || name_.size() == shown_name_bytes) {
        name_complete_ = true;
      } else if (letter != '>' && letter != '@') {
        name_.push_back(letter);
      }
    }
    if (kind_ == kind::bases && letter != '\r') ++bases_;
  }

  // The name of the record is not known in full yet.
  bool in_name() const { return kind_ == kind::header && !at_line_start_ && !name_complete_; }

  // The meaning of the last byte.
  std::string place() const {
    std::string text = absl::StrCat("record ", records_, ", line ", line_);
    if (kind_ == kind::bases && !at_line_start_) absl::StrAppend(&text, ", base ", bases_);
    return text;
  }
  const std::string& name() const { return name_; }

 private:
  enum class kind { header, bases, other };

  void begin_line(char letter) {
    ++line_;
    const bool blank = letter == '\n' || letter == '\r';
    if (format_ == text_format::fasta) {
      kind_ = letter == '>' ? kind::header : kind::bases;
    } else if (line_of_record_ == 0 && blank) {
      kind_ = kind::other;
    } else {
      kind_ = line_of_record_ == 0   ? kind::header
              : line_of_record_ == 1 ? kind::bases
                                     : kind::other;
      line_of_record_ = (line_of_record_ + 1) % 4;
    }
    if (kind_ != kind::header) return;
    ++records_;
    bases_ = 0;
    name_.clear();
    name_complete_ = false;
  }

  const text_format format_;
  bool at_line_start_ = true;
  kind kind_ = kind::other;
  int line_of_record_ = 0;
  uint64_t line_ = 0;
  uint64_t records_ = 0;
  uint64_t bases_ = 0;
  std::string name_;
  bool name_complete_ = false;
};

}  // namespace

std::string locate(const std::string& path, text_format format, uint64_t offset) {
  byte_stream stream(path);
  follower state(format);
  std::vector<char> block(block_bytes);
  std::string place;
  uint64_t position = 0;
  for (;;) {
    const size_t n = stream.read(block.data(), block.size());
    for (size_t i = 0; i < n && (place.empty() || state.in_name()); ++i, ++position) {
      state.step(block[i]);
      if (position == offset) place = state.place();
    }
    if (n == 0 && place.empty()) place = state.place();
    if (n == 0 || (!place.empty() && !state.in_name())) break;
  }
  return state.name().empty() ? place : absl::StrCat(place, " (", state.name(), ")");
}

}  // namespace kmer
