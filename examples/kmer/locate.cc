#include "examples/kmer/locate.h"

#include <algorithm>
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
      end_line();
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

  // `letter` is the byte asked for; everything before has been stepped over.
  std::string describe(char letter) {
    step(letter);
    std::string place = absl::StrCat("record ", records_);
    if (!name_.empty()) absl::StrAppend(&place, " (", name_, ")");
    absl::StrAppend(&place, ", line ", line_);
    if (kind_ == kind::bases && letter != '\n') absl::StrAppend(&place, ", base ", bases_);
    return place;
  }

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
  void end_line() { at_line_start_ = true; }

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
  for (;;) {
    const size_t n = stream.read(block.data(), block.size());
    if (offset < n) {
      for (size_t i = 0; i < offset; ++i) state.step(block[i]);
      return state.describe(block[static_cast<size_t>(offset)]);
    }
    for (size_t i = 0; i < n; ++i) state.step(block[i]);
    if (n == 0) return state.describe('\n');
    offset -= n;
  }
}

}  // namespace kmer
