#include "tools/launcher/output.h"

#include <limits.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "lci/base/strings.h"
#include "lci/base/system.h"

namespace lci::launcher {

void sink::append(std::string_view bytes) {
  if (closed_ || bytes.empty()) return;
  pending_.append(bytes.data(), bytes.size());
  loop_->change(watched_, POLLOUT);
}

void sink::write_some() {
  const size_t size = std::min<size_t>(pending_.size() - written_, PIPE_BUF);
  const ssize_t n = write(fd_, pending_.data() + written_, size);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  const int error = n < 0 ? errno : 0;
  closed_ = error != 0;
  if (n > 0) written_ += static_cast<size_t>(n);
  if (closed_ || written_ == pending_.size()) {
    pending_.clear();
    written_ = 0;
    loop_->change(watched_, 0);
  } else if (written_ >= limit) {
    pending_.erase(0, written_);
    written_ = 0;
  }
  if (closed_) failed_(error);
}

void line_splitter::flush_line() {
  if (timestamps_) to_->append(timestamp());
  to_->append(prefix_);
  line_.push_back('\n');
  to_->append(line_);
  line_.clear();
}

void line_splitter::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const size_t take = std::min(end, longest_line - line_.size());
    line_.append(bytes.data(), take);
    const bool whole = take == end && end < bytes.size();
    bytes.remove_prefix(take + (whole ? 1 : 0));
    if (whole || line_.size() == longest_line) flush_line();
  }
}

void line_splitter::finish() {
  if (!line_.empty()) flush_line();
}

std::string timestamp() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local = {};
  localtime_r(&now.tv_sec, &local);
  char text[64];
  const size_t size = strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  const std::string thousandths = std::to_string(1000 + now.tv_nsec / 1000000);
  return base::StrCat(std::string_view(text, size), ".", thousandths.substr(1), " ");
}

void say(std::string_view line) {
  base::write_all(STDERR_FILENO, base::StrCat("lcrun: ", line, "\n"));
}

std::string text_of(std::chrono::milliseconds time) {
  return base::StrCat(static_cast<double>(time.count()) / 1000, " s");
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) c = '?';
  }
  return result;
}

base::Status make_output_directory(const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (!error) return base::OkStatus();
  return base::InvalidArgumentError(base::StrCat("--output-dir ", dir, ": ", error.message()));
}

std::string output_file(const std::string& dir, int rank, int stream) {
  return base::StrCat(dir, "/rank.", rank, stream == 1 ? ".stdout" : ".stderr");
}

}  // namespace lci::launcher
