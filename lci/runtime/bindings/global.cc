// The process-wide part: the bootstrap, the default attributes and the global runtime. Nothing
// below this file knows of them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lci/api/coll.hpp"
#include "lci/api/config.hpp"
#include "lci/api/runtime.hpp"
#include "lci/base/env.h"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/boot/bootstrap.h"
#include "lci/boot/scoped.h"
#include "lci/observe/counting.h"
#include "lci/observe/observer.h"
#include "lci/observe/recorder.h"
#include "lci/observe/waiting.h"
#include "lci/runtime/bindings/checked_mode.h"
#include "lci/runtime/bindings/finalization.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/core/attributes.h"
#include "lci/runtime/core/start_failure.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/core/variables.h"
#include "lci/runtime/device/vain_tests.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

// Of the companion library (lct/lct.h), where the program has it: LCI itself needs nothing of it.
extern "C" [[gnu::weak, gnu::visibility("default")]] void LCT_set_rank(int rank);

namespace lci {
namespace {

// The objects that the process has while it is part of a job.
struct membership : rt::live_object {
  std::unique_ptr<boot::bootstrap> boot;
  std::unique_ptr<rt::checker> checks;          // null: operations are not checked
  std::unique_ptr<observe::recorder> recorder;  // null: this rank does not record
  std::unique_ptr<observe::observer> observer;  // ends before both, which it uses
};

struct process_state {
  std::mutex mutex;
  int initialized = 0;  // calls of global_initialize without their global_finalize
  int runtimes = 0;     // made so far: the names of their scopes
  // Null while not initialized. Changed under the mutex.
  std::atomic<membership*> job{nullptr};
  std::vector<runtime_impl_t*> alive;  // in the order of allocation, as on all ranks
};

// Never destroyed: a program may leave main without finalizing.
process_state& process() {
  static process_state* const state = new process_state;
  return *state;
}

constexpr const char* hang_report_variable = "LCI_HANG_REPORT";
constexpr double default_hang_report = 30;  // seconds

// The values of LCI_RECORD.
enum class recording { off, on, keep };
constexpr base::enum_name<recording> recordings[] = {
    {"0", recording::off}, {"1", recording::on}, {"keep", recording::keep}};

// Throws std::invalid_argument if a variable has a wrong value.
std::optional<observe::recorder_options> recorder_options_from_environment() {
  const auto wanted = rt::checked_setting(base::env_enum("LCI_RECORD", recording::off, recordings));
  const auto events = rt::checked_setting(
      base::env_size("LCI_RECORD_EVENTS", observe::default_events_per_ring,
                     observe::min_events_per_ring, observe::max_events_per_ring));
  if ((events & (events - 1)) != 0) {
    rt::throw_invalid_argument("LCI_RECORD_EVENTS=", events, " is not a power of two");
  }
  if (wanted == recording::off) return std::nullopt;
  observe::recorder_options options;
  options.events_per_thread = static_cast<uint32_t>(events);
  options.directory = base::env_string("LCI_RECORD_DIR", options.directory);
  options.keep = wanted == recording::keep;
  return options;
}

// Null, with a warning, if there is no place for the file: the job runs without it, too.
std::unique_ptr<observe::recorder> make_recorder(observe::recorder_options options,
                                                 const boot::bootstrap& boot) {
  options.rank = boot.rank();
  options.ranks = boot.size();
  options.job = boot.job_id();
  auto made = observe::recorder::make(options);
  if (made.ok()) {
    LCI_LOG(debug, "this rank records its events in ", (*made)->path());
    return *std::move(made);
  }
  LCI_LOG(warn, "this rank does not record its events: ", made.status().message(),
          "; LCI_RECORD_DIR names another directory");
  return nullptr;
}

observe::observer_options observer_options(double patience, observe::recorder* recorder) {
  observe::observer_options options;
  options.patience = std::chrono::milliseconds(static_cast<int64_t>(std::ceil(patience * 1000)));
  // Where lcrun serves the bootstrap, it collects the answers.
  options.is_collected_by_server =
      base::env_text("LCI_JOB_ID").has_value() && base::env_text("LCI_BOOT_ADDR").has_value();
  if (recorder != nullptr) {
    options.on_query = [recorder] {
      recorder->add(observe::event_sink::moment(observe::event_kind::report));
      recorder->keep(observe::keep_report);
    };
  }
  return options;
}

int g_runtime_users = 0;

boot::bootstrap& require_boot(process_state& state, const char* call) {
  membership* const job = state.job.load(std::memory_order_relaxed);
  if (job == nullptr) {
    rt::throw_logic_error(call, " before global_initialize, g_runtime_init or alloc_runtime");
  }
  return *job->boot;
}

// Throws std::logic_error in a child of a process that has initialized the library. Without the
// mutex, which another thread may have held when the child was made. A membership that ends
// meanwhile is readable for long enough, as a freed object.
void refuse_child(const process_state& state) {
  const membership* const job = state.job.load(std::memory_order_acquire);
  if (job != nullptr) job->check_process("membership in the job");
}

// `call`: what the program has called; a literal.
void end_runtime(runtime_t* runtime, const char* call) {
  if (rt::handle_at(runtime, call).is_empty()) rt::refuse_handle(call, "the handle is empty");
  runtime_impl_t* impl = runtime->p_impl;
  rt::check_live(*impl, "runtime");
  // A handler may run inside a poll of a device of this runtime.
  rt::check_may_wait({call});
  if (const std::string left = impl->left_over(); !left.empty()) {
    rt::throw_logic_error(call, ": not freed: ", left);
  }
  const observe::waiting waiting({"free_runtime"});
  std::optional<rt::checker::closing> closing;
  if (impl->checks() != nullptr) {
    closing.emplace(*impl->checks(), impl, nullptr, call);
    impl->checks()->report_end_of(impl);
  }
  std::string disagreement;
  std::optional<rt::finalization> together;
  if (impl->default_device() != nullptr) {
    try {
      together.emplace(*impl).finish();
    } catch (const std::runtime_error& error) {
      // The ranks have not called the same collective operations.
      disagreement = error.what();
      if (impl->record()) impl->record().to()->keep(observe::keep_failure);
    }
  }
  if (rt::is_checked_mode()) {
    for (const std::string& each : rt::leftovers(*impl)) LCI_LOG(warn, call, ": ", each);
  }
  impl->report_counters();
  {
    process_state& state = process();
    const std::lock_guard<std::mutex> guard(state.mutex);
    state.alive.erase(std::remove(state.alive.begin(), state.alive.end(), impl), state.alive.end());
  }
  delete impl;
  closing.reset();  // before the checker ends
  *runtime = runtime_t();
  global_finalize();
  if (!disagreement.empty()) throw std::runtime_error(disagreement);
}

template <class Op>
runtime_t make_runtime(const Op& options) {
  if (get_rank_n() > 1) rt::check_may_wait({"alloc_runtime"});
  const observe::waiting waiting({"alloc_runtime"});
  process_state& state = process();
  std::unique_ptr<boot::bootstrap> scope;
  global_attr_t defaults;
  std::vector<runtime_impl_t*> others;
  observe::event_sink record;
  {
    const std::lock_guard<std::mutex> guard(state.mutex);
    const int number = state.runtimes++;
    scope = std::make_unique<boot::scoped_bootstrap>(require_boot(state, "alloc_runtime"),
                                                     base::StrCat("r", number));
    record = {state.job.load(std::memory_order_relaxed)->recorder.get(),
              static_cast<uint8_t>(number)};
    defaults = g_default_attr;
    others = state.alive;
  }
  const runtime_attr_t attr = options.resolve(defaults);
  options.get_device_name().get_set_value(&defaults.device_name);
  for (runtime_impl_t* other : others) other->wait_for_all_ranks();
  auto made = std::make_unique<runtime_impl_t>(std::move(scope), attr, defaults, record,
                                               rt::checker_of_process().load());
  const std::lock_guard<std::mutex> guard(state.mutex);
  state.alive.push_back(made.get());
  return made.release();
}

}  // namespace

global_attr_t g_default_attr;

const char* get_version() { return LCI_VERSION_STRING; }

void global_initialize() {
  process_state& state = process();
  refuse_child(state);
  const std::lock_guard<std::mutex> guard(state.mutex);
  if (state.initialized == 0) {
    const global_attr_t attr = rt::checked_setting(rt::attributes_from_environment());
    const double patience =
        rt::checked_setting(base::env_double(hang_report_variable, default_hang_report, 0, 1e9));
    const bool counts = rt::checked_setting(base::env_bool("LCI_STATS", false));
    auto checks = rt::make_checker_from_environment(patience);
    const auto records = recorder_options_from_environment();
    auto boot = boot::make_bootstrap();
    if (!boot.ok()) rt::throw_runtime_error("can't join the job: ", boot.status().ToString());
    auto job = std::make_unique<membership>();
    job->boot = *std::move(boot);
    if (records) job->recorder = make_recorder(*records, *job->boot);
    job->observer =
        observe::start_observer(*job->boot, observer_options(patience, job->recorder.get()));
    g_default_attr = attr;
    rt::vain_tests::allow_yields(attr.progress_yield);
    observe::counts_traffic().store(counts);
    rt::checker_of_process().store(checks.get());
    job->checks = std::move(checks);
    state.runtimes = 0;
    base::set_log_rank(job->boot->rank());
    // Once per job: its ranks mostly have the same environment.
    if (job->boot->rank() == 0) rt::warn_of_unknown_variables();
    state.job.store(job.release(), std::memory_order_release);
  }
  ++state.initialized;
}

void global_finalize() {
  process_state& state = process();
  refuse_child(state);
  const std::lock_guard<std::mutex> guard(state.mutex);
  require_boot(state, "global_finalize");
  if (--state.initialized > 0) return;
  if (rt::is_checked_mode()) {
    for (const std::string& each : rt::take_objects_left())
      LCI_LOG(warn, "global_finalize: ", each);
    rt::checker_of_process().store(nullptr);
  }
  delete state.job.exchange(nullptr, std::memory_order_acq_rel);
}

int get_rank_me() {
  process_state& state = process();
  const std::lock_guard<std::mutex> guard(state.mutex);
  return require_boot(state, "get_rank_me").rank();
}

int get_rank_n() {
  process_state& state = process();
  const std::lock_guard<std::mutex> guard(state.mutex);
  return require_boot(state, "get_rank_n").size();
}

global_attr_t get_g_default_attr() {
  process_state& state = process();
  const std::lock_guard<std::mutex> guard(state.mutex);
  return g_default_attr;
}

void set_g_default_attr(const global_attr_t& attr) {
  process_state& state = process();
  const std::lock_guard<std::mutex> guard(state.mutex);
  require_boot(state, "set_g_default_attr");
  g_default_attr = attr;
  rt::vain_tests::allow_yields(attr.progress_yield);
}

runtime_t alloc_runtime_x::operator()() const {
  global_initialize();
  try {
    return make_runtime(*this);
  } catch (...) {
    global_finalize();
    throw;
  }
}

void free_runtime_x::operator()() const { end_runtime(get_runtime(), "free_runtime"); }

runtime_t g_runtime_init_x::operator()() const {
  refuse_child(process());
  if (g_runtime_users == 0) {
    global_initialize();
    try {
      runtime_impl_t* const made = make_runtime(*this).p_impl;
      rt::set_global_runtime(made);
      if (LCT_set_rank != nullptr) LCT_set_rank(made->rank());
    } catch (...) {
      global_finalize();
      throw;
    }
  }
  ++g_runtime_users;
  return rt::global_runtime();
}

void g_runtime_fina_x::operator()() const {
  if (g_runtime_users == 0) rt::throw_logic_error("g_runtime_fina without g_runtime_init");
  if (g_runtime_users > 1) {
    --g_runtime_users;
    return;
  }
  // end_runtime() either changes nothing or empties the handle, whether it throws or not.
  struct last_use {
    ~last_use() {
      if (!runtime.is_empty()) return;
      rt::set_global_runtime(nullptr);
      g_runtime_users = 0;
    }
    runtime_t runtime = rt::global_runtime();
  } last;
  end_runtime(&last.runtime, "g_runtime_fina");
}

runtime_t get_g_runtime_x::operator()() const { return rt::global_runtime(); }

}  // namespace lci
