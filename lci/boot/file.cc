#include "lci/boot/file.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "lci/base/strings.h"
#include "lci/boot/file_log.h"
#include "lci/boot/file_state.h"
#include "lci/boot/job_directory.h"
#include "lci/boot/job_id.h"
#include "lci/boot/messages.h"
#include "lci/boot/process.h"
#include "lci/io/deadline.h"

namespace lci::boot {
namespace {

using file_layout::kind;

// Longest sleep of a waiter before it checks whether the ranks it waits for are alive.
constexpr std::chrono::milliseconds life_check_period(100);
// Longest sleep when ranks on other machines take part: their futex does not wake threads here.
constexpr std::chrono::milliseconds remote_period(5);
// For calls without a timeout parameter: no process should hold the lock for long.
constexpr std::chrono::seconds lock_grace(5);

class file_bootstrap : public bootstrap {
 public:
  file_bootstrap(job_directory directory, file_log log, job_position position,
                 duration default_timeout)
      : bootstrap(position, default_timeout),
        directory_(std::move(directory)),
        log_(std::move(log)),
        state_(log_.job_size()),
        owner_pid_(::getpid()),
        all_local_(position.local_size == position.size) {}

  ~file_bootstrap() override {
    // In a forked child that inherited this object, the rank is the parent.
    if (owner_pid_ != ::getpid()) return;
    const io::steady::time_point deadline = io::steady::now() + lock_grace;
    (void)change(deadline, [this] { return append(kind::leave, "", ""); });
    // The last rank to leave removes the files, under the directory's lock, which is taken before
    // the file's lock. Ranks that have died are not waited for.
    if (!state_.has_connected_ranks() && directory_.lock(deadline).ok())
      directory_.remove_finished();
  }

  // Joins, under the directory's lock, which is released before waiting for the other ranks.
  base::Status join(io::steady::time_point deadline) {
    const base::Status joined = change(deadline, [this] {
      file_state::member me;
      me.process = this_process();
      me.domain = process_domain();
      me.node = node_name().substr(0, file_layout::max_text_size);
      me.local_rank = static_cast<uint32_t>(position_.local_rank);
      me.local_size = static_cast<uint32_t>(position_.local_size);
      return append(kind::join, me.node, encode_join(me));
    });
    directory_.unlock();
    if (!joined.ok()) return joined;
    base::Status started = wait_for_all(deadline);
    if (base::IsDeadlineExceeded(started)) {
      std::lock_guard<std::mutex> lock(mutex_);
      started = timed_out("the start of the job", position_, default_timeout_,
                          did_not_arrive(state_.not_joined()));
    }
    if (started.ok()) find_place();
    return started;
  }

  std::string_view name() const override { return "file"; }
  std::string_view job_id() const override { return log_.job_id(); }

  base::Status put(std::string_view key, std::string_view value) override {
    if (base::Status status = check_entry("put", key, value); !status.ok()) return status;
    return change(io::deadline_after(default_timeout_), [&]() -> base::Status {
      if (state_.values().count(std::string(key)) != 0) {
        return already_put(describe_call("put", key));
      }
      return append(kind::put, key, value);
    });
  }

  base::StatusOr<std::string> get(std::string_view key, duration timeout) override {
    if (base::Status status = check_entry("get", key); !status.ok()) return status;
    std::string value;
    const base::Status found =
        wait_until(io::deadline_after(timeout),
                   [&, wanted = std::string(key)](bool) -> std::optional<base::Status> {
                     const auto it = state_.values().find(wanted);
                     if (it == state_.values().end() || state_.aborted()) return std::nullopt;
                     value = it->second;
                     return base::OkStatus();
                   });
    if (found.ok()) return value;
    const std::string call = describe_call("get", key);
    if (!base::IsDeadlineExceeded(found)) return in_call(call, found);
    return timed_out(call, position_, timeout, did_not_appear());
  }

  base::StatusOr<std::vector<std::string>> meet(std::string_view what, std::string_view name,
                                                std::string_view value, duration timeout) override {
    if (base::Status status = check_entry(what, name, value); !status.ok()) return status;
    const kind which = what == "barrier" ? kind::barrier : kind::allgather;
    const io::steady::time_point deadline = io::deadline_after(timeout);
    const std::string call = describe_call(what, name);
    // A timeout of zero must still enter.
    const base::Status entered =
        change(std::max(deadline, io::steady::now() + lock_grace), [&]() -> base::Status {
          const file_state::collective* c = state_.find(which, name);
          if (c != nullptr && c->values[static_cast<size_t>(position_.rank)]) {
            return already_entered(call);
          }
          return append(which, name, value);
        });
    if (!entered.ok()) return in_call(call, entered);
    std::vector<std::string> values;
    std::vector<int> gone;
    const base::Status met = wait_until(deadline, [&](bool look) -> std::optional<base::Status> {
      const file_state::collective& c = *state_.find(which, name);
      if (c.entered == state_.members().size()) {
        for (const std::optional<std::string>& v : c.values) values.push_back(*v);
        state_.forget_values(which, name);
        return base::OkStatus();
      }
      gone.clear();
      for (int rank : look ? state_.left_or_died() : state_.left()) {
        if (!c.values[static_cast<size_t>(rank)]) gone.push_back(rank);
      }
      if (gone.empty()) return std::nullopt;
      return base::UnavailableError(left_without(call, gone));
    });
    if (met.ok()) return values;
    if (base::IsUnavailable(met) && !gone.empty()) {
      const int lost = find_lost(gone).value_or(gone.front());
      return base::UnavailableError(left_without(call, {lost}));
    }
    if (!base::IsDeadlineExceeded(met)) return in_call(call, met);
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<int> missing;
    const file_state::collective& c = *state_.find(which, name);
    for (size_t rank = 0; rank < c.values.size(); ++rank) {
      if (!c.values[rank]) missing.push_back(static_cast<int>(rank));
    }
    return timed_out(call, position_, timeout, did_not_arrive(missing));
  }

  // Dead processes do not report themselves.
  std::optional<int> first_lost() override { return find_lost({}); }

  void abort(std::string_view reason) override {
    (void)change(io::steady::now() + lock_grace, [&] {
      return append(kind::abort, "", reason.substr(0, file_layout::max_text_size));
    });
  }

 private:
  // DeadlineExceeded as wait_until().
  base::Status wait_for_all(io::steady::time_point deadline) {
    const io::steady::time_point begin = io::steady::now();
    for (std::chrono::seconds patience = start_patience;; patience *= 2) {
      const io::steady::time_point until = std::min(deadline, begin + patience);
      base::Status started = wait_until(until, [this](bool look) -> std::optional<base::Status> {
        if (state_.all_joined()) return base::OkStatus();
        const std::vector<int> gone = look ? state_.left_or_died() : state_.left();
        if (gone.empty()) return std::nullopt;
        return base::UnavailableError(left_before_start(gone));
      });
      if (until == deadline || !base::IsDeadlineExceeded(started)) return started;
      warn_of_missing(patience);
    }
  }

  // If this rank is the first of those that have joined.
  void warn_of_missing(std::chrono::seconds waited) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::vector<file_state::member>& all = state_.members();
    const auto first =
        std::find_if(all.begin(), all.end(), [](const file_state::member& m) { return m.joined; });
    if (first - all.begin() != position_.rank) return;
    warn_of_slow_start(start_is_slow(position_.rank, waited, state_.not_joined()));
  }

  // The first rank that was lost. If none is known, one that has died, or else the first of `gone`
  // (that others wait for in vain), becomes known.
  std::optional<int> find_lost(const std::vector<int>& gone) {
    std::optional<int> lost;
    (void)change(io::steady::now() + lock_grace, [&] {
      const std::string key(lost_key);
      const auto known = state_.values().find(key);
      int rank = 0;
      if (known != state_.values().end() && base::SimpleAtoi(known->second, &rank)) {
        lost = rank;
        return base::OkStatus();
      }
      const std::vector<int> dead = state_.died();
      if (dead.empty() && gone.empty()) return base::OkStatus();
      lost = dead.empty() ? gone.front() : dead.front();
      return append(kind::put, key, base::StrCat(*lost));
    });
    return lost;
  }

  base::Status in_call(std::string_view call, const base::Status& status) const {
    if (!base::IsAborted(status)) return status;
    return base::Status(status.code(),
                        base::StrCat(call, " on rank ", position_.rank, ": ", status.message()));
  }

  // Runs `body` with the file locked and all records read.
  template <class Body>
  base::Status change(io::steady::time_point deadline, const Body& body) {
    std::lock_guard<std::mutex> lock(mutex_);
    base::StatusOr<file_lock> locked = file_lock::take(log_.fd(), /*exclusive=*/true, deadline);
    if (!locked.ok()) return locked.status();
    if (base::Status read = state_.read(&log_); !read.ok()) return read;
    return body();
  }

  // Appends a record within change(). Wakes the waiters if they may wait for this record.
  base::Status append(kind what, std::string_view name, std::string_view value) {
    const bool speaks = what != kind::leave && what != kind::join && what != kind::abort;
    if (speaks && state_.aborted()) return aborted_status();
    if (base::Status status = log_.append(what, position_.rank, name, value); !status.ok()) {
      return status;
    }
    if (base::Status status = state_.read(&log_); !status.ok()) return status;
    bool awaited = true;
    if (what == kind::join) awaited = state_.all_joined();
    if (what == kind::barrier || what == kind::allgather) {
      awaited = state_.find(what, name)->entered == state_.members().size();
    }
    if (awaited) log_.signal_event();
    return base::OkStatus();
  }

  base::Status aborted_status() const {
    return aborted_by(state_.aborted()->rank, state_.aborted()->reason);
  }

  // Waits until ready(look) returns a status. ready() is called with the state up to date and
  // mutex_ held; `look` says that it is time to check which ranks are alive (one access to /proc
  // per rank). At the deadline, returns DeadlineExceeded without text, as the caller knows what it
  // waited for. No thread holds a lock while it sleeps.
  template <class Ready>
  base::Status wait_until(io::steady::time_point deadline, const Ready& ready) {
    io::steady::time_point next_look = io::steady::now() + life_check_period;
    for (;;) {
      uint32_t events = 0;
      bool remote = false;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        base::StatusOr<file_lock> locked = file_lock::take(
            log_.fd(), /*exclusive=*/false, std::max(deadline, io::steady::now() + lock_grace));
        if (!locked.ok()) return base::UnavailableError(locked.status().message());
        if (base::Status read = state_.read(&log_); !read.ok()) return read;
        const bool look = io::steady::now() >= next_look;
        const std::optional<base::Status> done = ready(look);
        // A state that all ranks have reached counts even if one of them has aborted since.
        if (done && done->ok()) return base::OkStatus();
        if (state_.aborted()) return aborted_status();
        if (done) return *done;
        if (look) next_look = io::steady::now() + life_check_period;
        events = log_.events();
        remote = has_remote();
      }
      const std::chrono::milliseconds left(io::poll_milliseconds(deadline));
      if (left.count() == 0) return base::DeadlineExceededError("");
      log_.wait_for_event(events, std::min(left, remote ? remote_period : life_check_period));
    }
  }

  bool has_remote() const {
    const std::string& here = state_.members()[static_cast<size_t>(position_.rank)].domain;
    return std::any_of(
        state_.members().begin(), state_.members().end(),
        [&](const file_state::member& m) { return m.joined ? m.domain != here : !all_local_; });
  }

  // Determines local rank and size, counted if a rank's launcher did not provide them.
  void find_place() {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::vector<file_state::member>& all = state_.members();
    if (std::all_of(all.begin(), all.end(),
                    [](const file_state::member& m) { return m.local_size != 0; })) {
      return;
    }
    const auto rank = static_cast<size_t>(position_.rank);
    position_.local_rank = position_.local_size = 0;
    for (size_t other = 0; other < all.size(); ++other) {
      if (all[other].node != all[rank].node) continue;
      ++position_.local_size;
      if (other < rank) ++position_.local_rank;
    }
  }

  job_directory directory_;
  std::mutex mutex_;  // guards log_ (but for wait_for_event) and state_
  file_log log_;
  file_state state_;
  const int64_t owner_pid_;
  const bool all_local_;  // according to the launcher
};

// Opens round `number` if this process belongs in it; nullopt if the next round must be created.
base::StatusOr<std::optional<file_log>> find_round(const job_directory& directory, int number,
                                                   const file_options& options,
                                                   io::steady::time_point deadline) {
  base::StatusOr<file_log> round =
      file_log::open(directory.fd(), job_directory::round_name(number));
  if (base::IsDataLoss(round.status())) return std::optional<file_log>();
  if (!round.ok()) return round.status();
  const base::StatusOr<file_lock> lock =
      file_lock::take(round->fd(), /*exclusive=*/false, deadline);
  if (!lock.ok()) return lock.status();
  file_state state(round->job_size());
  if (!state.read(&*round).ok()) return std::optional<file_log>();
  // If all ranks joined, the round belongs to the previous program of the job. If a rank left or
  // died before that, the round never starts.
  if (state.all_joined() || !state.left_or_died().empty()) return std::optional<file_log>();
  if (round->job_size() != static_cast<uint32_t>(options.position.size)) {
    return base::InvalidArgumentError(
        base::StrCat("this process was started as one of ", options.position.size,
                     " ranks, the other processes of this job as one of ", round->job_size(),
                     "; give all the same size"));
  }
  const file_state::member& mine = state.members()[static_cast<size_t>(options.position.rank)];
  if (mine.joined) {
    return base::AlreadyExistsError(base::StrCat(
        "process ", mine.process.pid, " is rank ", options.position.rank,
        " of this job already; give every process a rank of its own, and jobs that run at the same "
        "time different LCI_JOB_IDs"));
  }
  round->rewind();
  return std::make_optional(*std::move(round));
}

base::StatusOr<std::unique_ptr<bootstrap>> open(const file_options& options) {
  const io::steady::time_point deadline = io::deadline_after(options.timeout);
  base::StatusOr<job_directory> directory =
      job_directory::open_locked(options.root, options.job, deadline);
  if (!directory.ok()) return directory.status();
  const int latest = directory->latest_round();
  std::optional<file_log> joined;
  if (latest >= 0) {
    base::StatusOr<std::optional<file_log>> round =
        find_round(*directory, latest, options, deadline);
    if (!round.ok()) return round.status();
    if (round->has_value()) joined.emplace(**std::move(round));
  }
  if (!joined) {
    base::StatusOr<file_log> round =
        file_log::create(directory->fd(), job_directory::round_name(latest + 1),
                         static_cast<uint32_t>(options.position.size), make_job_id(options.job_id));
    if (!round.ok()) return round.status();
    joined.emplace(*std::move(round));
  }
  auto opened = std::make_unique<file_bootstrap>(*std::move(directory), *std::move(joined),
                                                 options.position, options.timeout);
  if (base::Status started = opened->join(deadline); !started.ok()) return started;
  return base::StatusOr<std::unique_ptr<bootstrap>>(std::move(opened));
}

}  // namespace

base::StatusOr<std::unique_ptr<bootstrap>> open_file_bootstrap(const file_options& options) {
  base::StatusOr<std::unique_ptr<bootstrap>> opened = open(options);
  if (opened.ok()) return opened;
  return base::Status(
      opened.status().code(),
      base::StrCat("file bootstrap of rank ", options.position.rank, " of ", options.position.size,
                   ", job ", options.job, ": ", opened.status().message()));
}

}  // namespace lci::boot
