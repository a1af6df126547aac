#include "examples/kmer/input.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "examples/kmer/locate.h"

namespace kmer {
namespace {

// No FASTQ record is longer; the search for the next one gives up after this.
constexpr size_t max_record_bytes = size_t{64} << 20;
// Bytes that are read beyond a chunk. The record that crosses the end of the chunk usually ends
// within them.
constexpr size_t slack_bytes = 16 * 1024;

// A window on a plain file that grows at its end.
class file_window {
 public:
  file_window(const input_descriptor& file, uint64_t base, std::string* text)
      : file_(file), base_(base), text_(text) {
    text_->clear();
  }

  // Makes the window reach up to `end`, or to the end of the file.
  void extend_to(uint64_t end) {
    end = std::min(end, file_.size());
    const size_t old = text_->size();
    if (base_ + old >= end) return;
    text_->resize(static_cast<size_t>(end - base_));
    const size_t n = file_.read_at(base_ + old, &(*text_)[old], text_->size() - old);
    if (old + n < text_->size()) {
      throw input_error(absl::StrCat(file_.path(), ": became shorter while it was read"));
    }
  }

  // Where in the window the first FASTQ record at or after `from` of the file begins.
  size_t find_record(uint64_t from) {
    for (size_t more = slack_bytes;; more *= 2) {
      extend_to(from + more);
      const bool at_end = base_ + text_->size() == file_.size();
      const size_t found = find_fastq_record(*text_, static_cast<size_t>(from - base_), at_end);
      if (found != std::string::npos) return found;
      if (more > max_record_bytes) {
        throw input_error(absl::StrCat(file_.path(),
                                       ": no FASTQ record of four lines begins in the ", more >> 20,
                                       " MiB after byte ", from));
      }
    }
  }

 private:
  const input_descriptor& file_;
  const uint64_t base_;
  std::string* text_;
};

// Removes the beginning of a context that may lie inside a header, unless it begins the file. If it
// has no line end, it is longer than any header, hence bases.
size_t context_begin(absl::string_view context) {
  const size_t line_end = context.find('\n');
  return line_end == absl::string_view::npos ? 0 : line_end + 1;
}

}  // namespace

std::vector<input_file> examine(const std::vector<std::string>& paths) {
  std::vector<input_file> files;
  for (const std::string& path : paths) {
    byte_stream stream(path);
    input_file file;
    file.path = path;
    file.gzip = stream.is_gzip();
    file.size = stream.file_size();
    char first = 0;
    if (stream.read(&first, 1) == 1) {
      if (first != '>' && first != '@') {
        throw input_error(absl::StrCat(path, ": is neither FASTA nor FASTQ: its ",
                                       file.gzip ? "inflated " : "",
                                       "text must begin with '>' or '@'"));
      }
      file.format = first == '>' ? text_format::fasta : text_format::fastq;
    }
    files.push_back(std::move(file));
  }
  return files;
}

uint64_t estimate_bases(const std::vector<input_file>& files) {
  uint64_t bases = 0;
  for (const input_file& file : files) {
    uint64_t text = file.size;
    if (file.gzip) text *= 4;
    bases += file.format == text_format::fastq ? text / 2 : text;
  }
  return bases;
}

struct input::stream {
  stream(size_t index, const input_file& description) : file(index), about(description) {}

  std::mutex mutex;
  const size_t file;
  const input_file& about;
  std::atomic<bool> ended{false};
  // Below: under the mutex.
  std::unique_ptr<byte_stream> bytes;  // opened by the first to come
  uint64_t offset = 0;                 // of the next byte to inflate, in the text
  uint64_t reported = 0;               // bytes of the file that count as done
  std::string carry;  // the end of the last block: context, or the begin of a record
};

input::input(std::vector<input_file> files, int rank, int ranks, size_t chunk_bytes)
    : files_(std::move(files)), chunk_bytes_(chunk_bytes) {
  uint64_t chunk_turn = 0;
  uint64_t stream_turn = 0;
  const auto mine = [&](uint64_t turn) {
    return turn % static_cast<uint64_t>(ranks) == static_cast<uint64_t>(rank);
  };
  descriptors_.resize(files_.size());
  for (size_t i = 0; i < files_.size(); ++i) {
    const input_file& file = files_[i];
    if (file.format == text_format::empty) continue;
    if (file.gzip) {
      if (!mine(stream_turn++)) continue;
      streams_.push_back(std::make_unique<stream>(i, file));
      total_bytes_ += file.size;
      continue;
    }
    const uint64_t count = (file.size + chunk_bytes_ - 1) / chunk_bytes_;
    for (uint64_t number = 0; number < count; ++number) {
      if (!mine(chunk_turn++)) continue;
      if (descriptors_[i] == nullptr) {
        descriptors_[i] = std::make_unique<input_descriptor>(file.path);
      }
      chunks_.push_back({i, number});
      total_bytes_ += std::min<uint64_t>(chunk_bytes_, file.size - number * chunk_bytes_);
    }
  }
}

input::~input() = default;

input::answer input::next(text_unit* unit) {
  bool busy = false;
  // Streams first: they are the long pieces.
  for (std::unique_ptr<stream>& from : streams_) {
    if (from->ended) continue;
    const std::unique_lock<std::mutex> lock(from->mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
      busy = true;
      continue;
    }
    if (!from->ended && next_block(from.get(), unit)) return answer::unit;
  }
  const size_t i = next_chunk_.fetch_add(1, std::memory_order_relaxed);
  if (i >= chunks_.size()) return busy ? answer::busy : answer::end;
  const chunk& part = chunks_[i];
  done_bytes_ +=
      std::min<uint64_t>(chunk_bytes_, files_[part.file].size - part.number * chunk_bytes_);
  load_chunk(part, unit);
  return answer::unit;
}

void input::load_chunk(const chunk& part, text_unit* unit) const {
  const input_descriptor& file = *descriptors_[part.file];
  const uint64_t begin = part.number * chunk_bytes_;
  const uint64_t end = std::min<uint64_t>(begin + chunk_bytes_, file.size());
  unit->file = part.file;
  if (files_[part.file].format == text_format::fasta) {
    // One more than a header may have, so that the line end before it is seen.
    const uint64_t base = begin - std::min<uint64_t>(begin, max_header_bytes + 1);
    file_window window(file, base, &unit->text);
    window.extend_to(end);
    unit->begin = static_cast<size_t>(begin - base);
    unit->offset = base;
    if (base == 0) return;
    const size_t drop = context_begin(absl::string_view(unit->text).substr(0, unit->begin));
    unit->text.erase(0, drop);
    unit->begin -= drop;
    unit->offset += drop;
    return;
  }
  const uint64_t base = begin == 0 ? 0 : begin - 1;  // to see whether a line ends there
  file_window window(file, base, &unit->text);
  window.extend_to(end + slack_bytes);
  const size_t first = window.find_record(begin);
  const size_t last =
      end == file.size() ? static_cast<size_t>(end - base) : window.find_record(end);
  unit->text.resize(last);
  unit->text.erase(0, begin == 0 ? 0 : first);
  unit->begin = 0;
  unit->offset = base + (begin == 0 ? 0 : first);
}

bool input::next_block(stream* from, text_unit* unit) {
  if (from->bytes == nullptr) from->bytes = std::make_unique<byte_stream>(from->about.path);
  const bool fasta = from->about.format == text_format::fasta;
  std::string& text = unit->text;
  text = from->carry;
  unit->file = from->file;
  unit->offset = from->offset - text.size();
  unit->begin = fasta ? text.size() : 0;
  // A FASTQ record longer than the block is inflated on until it is whole.
  for (;;) {
    const size_t old = text.size();
    text.resize(old + chunk_bytes_);
    const size_t n = from->bytes->read(&text[old], chunk_bytes_);
    text.resize(old + n);
    from->offset += n;
    from->carry.clear();
    if (n < chunk_bytes_) {
      from->ended = true;
      break;
    }
    if (fasta) {
      const size_t keep = std::min(text.size(), max_header_bytes + 1);
      absl::string_view context = absl::string_view(text).substr(text.size() - keep);
      if (keep < text.size()) context.remove_prefix(context_begin(context));
      from->carry = std::string(context);
      break;
    }
    const size_t whole = complete_fastq_records(text).size();
    if (whole > 0) {
      from->carry = text.substr(whole);
      text.resize(whole);
      break;
    }
    if (text.size() > max_record_bytes) {
      throw input_error(absl::StrCat(
          from->about.path, ": no FASTQ record of four lines ends in the ", text.size() >> 20,
          " MiB after byte ", unit->offset, " of the inflated text"));
    }
  }
  const uint64_t position = from->ended ? from->about.size : from->bytes->position();
  done_bytes_ += position - from->reported;
  from->reported = position;
  if (text.size() == unit->begin) return false;
  return true;
}

void input::parse(const text_unit& unit, int k, packed_reads* reads, read_counts* counts) const {
  const input_file& file = files_[unit.file];
  try {
    if (file.format == text_format::fasta) {
      parse_fasta(unit.text, unit.begin, k, reads, counts);
    } else {
      parse_fastq(unit.text, reads, counts);
    }
  } catch (const text_error& error) {
    throw input_error(absl::StrCat(file.path, ": ",
                                   locate(file.path, file.format, unit.offset + error.offset()),
                                   ": ", error.what()));
  }
}

}  // namespace kmer
