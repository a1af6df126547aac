#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>

#include "lct/lct.h"

namespace {

// Never destroyed, as a static object of the program may call LCT_fina in its destructor.
std::mutex& init_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}
int inits = 0;

}  // namespace

void LCT_init() {
  const std::lock_guard<std::mutex> lock(init_mutex());
  if (inits++ > 0) return;
  std::memset(LCT_hostname, 0, sizeof(LCT_hostname));
  // Keep the last byte zero: gethostname need not terminate a long name.
  if (::gethostname(LCT_hostname, sizeof(LCT_hostname) - 1) != 0) {
    std::strcpy(LCT_hostname, "unknown");
  }
  const char* const levels[LCT_LOG_MAX] = {"error", "warn", "diag", "info", "debug", "trace"};
  LCT_log_ctx_default =
      LCT_log_ctx_alloc(levels, static_cast<int>(std::size(levels)), LCT_LOG_WARN, "lct",
                        std::getenv("LCT_LOG_OUTFILE"), std::getenv("LCT_LOG_LEVEL"),
                        std::getenv("LCT_LOG_WHITELIST"), std::getenv("LCT_LOG_BLACKLIST"));
}

void LCT_fina() {
  const std::lock_guard<std::mutex> lock(init_mutex());
  if (inits == 0) {
    std::fprintf(stderr, "LCT_fina was called more often than LCT_init\n");
    return;
  }
  if (--inits == 0) LCT_log_ctx_free(&LCT_log_ctx_default);
}
