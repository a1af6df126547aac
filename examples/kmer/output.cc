#include "examples/kmer/output.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace kmer {

output_file::output_file(const std::string& path)
    : path_(path == "-" ? "standard output" : path),
      file_(path == "-" ? stdout : std::fopen(path.c_str(), "we")) {
  if (file_ == nullptr) fail("can't be opened for writing");
}

output_file::~output_file() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void output_file::write(absl::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail("can't be written");
}

void output_file::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::FILE* const file = file_;
  file_ = nullptr;
  if ((file == stdout ? std::fflush(file) : std::fclose(file)) != 0) fail("can't be written");
}

void output_file::fail(const char* what) const {
  throw output_error(absl::StrCat(path_, ": ", what, ": ", std::strerror(errno)));
}

std::string histogram::text() const {
  std::string lines;
  for (size_t count = 0; count < bins_.size(); ++count) {
    if (bins_[count] != 0) absl::StrAppend(&lines, count, " ", bins_[count], "\n");
  }
  return lines;
}

}  // namespace kmer
