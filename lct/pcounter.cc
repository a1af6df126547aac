#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lci/ds/per_thread.h"
#include "lci/ds/spinlock.h"
#include "lct/lct.h"
#include "lct/output_file.h"

namespace {

struct statistics {
  int64_t sum = 0;
  int64_t number = 0;
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;

  void add(int64_t value) {
    sum += value;
    ++number;
    min = value < min ? value : min;
    max = value > max ? value : max;
  }

  void merge(const statistics& other) {
    sum += other.sum;
    number += other.number;
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
  }
};

// One thread's share of a counter.
struct thread_counter {
  statistics values;
  std::vector<LCT_time_t> started;  // unfinished starts of a timer, the latest last
};

// All types except LCT_PCOUNTER_NONE, as an index.
constexpr size_t kinds = 3;
constexpr size_t kind_of(LCT_pcounter_type_t type) { return static_cast<size_t>(type) - 1; }
constexpr size_t counter_kind = kind_of(LCT_PCOUNTER_COUNTER);
constexpr size_t trend_kind = kind_of(LCT_PCOUNTER_TREND);
constexpr size_t timer_kind = kind_of(LCT_PCOUNTER_TIMER);
constexpr const char* kind_names[kinds] = {"counter", "trend", "timer"};

// One thread's share of a context. Only records and dumps compete with that thread for the lock.
struct alignas(LCT_CACHE_LINE) thread_counters {
  lci::ds::spinlock lock;
  std::array<std::vector<thread_counter>, kinds> counters;  // only as many as the thread has used
};

// Settings for dumps, from the environment.
struct dump_settings {
  std::optional<std::string> file;
  uint64_t interval_us = 0;  // 0: no automatic records
  bool on_the_fly = false;
  bool light = false;  // the adding threads record
};

dump_settings read_environment() {
  constexpr uint64_t default_interval_us = 1000000;
  dump_settings settings;
  if (const char* const mode = std::getenv("LCT_PCOUNTER_MODE"); mode != nullptr && *mode != '\0') {
    settings.light = std::strcmp(mode, "on-the-fly-lw") == 0;
    settings.on_the_fly = settings.light || std::strcmp(mode, "on-the-fly") == 0;
    if (settings.on_the_fly) {
      settings.file = std::string("lct_pcounter.") + LCT_hostname + ".%.out";
    } else {
      LCT_Warn(LCT_log_ctx_default,
               "LCT_PCOUNTER_MODE=%s is ignored; it may be on-the-fly or on-the-fly-lw\n", mode);
    }
  }
  if (const char* const file = std::getenv("LCT_PCOUNTER_AUTO_DUMP");
      file != nullptr && *file != '\0') {
    settings.file = file;
  }
  if (std::getenv("LCT_PCOUNTER_DUMP_ON_THE_FLY") != nullptr) settings.on_the_fly = true;
  if (std::getenv("LCT_PCOUNTER_DUMP_ON_THE_FLY_LW") != nullptr) {
    settings.on_the_fly = true;
    settings.light = true;
  }
  if (settings.on_the_fly) {
    settings.interval_us = default_interval_us;
    if (!settings.file.has_value()) settings.file = "stderr";
  }
  if (const char* const text = std::getenv("LCT_PCOUNTER_RECORD_INTERVAL")) {
    char* end = nullptr;
    const uint64_t interval_us = std::strtoull(text, &end, 10);
    const bool is_number = *text >= '0' && *text <= '9' && *end == '\0';
    // An interval longer than a day is a mistake, and may overflow the clock.
    constexpr uint64_t most_us = uint64_t{24} * 60 * 60 * 1000000;
    if (is_number && interval_us <= most_us) {
      settings.interval_us = interval_us;
    } else {
      LCT_Warn(LCT_log_ctx_default,
               "LCT_PCOUNTER_RECORD_INTERVAL=%s is ignored; it is a number of microseconds, at "
               "most %" PRIu64 "\n",
               text, most_us);
    }
  }
  return settings;
}

// The origin of the times in dumps: the creation of the first context.
LCT_time_t origin() {
  static const LCT_time_t first = LCT_now();
  return first;
}

// Thread safety: as for the functions of lct.h.
//
// Locks: mutex_ before a thread's lock. The values of a thread are protected by its lock, all other
// changing data by mutex_.
class pcounter_context {
 public:
  explicit pcounter_context(const char* name) : name_(name), settings_(read_environment()) {
    origin();
    if (settings_.file.has_value()) file_.emplace(settings_.file->c_str(), name);
    if (settings_.interval_us > 0) timekeeper_ = std::thread([this] { keep_time(); });
  }

  ~pcounter_context() {
    if (timekeeper_.joinable()) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        ends_ = true;
      }
      end_.notify_one();
      timekeeper_.join();
    }
    record();
    if (file_.has_value()) dump(file_->stream());
  }

  int add_counter(const char* name, LCT_pcounter_type_t type) {
    if (type == LCT_PCOUNTER_NONE) return -1;
    LCT_Assert(LCT_log_ctx_default, kind_of(type) < kinds,
               "the performance counter %s has the unknown type %d\n", name,
               static_cast<int>(type));
    const std::lock_guard<std::mutex> lock(mutex_);
    names_[kind_of(type)].emplace_back(name);
    registered_[kind_of(type)].store(names_[kind_of(type)].size(), std::memory_order_release);
    return static_cast<int>(names_[kind_of(type)].size() - 1);
  }

  void add(LCT_pcounter_handle_t handle, int64_t value) {
    if (handle.type == LCT_PCOUNTER_NONE) return;
    thread_counters& mine = of_this_thread();
    {
      const std::lock_guard<lci::ds::spinlock> lock(mine.lock);
      counter_of(&mine, handle).values.add(value);
    }
    if (handle.type == LCT_PCOUNTER_TREND && record_is_due_.load(std::memory_order_relaxed) &&
        record_is_due_.exchange(false)) {
      record();
      dump(file_->stream());
    }
  }

  void start(LCT_pcounter_handle_t handle, LCT_time_t time) {
    if (handle.type == LCT_PCOUNTER_NONE) return;
    check_timer(handle);
    thread_counters& mine = of_this_thread();
    const std::lock_guard<lci::ds::spinlock> lock(mine.lock);
    counter_of(&mine, handle).started.push_back(time);
  }

  void end(LCT_pcounter_handle_t handle, LCT_time_t time) {
    if (handle.type == LCT_PCOUNTER_NONE) return;
    check_timer(handle);
    thread_counters& mine = of_this_thread();
    {
      const std::lock_guard<lci::ds::spinlock> lock(mine.lock);
      thread_counter& timer = counter_of(&mine, handle);
      if (!timer.started.empty()) {
        timer.values.add(time - timer.started.back());
        timer.started.pop_back();
        return;
      }
    }
    LCT_Warn(LCT_log_ctx_default, "%s: the timer %s is ended, but this thread has not started it\n",
             name_.c_str(), name_of(handle).c_str());
  }

  void record() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const LCT_time_t begin = LCT_now();
    records_.push_back({begin, merged(trend_kind)});
    record_time_ += LCT_now() - begin;
  }

  void dump(FILE* out) {
    std::string text;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      text = "pcounter-summary: rank " + std::to_string(LCT_get_rank()) + ", name " + name_ +
             ", total records " + std::to_string(records_.size()) + ", total record time " +
             std::to_string(record_time_) + " ns\n";
      for (const auto& [time, trends] : records_) append_lines(&text, trend_kind, time, trends);
      records_.clear();
      const LCT_time_t now = LCT_now();
      append_lines(&text, counter_kind, now, merged(counter_kind));
      append_lines(&text, timer_kind, now, merged(timer_kind));
    }
    // In a single write, so that the dumps of several ranks do not mix.
    std::fwrite(text.data(), 1, text.size(), out);
    std::fflush(out);
  }

 private:
  struct snapshot {
    LCT_time_t time;
    std::vector<statistics> trends;
  };

  thread_counters& of_this_thread() {
    return threads_.mine([](size_t) { return std::make_unique<thread_counters>(); });
  }

  // The caller holds the thread's lock.
  thread_counter& counter_of(thread_counters* thread, LCT_pcounter_handle_t handle) {
    const size_t kind = kind_of(handle.type);
    LCT_Assert(LCT_log_ctx_default, kind < kinds,
               "%s: a performance counter's handle has the unknown type %d\n", name_.c_str(),
               static_cast<int>(handle.type));
    std::vector<thread_counter>& counters = thread->counters[kind];
    const auto index = static_cast<size_t>(handle.idx);
    if (LCT_unlikely(handle.idx < 0 || index >= counters.size())) {
      const size_t registered = registered_[kind].load(std::memory_order_acquire);
      LCT_Assert(LCT_log_ctx_default, handle.idx >= 0 && index < registered,
                 "%s: the %s %d is not registered in this context, which has %zu\n", name_.c_str(),
                 kind_names[kind], handle.idx, registered);
      counters.resize(registered);
    }
    return counters[index];
  }

  void check_timer(LCT_pcounter_handle_t handle) const {
    LCT_Assert(LCT_log_ctx_default, handle.type == LCT_PCOUNTER_TIMER,
               "%s: only a timer can be started and ended; the type of this handle is %d\n",
               name_.c_str(), static_cast<int>(handle.type));
  }

  std::string name_of(LCT_pcounter_handle_t handle) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return names_[kind_of(handle.type)][static_cast<size_t>(handle.idx)];
  }

  // Returns the combined values of all threads. The caller holds mutex_.
  std::vector<statistics> merged(size_t kind) {
    std::vector<statistics> result(names_[kind].size());
    for (size_t number = 0; number < threads_.size(); ++number) {
      thread_counters* const thread = threads_.find(number);
      if (thread == nullptr) continue;
      const std::lock_guard<lci::ds::spinlock> lock(thread->lock);
      const std::vector<thread_counter>& counters = thread->counters[kind];
      for (size_t i = 0; i < counters.size(); ++i) result[i].merge(counters[i].values);
    }
    return result;
  }

  // The caller holds mutex_.
  void append_lines(std::string* text, size_t kind, LCT_time_t time,
                    const std::vector<statistics>& values) const {
    const auto time_us = static_cast<int64_t>(LCT_time_to_us(time - origin()));
    for (size_t i = 0; i < values.size(); ++i) {
      *text += std::string("pcounter,") + kind_names[kind] + ',' + std::to_string(LCT_get_rank()) +
               ',' + name_ + ',' + std::to_string(time_us) + ',' + names_[kind][i] + ',';
      const statistics& v = values[i];
      if (v.number == 0) {
        *text += ",0,,,\n";
        continue;
      }
      *text += std::to_string(v.sum) + ',' + std::to_string(v.number) + ',' +
               std::to_string(v.sum / v.number) + ',' + std::to_string(v.min) + ',' +
               std::to_string(v.max) + '\n';
    }
  }

  // Body of the timekeeper thread.
  void keep_time() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!end_.wait_for(lock, std::chrono::microseconds(settings_.interval_us),
                          [this] { return ends_; })) {
      if (settings_.light) {
        record_is_due_.store(true);
        continue;
      }
      lock.unlock();
      record();
      if (settings_.on_the_fly) dump(file_->stream());
      lock.lock();
    }
  }

  const std::string name_;
  const dump_settings settings_;
  std::optional<lct::output_file> file_;  // set if the context dumps automatically
  lci::ds::per_thread<thread_counters> threads_;
  std::array<std::atomic<size_t>, kinds> registered_{};
  std::atomic<bool> record_is_due_{false};  // light: for the next thread that adds to a trend
  std::mutex mutex_;
  std::array<std::vector<std::string>, kinds> names_;
  std::vector<snapshot> records_;  // since the last dump
  LCT_time_t record_time_ = 0;     // spent in record()
  bool ends_ = false;
  std::condition_variable end_;
  std::thread timekeeper_;
};

pcounter_context& context_of(LCT_pcounter_ctx_t pcounter_ctx) {
  LCT_Assert(LCT_log_ctx_default, pcounter_ctx != nullptr,
             "the performance counter context is null\n");
  return *static_cast<pcounter_context*>(pcounter_ctx);
}

}  // namespace

LCT_pcounter_ctx_t LCT_pcounter_ctx_alloc(const char* ctx_name) {
  return new pcounter_context(ctx_name == nullptr ? "" : ctx_name);
}

void LCT_pcounter_ctx_free(LCT_pcounter_ctx_t* pcounter_ctx) {
  if (pcounter_ctx == nullptr || *pcounter_ctx == nullptr) {
    LCT_Warn(LCT_log_ctx_default, "the performance counter context to be freed is null\n");
    return;
  }
  delete static_cast<pcounter_context*>(*pcounter_ctx);
  *pcounter_ctx = nullptr;
}

LCT_pcounter_handle_t LCT_pcounter_register(LCT_pcounter_ctx_t pcounter_ctx, const char* name,
                                            LCT_pcounter_type_t type) {
  LCT_Assert(LCT_log_ctx_default, name != nullptr, "the name of a performance counter is null\n");
  return {type, context_of(pcounter_ctx).add_counter(name, type)};
}

void LCT_pcounter_add(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle, int64_t val) {
  context_of(pcounter_ctx).add(handle, val);
}

void LCT_pcounter_start(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle) {
  context_of(pcounter_ctx).start(handle, LCT_now());
}

void LCT_pcounter_end(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle) {
  context_of(pcounter_ctx).end(handle, LCT_now());
}

void LCT_pcounter_startt(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle,
                         LCT_time_t time) {
  context_of(pcounter_ctx).start(handle, time);
}

void LCT_pcounter_endt(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle,
                       LCT_time_t time) {
  context_of(pcounter_ctx).end(handle, time);
}

void LCT_pcounter_record(LCT_pcounter_ctx_t pcounter_ctx) { context_of(pcounter_ctx).record(); }

void LCT_pcounter_dump(LCT_pcounter_ctx_t pcounter_ctx, FILE* out) {
  LCT_Assert(LCT_log_ctx_default, out != nullptr, "out, the file to dump to, is null\n");
  context_of(pcounter_ctx).dump(out);
}
