#include "tools/launcher/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "tools/launcher/agents.h"
#include "tools/launcher/connector.h"
#include "tools/launcher/guard.h"
#include "tools/launcher/link.h"
#include "tools/launcher/local_crew.h"
#include "tools/launcher/output.h"
#include "tools/launcher/plan.h"
#include "tools/launcher/process.h"
#include "tools/launcher/uri.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {
namespace {

constexpr int failed_exit_code = 1;
// A neighbour that has just come back is still taken for dead by the kernel. By hand host 0 may
// come later, and there is no limit.
constexpr std::chrono::milliseconds retry_pause(200);
constexpr int max_tries = 3;
constexpr std::chrono::seconds agents_end(5);  // that their hosts have finished

// Every rank has a program.
bool usable(const std::vector<wire::program>& programs) {
  uint32_t least = 0;
  for (const wire::program& program : programs) {
    if (program.command.empty() || program.first_rank < least) return false;
    least = program.first_rank;
  }
  return !programs.empty() && programs[0].first_rank == 0;
}

bool ascend(const std::vector<uint32_t>& ranks) {
  constexpr uint32_t limit = 1 << 24;
  for (size_t i = 1; i < ranks.size(); ++i) {
    if (ranks[i] <= ranks[i - 1]) return false;
  }
  return !ranks.empty() && ranks.back() < limit;
}

class helper final : crew::events, link::owner, agents::events {
 public:
  // `by_hand`: null if an agent has started this.
  helper(wire::errand errand, const launch_options* by_hand)
      : errand_(std::move(errand)), by_hand_(by_hand), agents_(&loop_, this) {}
  ~helper() {
    if (link_ != nullptr) link_->close();
    if (input_pipe_ >= 0) close(input_pipe_);
    if (signals_ >= 0) close(signals_);
  }

  int run();

 private:
  bool prepare();
  void connect();
  void connected(std::shared_ptr<link> to, const std::string& why);
  void stop(int code, const std::string& why);
  void read_signals();
  void read_agents_and_ranks();
  void finish();

  bool on_frame(link& from, wire::kind kind, std::string_view body) override;
  void on_end(link& from, const std::string& why) override;
  void adopted(const wire::adopted& frame);
  void start(wire::share frame);
  base::Status take_own_programs(share* mine) const;
  void not_started(const share& mine);
  void input(const std::string& bytes);
  void write_input();
  void close_input();

  void failed(int code, const std::string& what) override {
    if (link_ != nullptr) link_->send(wire::failed{static_cast<uint32_t>(code), what});
  }
  void rank_ended(int rank, int status) override {
    if (link_ != nullptr) {
      link_->send(wire::rank_ended{static_cast<uint32_t>(rank), static_cast<uint32_t>(status)});
    }
  }
  void rank_stopped(int rank, bool stopped) override {
    if (link_ != nullptr) link_->send(wire::rank_stopped{static_cast<uint32_t>(rank), stopped});
  }
  void rank_output(int rank, int stream, std::string_view bytes) override {
    if (link_ == nullptr) return;
    window_ -= std::min(window_, bytes.size());
    link_->send(wire::output{static_cast<uint32_t>(rank), static_cast<uint32_t>(stream),
                             std::string(bytes)});
  }
  // With nobody to hear it, it is read and lost.
  size_t output_room() const override { return link_ == nullptr ? wire::window : window_; }
  void said(const std::string& line) override { agent_said(static_cast<int>(errand_.node), line); }
  void agent_said(int node, const std::string& line) override {
    if (link_ != nullptr) link_->send(wire::agent_said{static_cast<uint32_t>(node), line});
  }
  void agent_ended(int node, const std::string& how) override {
    if (link_ != nullptr) link_->send(wire::agent_ended{static_cast<uint32_t>(node), how});
  }

  const wire::errand errand_;
  const launch_options* const by_hand_;
  event_loop loop_;
  agents agents_;
  int signals_ = -1;
  int interrupts_ = 0;
  std::unique_ptr<connector> connector_;
  steady::time_point connect_until_;
  std::string connect_error_;
  int tries_ = 0;
  std::string token_;
  std::shared_ptr<link> link_;  // null: not yet, or not any more
  bool adopted_ = false;
  std::unique_ptr<crew> crew_;
  size_t window_ = wire::window;
  int input_pipe_ = -1;
  event_loop::id input_watched_ = 0;
  std::string input_;
  bool input_ends_ = false;
  bool ending_ = false;    // lcrun says that the job is over
  bool finished_ = false;  // and so it is here
  bool stopped_ = false;   // there is no lcrun any more
  int exit_code_ = 0;
};

// ---- start

bool helper::prepare() {
  sigset_t watched;
  sigemptyset(&watched);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return false;
  loop_.watch(signals_, POLLIN, [this] { read_signals(); });
  raise_file_limit();
  return true;
}

void helper::connect() {
  std::vector<std::string> addresses = errand_.addresses;
  token_ = errand_.token;
  if (by_hand_ != nullptr) {
    base::StatusOr<meeting_point> at = find_meeting_point(*by_hand_);
    if (!at.ok()) {  // the file may not be there yet
      connected(nullptr, std::string(at.status().message()));
      return;
    }
    addresses = {at->address};
    token_ = at->token;
  }
  connector_ = std::make_unique<connector>(
      &loop_, addresses, errand_.job_id,
      [this](std::shared_ptr<link> to, const std::string& why) { connected(std::move(to), why); });
}

void helper::connected(std::shared_ptr<link> to, const std::string& why) {
  if (to == nullptr) {
    connect_error_ = why;
    if (by_hand_ == nullptr && ++tries_ == max_tries) {
      stop(failed_exit_code, base::StrCat("can't reach lcrun: ", why));
    } else {
      loop_.at(steady::now() + retry_pause, [this] {
        if (link_ == nullptr && !stopped_) connect();
      });
    }
    return;
  }
  // The other attempts are given up, but not in a call from there.
  loop_.at(steady::now(), [this] { connector_ = nullptr; });
  link_ = std::move(to);
  link_->hand_over(this, wire::max_lcrun_body);
  link_->set_timeout(std::chrono::milliseconds(errand_.host_timeout_ms));
  wire::hello hello;
  hello.token = token_;
  hello.node = errand_.node;
  hello.nodes = by_hand_ != nullptr ? static_cast<uint32_t>(by_hand_->nodes) : 0;
  hello.host = host_name();
  hello.processors = static_cast<uint32_t>(allowed_processors().size());
  link_->send(hello);
}

int helper::run() {
  if (!prepare()) return failed_exit_code;
  connect_until_ = steady::now() + std::chrono::milliseconds(errand_.start_timeout_ms);
  loop_.at(connect_until_, [this] {
    if (adopted_ || stopped_) return;
    stop(
        failed_exit_code,
        base::StrCat(
            "can't reach lcrun within ", errand_.start_timeout_ms / 1000, " s (",
            connect_error_.empty() ? base::StrJoin(errand_.addresses, ", ") : connect_error_, ")"));
  });
  connect();
  while (!stopped_ && !finished_) {
    if (crew_ != nullptr) crew_->before_wait();
    loop_.run_once();
    if (ending_ && (crew_ == nullptr || !crew_->busy())) finish();
  }
  if (stopped_ && crew_ != nullptr) {
    crew_->signal(SIGKILL);
    while (crew_->busy()) loop_.run_once();
    crew_->finish(exit_code_);
  }
  // lcrun closes the connection when it has read everything; the hosts that we have started end
  // their agents.
  bool late = false;
  loop_.at(steady::now() + agents_end, [&] { late = true; });
  while (!stopped_ && link_ != nullptr) loop_.run_once();
  while (!stopped_ && agents_.any() && !late) loop_.run_once();
  return exit_code_;
}

// ---- end

// Without an lcrun there is no job. `why` is for people: nobody else hears of it.
void helper::stop(int code, const std::string& why) {
  if (stopped_) return;
  stopped_ = true;
  exit_code_ = code;
  if (link_ != nullptr) link_->close();
  link_ = nullptr;
  write_all(STDERR_FILENO, base::StrCat("lcrun: ", why, "\n"));
}

void helper::finish() {
  if (crew_ != nullptr) crew_->finish(exit_code_);
  finished_ = true;
  if (link_ != nullptr) link_->send(wire::finished{});
}

void helper::read_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof(info)) == sizeof(info)) {
    const auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      read_agents_and_ranks();
    } else if (link_ == nullptr || ++interrupts_ > 1) {
      stop(128 + signal, base::StrCat("ended by signal ", signal));
    } else {
      // lcrun ends the job, here and everywhere.
      failed(128 + signal, base::StrCat("lcrun on ", host_name(), " has got signal ", signal,
                                        " (SIG", sigabbrev_np(signal), ")"));
    }
  }
}

void helper::read_agents_and_ranks() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return;
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
      if (crew_ != nullptr) crew_->child_stopped(pid, WIFSTOPPED(status));
      continue;
    }
    if (!agents_.child_ended(pid, status) && crew_ != nullptr) crew_->child_ended(pid, status);
  }
}

// ---- the connection

bool helper::on_frame(link&, wire::kind kind, std::string_view body) {
  switch (kind) {
    case wire::kind::refused: {
      wire::refused frame;
      if (adopted_ || !wire::decode(body, &frame)) return false;
      stop(failed_exit_code, base::StrCat("refused by the job's lcrun: ", frame.why));
      return true;
    }
    case wire::kind::adopted: {
      wire::adopted frame;
      if (adopted_ || !wire::decode(body, &frame)) return false;
      adopted(frame);
      return true;
    }
    case wire::kind::share: {
      wire::share frame;
      if (!adopted_ || crew_ != nullptr || !wire::decode(body, &frame)) return false;
      if (!ascend(frame.ranks) || frame.bind_to > static_cast<uint32_t>(binding::socket) ||
          frame.map_by > static_cast<uint32_t>(mapping::node) || !usable(frame.programs) ||
          !base::StartsWith(frame.mark, "LCI_JOB_NODE=")) {
        return false;
      }
      start(std::move(frame));
      return true;
    }
    case wire::kind::signal_ranks: {
      wire::signal_ranks frame;
      if (!wire::decode(body, &frame) || frame.signal >= static_cast<uint32_t>(NSIG)) return false;
      if (crew_ != nullptr) crew_->signal(static_cast<int>(frame.signal));
      return true;
    }
    case wire::kind::input: {
      wire::input frame;
      if (!wire::decode(body, &frame)) return false;
      input(frame.bytes);
      return true;
    }
    case wire::kind::output_taken: {
      wire::output_taken frame;
      if (!wire::decode(body, &frame) || frame.bytes > wire::window - window_) return false;
      window_ += frame.bytes;
      return true;
    }
    case wire::kind::end: {
      wire::end frame;
      if (!wire::decode(body, &frame)) return false;
      ending_ = true;
      if (by_hand_ != nullptr) exit_code_ = static_cast<int>(frame.code & 0xff);
      // Mostly they have ended. What has not, has no job any more.
      if (crew_ != nullptr && crew_->busy()) crew_->signal(SIGKILL);
      return true;
    }
    default:
      return false;
  }
}

void helper::on_end(link&, const std::string& why) {
  link_ = nullptr;
  if (!finished_) {
    stop(failed_exit_code, base::StrCat("the connection to the job's lcrun is lost (", why, ")"));
  }
}

void helper::adopted(const wire::adopted& frame) {
  adopted_ = true;
  for (const wire::child& child : frame.children) {
    if (child.command.empty()) continue;
    wire::errand errand = errand_;
    errand.node = child.node;
    agents_.start(static_cast<int>(child.node), child.command, errand);
  }
}

// The programs that the user has named on this host replace those of host 0.
base::Status helper::take_own_programs(share* mine) const {
  if (by_hand_->programs.size() != mine->programs.size()) {
    return base::InvalidArgumentError(
        base::StrCat("lcrun was started with another number of programs here (",
                     by_hand_->programs.size(), ") than on host 0 (", mine->programs.size(),
                     "); start it with the same programs on each host"));
  }
  for (size_t i = 0; i < mine->programs.size(); ++i) {
    mine->programs[i].command = by_hand_->programs[i].command;
    mine->programs[i].wdir = by_hand_->programs[i].wdir;
  }
  return base::OkStatus();
}

void helper::start(wire::share frame) {
  share mine;
  mine.host = host_name();
  for (const wire::program& program : frame.programs) {
    mine.programs.push_back({static_cast<int>(program.first_rank), program.command, "",
                             program.wdir, program.environment});
  }
  mine.mark = frame.mark;
  mine.ranks.assign(frame.ranks.begin(), frame.ranks.end());
  mine.bind_to = static_cast<binding>(frame.bind_to);
  mine.map_by = static_cast<mapping>(frame.map_by);
  mine.report_bindings = frame.report_bindings != 0;
  for (char* const* entry = environ; *entry != nullptr; ++entry) mine.environment.push_back(*entry);
  for (const std::string& assignment : frame.environment) {
    set_variable(&mine.environment, assignment);
  }
  mine.own = frame.own;
  base::Status found = by_hand_ != nullptr ? take_own_programs(&mine) : base::OkStatus();
  if (found.ok()) found = find_programs(&mine);
  if (!found.ok()) {
    const int code = base::IsPermissionDenied(found) ? 126 : base::IsNotFound(found) ? 127 : 2;
    failed(code, base::StrCat(mine.host, ": ", found.message()));
    not_started(mine);
    return;
  }
  local_crew_options options;
  options.output = local_crew_options::capture::pipes;
  options.other_children = true;
  boot::unique_fd rank_end;
  if (frame.stdin_rank != wire::nobody) {
    mine.stdin_rank = static_cast<int>(frame.stdin_rank);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      failed(failed_exit_code, base::StrCat(mine.host, ": no pipe: ", std::strerror(errno)));
      not_started(mine);
      return;
    }
    rank_end.reset(ends[0]);
    input_pipe_ = ends[1];
    fcntl(input_pipe_, F_SETFL, O_NONBLOCK);
    input_watched_ = loop_.watch(input_pipe_, 0, [this] { write_input(); });
    options.stdin_fd = ends[0];
  }
  crew_ = make_local_crew(&loop_, this, mine, options);
  crew_->start();
  not_started(mine);
}

// lcrun waits for the end of each.
void helper::not_started(const share& mine) {
  for (const int rank : mine.ranks) {
    if (crew_ == nullptr || !crew_->is_running(rank)) rank_ended(rank, failed_exit_code << 8);
  }
}

// ---- standard input of a rank

void helper::input(const std::string& bytes) {
  if (bytes.empty()) input_ends_ = true;
  input_ += bytes;
  write_input();
}

void helper::write_input() {
  if (input_pipe_ < 0) return;
  const ssize_t n = input_.empty() ? 0 : write(input_pipe_, input_.data(), input_.size());
  if (n < 0 && errno != EAGAIN && errno != EINTR) {  // nobody reads it any more
    close_input();
    return;
  }
  if (n > 0) {
    input_.erase(0, static_cast<size_t>(n));
    if (link_ != nullptr) link_->send(wire::input_taken{static_cast<uint32_t>(n)});
  }
  if (input_.empty() && input_ends_) {
    close_input();
  } else {
    loop_.change(input_watched_, input_.empty() ? 0 : POLLOUT);
  }
}

void helper::close_input() {
  loop_.forget(std::exchange(input_watched_, 0));
  close(std::exchange(input_pipe_, -1));
  input_.clear();
}

// Reads the errand from standard input.
bool read_errand(wire::errand* errand, std::string* why) {
  std::string text;
  for (;;) {
    if (text.size() >= wire::preamble_size) {
      *why = wire::check_preamble(std::string_view(text).substr(0, wire::preamble_size));
      if (!why->empty()) return false;
      wire::kind which{};
      std::string_view body;
      const wire::taken taken = wire::take_frame(std::string_view(text).substr(wire::preamble_size),
                                                 wire::max_words, &which, &body);
      if (taken == wire::taken::frame && which == wire::kind::errand &&
          wire::decode(body, errand)) {
        return true;
      }
      if (taken != wire::taken::incomplete) {
        *why = "what comes on standard input is not from lcrun";
        return false;
      }
    }
    char block[512];
    const ssize_t n = read(STDIN_FILENO, block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      *why = "lcrun's errand does not come on standard input; the launch agent must pass it on";
      return false;
    }
    text.append(block, static_cast<size_t>(n));
  }
}

}  // namespace

int run_helper() {
  wire::errand errand;
  std::string why;
  if (!read_errand(&errand, &why)) {
    write_all(STDERR_FILENO, base::StrCat("lcrun: ", why, "\n"));
    return failed_exit_code;
  }
  return helper(std::move(errand), nullptr).run();
}

int run_helper_by_hand(const launch_options& options) {
  wire::errand errand;
  errand.node = static_cast<uint32_t>(options.node_rank);
  errand.host_timeout_ms = static_cast<uint32_t>(options.host_timeout.count());
  errand.start_timeout_ms = static_cast<uint32_t>(options.start_timeout.count());
  return helper(std::move(errand), &options).run();
}

}  // namespace lci::launcher
