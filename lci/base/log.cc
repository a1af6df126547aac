#include "lci/base/log.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include "lci/base/env.h"
#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"

namespace lci::base {
namespace {

constexpr const char* level_variable = "LCI_LOG_LEVEL";
constexpr enum_name<log_level> level_names[] = {{"none", log_level::none},
                                                {"error", log_level::error},
                                                {"warn", log_level::warn},
                                                {"info", log_level::info},
                                                {"debug", log_level::debug}};

constexpr int no_rank = -1;
std::atomic<int> log_rank{no_rank};

}  // namespace

namespace internal {

std::atomic<int> log_threshold{log_level_unread};

log_level read_log_threshold() {
  // A function-local static, so that the variable is read, and an error reported, once.
  static const log_level level = [] {
    const StatusOr<log_level> requested =
        env_enum<log_level>(level_variable, log_level::warn, level_names);
    if (requested.ok()) return *requested;
    log_line(log_level::warn, StrCat(requested.status().message(), "; continuing with warn"));
    return log_level::warn;
  }();
  int expected = log_level_unread;
  const int value = static_cast<int>(level);
  // An earlier set_log_level takes precedence.
  if (log_threshold.compare_exchange_strong(expected, value, std::memory_order_relaxed)) {
    return level;
  }
  return static_cast<log_level>(expected);
}

}  // namespace internal

void set_log_level(log_level level) {
  internal::log_threshold.store(static_cast<int>(level), std::memory_order_relaxed);
}

void set_log_rank(int rank) { log_rank.store(rank, std::memory_order_relaxed); }

void log_line(log_level level, std::string_view message) {
  const int rank = log_rank.load(std::memory_order_relaxed);
  const std::string origin = rank == no_rank ? "lci " : StrCat("lci[rank ", rank, "] ");
  const std::string line =
      StrCat(origin, level_names[static_cast<int>(level)].name, ": ", message, "\n");
  write_all(STDERR_FILENO, line);
}

}  // namespace lci::base
