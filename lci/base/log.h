// Log lines on standard error.
//
//   LCI_LOG(warn, "rank ", r, " did not answer for ", ms, " ms");
//
// The environment variable LCI_LOG_LEVEL=none|error|warn|info|debug selects what is shown (default
// warn). Each call is one write(2), so that lines of several threads and ranks do not mix.
//
// Thread safety: any thread at any time.
#ifndef LCI_BASE_LOG_H_
#define LCI_BASE_LOG_H_

#include <atomic>
#include <string_view>

#include "lci/base/strings.h"

namespace lci::base {

enum class log_level : int { none, error, warn, info, debug };

namespace internal {
constexpr int log_level_unread = -1;
extern std::atomic<int> log_threshold;  // a log_level, or log_level_unread
log_level read_log_threshold();
}  // namespace internal

// Whether a line of this level would be shown. One relaxed load once the environment is read.
inline bool log_enabled(log_level level) {
  int threshold = internal::log_threshold.load(std::memory_order_relaxed);
  if (threshold == internal::log_level_unread) {
    threshold = static_cast<int>(internal::read_log_threshold());
  }
  return static_cast<int>(level) <= threshold;
}

// Overrides the environment.
void set_log_level(log_level level);

// Begins all later lines with "lci[rank N]" instead of "lci".
void set_log_rank(int rank);

// Writes one line regardless of the level; use LCI_LOG instead. A failed write is ignored.
void log_line(log_level level, std::string_view message);

}  // namespace lci::base

// The pieces are arguments of StrCat and are evaluated only if the line is shown.
#define LCI_LOG(level, ...)                                                                   \
  do {                                                                                        \
    if (::lci::base::log_enabled(::lci::base::log_level::level)) {                            \
      ::lci::base::log_line(::lci::base::log_level::level, ::lci::base::StrCat(__VA_ARGS__)); \
    }                                                                                         \
  } while (false)

#endif  // LCI_BASE_LOG_H_
