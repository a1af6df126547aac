#include "examples/kmer/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_format.h"

namespace kmer {
namespace {

constexpr size_t width = 40;
constexpr std::chrono::milliseconds interval{100};

}  // namespace

progress_bar::progress_bar(when choice)
    : shown_(choice == when::always || (choice == when::automatic && isatty(STDERR_FILENO) != 0)) {}

std::string progress_bar::line(const std::string& step, uint64_t done, uint64_t total) {
  const double part =
      total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<size_t>(part * static_cast<double>(width));
  return absl::StrFormat("%-8s [%s%s] %3.0f %%", step, std::string(filled, '='),
                         std::string(width - filled, ' '), 100 * part);
}

void progress_bar::update(const std::string& step, uint64_t done, uint64_t total) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + interval;
  drawn_ = true;
  std::fprintf(stderr, "\r%s", line(step, done, total).c_str());
  std::fflush(stderr);
}

void progress_bar::clear() {
  if (!drawn_) return;
  drawn_ = false;
  std::fprintf(stderr, "\r%*s\r", static_cast<int>(line("", 0, 1).size()), "");
  std::fflush(stderr);
}

}  // namespace kmer
