#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lct/lct.h"
#include "lct/output_file.h"

LCT_log_ctx_t LCT_log_ctx_default = nullptr;

namespace {

const char* or_empty(const char* text) { return text == nullptr ? "" : text; }

// Never changes, except for the content of the file.
struct log_context {
  std::string name;
  std::vector<std::string> levels;
  int shown_level;
  std::string whitelist;  // empty: shows every tag
  std::string blacklist;  // empty: hides no tag
  lct::output_file file;
  LCT_time_t begin;

  bool shows(int level, const char* tag) const {
    return level <= shown_level &&
           (whitelist.empty() || whitelist.find(tag) != std::string::npos) &&
           (blacklist.empty() || blacklist.find(tag) == std::string::npos);
  }
};

// Returns the context that a null context represents.
const log_context& default_context() {
  if (LCT_log_ctx_default != nullptr) return *static_cast<log_context*>(LCT_log_ctx_default);
  // Never destroyed: destructors of other static objects may log.
  static const auto* const before_init =
      new log_context{"lct",        {"error", "warn", "diag", "info", "debug", "trace"},
                      LCT_LOG_WARN, "",
                      "",           {nullptr, "lct"},
                      LCT_now()};
  return *before_init;
}

const log_context& context_of(LCT_log_ctx_t log_ctx) {
  return log_ctx == nullptr ? default_context() : *static_cast<log_context*>(log_ctx);
}

__attribute__((format(printf, 2, 0))) void append_formatted(std::string* text, const char* format,
                                                            va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, copy);
  va_end(copy);
  if (length < 0) {
    *text += "(the message cannot be formatted: ";
    *text += format;
    *text += ")\n";
    return;
  }
  const size_t begin = text->size();
  text->resize(begin + static_cast<size_t>(length) + 1);
  std::vsnprintf(&(*text)[begin], static_cast<size_t>(length) + 1, format, arguments);
  text->pop_back();
}

__attribute__((format(printf, 2, 3))) void append(std::string* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  append_formatted(text, format, arguments);
  va_end(arguments);
}

int find_level(const std::vector<std::string>& levels, const char* name, int default_level,
               const char* context) {
  if (*or_empty(name) == '\0') return default_level;
  std::string known;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] == name) return static_cast<int>(i);
    known += (i == 0 ? "" : ", ") + levels[i];
  }
  std::fprintf(stderr, "%s: the log level '%s' is unknown and ignored; the levels are %s\n",
               context, name, known.c_str());
  return default_level;
}

}  // namespace

LCT_log_ctx_t LCT_log_ctx_alloc(const char* const log_levels_[], int count, int default_log_level,
                                const char* ctx_name, char* filename, char* log_level_str,
                                char* whitelist, char* blacklist) {
  LCT_Assert(LCT_log_ctx_default, log_levels_ != nullptr || count == 0,
             "log_levels_, the names of %d levels, is null\n", count);
  LCT_Assert(LCT_log_ctx_default, count >= 0, "count, the number of levels, is %d\n", count);
  std::vector<std::string> levels;
  for (int i = 0; i < count; ++i) {
    LCT_Assert(LCT_log_ctx_default, log_levels_[i] != nullptr, "the name of level %d is null\n", i);
    levels.emplace_back(log_levels_[i]);
  }
  const char* const name = or_empty(ctx_name);
  const int level = find_level(levels, log_level_str, default_log_level, name);
  return new log_context{name,
                         std::move(levels),
                         level,
                         or_empty(whitelist),
                         or_empty(blacklist),
                         {filename, name},
                         LCT_now()};
}

void LCT_log_ctx_free(LCT_log_ctx_t* log_ctx_p) {
  if (log_ctx_p == nullptr || *log_ctx_p == nullptr) {
    LCT_Warn(LCT_log_ctx_default, "the log context to be freed is null\n");
    return;
  }
  delete static_cast<log_context*>(*log_ctx_p);
  *log_ctx_p = nullptr;
}

int LCT_log_get_level(LCT_log_ctx_t log_ctx) { return context_of(log_ctx).shown_level; }

void LCT_Report_false_assert(LCT_log_ctx_t log_ctx, const char* expr_str, const char* file,
                             const char* func, int line, const char* format, ...) {
  std::string text;
  append(&text, "%d:%d:%d:%s:%s:%d<%s:Assert failed: %s> ", LCT_get_rank(), ::getpid(),
         LCT_get_thread_id(), file, func, line, context_of(log_ctx).name.c_str(), expr_str);
  va_list arguments;
  va_start(arguments, format);
  append_formatted(&text, format, arguments);
  va_end(arguments);
  const char* const aborts = std::getenv("LCT_ABORT_ON_ASSERT");
  if (aborts == nullptr || std::strcmp(aborts, "1") != 0) throw std::runtime_error(text);
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

void LCT_Logv_(LCT_log_ctx_t log_ctx, int log_level, const char* log_tag, const char* file,
               const char* func, int line, const char* format, va_list vargs) {
  const log_context& context = context_of(log_ctx);
  LCT_Assert(log_ctx, static_cast<size_t>(log_level) < context.levels.size(),
             "the log level %d of %s:%d is not one of the %zu levels of the context\n", log_level,
             file, line, context.levels.size());
  if (!context.shows(log_level, log_tag)) return;
  std::string text;
  append(&text, "%d:%s:%d:%d:%.3f:%s:%s:%d<%s:%s:%s> ", LCT_get_rank(), LCT_hostname, ::getpid(),
         LCT_get_thread_id(), LCT_time_to_s(LCT_now() - context.begin), file, func, line,
         context.name.c_str(), context.levels[static_cast<size_t>(log_level)].c_str(), log_tag);
  append_formatted(&text, format, vargs);
  std::fwrite(text.data(), 1, text.size(), context.file.stream());
}

void LCT_Log_(LCT_log_ctx_t log_ctx, int log_level, const char* log_tag, const char* file,
              const char* func, int line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  LCT_Logv_(log_ctx, log_level, log_tag, file, func, line, format, arguments);
  va_end(arguments);
}

void LCT_Log_flush(LCT_log_ctx_t log_ctx) { std::fflush(context_of(log_ctx).file.stream()); }
