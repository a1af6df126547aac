#include "tools/launcher/helper.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/status.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/io/connector.h"
#include "lci/io/framed_connection.h"
#include "lci/io/socket.h"
#include "tools/launcher/agents.h"
#include "tools/launcher/local_rank_group.h"
#include "tools/launcher/output.h"
#include "tools/launcher/plan.h"
#include "tools/launcher/process.h"
#include "tools/launcher/process_signals.h"
#include "tools/launcher/standard_input.h"
#include "tools/launcher/uri.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {
namespace {

constexpr int failed_exit_code = 1;
// The kernel may still consider a host unreachable that has just become reachable, so a connection
// is tried several times. By hand, there is no limit, because host 0 may start later.
constexpr std::chrono::milliseconds retry_pause(200);
constexpr int max_tries = 3;

class helper final : rank_group::events, io::framed_connection::owner, agents::events {
 public:
  // `by_hand`: null if an agent has started this helper.
  helper(wire::launch_request request, const launch_options* by_hand)
      : request_(std::move(request)),
        by_hand_(by_hand),
        agents_(&loop_, this),
        signals_(
            &loop_, [this](int signal) { signaled(signal); },
            [this](pid_t pid, int status) { child_changed(pid, status); }) {}
  ~helper() {
    if (connection_ != nullptr) connection_->close();
  }

  int run();

 private:
  void connect();
  wire::hello hello() const;
  void connected(std::shared_ptr<io::framed_connection> to);
  void not_connected(const base::Status& why);
  void stop(int code, const std::string& why);
  void signaled(int signal);
  void child_changed(pid_t pid, int status);
  void finish();

  bool on_frame(io::framed_connection& from, const io::frame_header& header,
                std::string_view body) override;
  void on_end(io::framed_connection& from, const std::string& why) override;
  // Handle a frame of lcrun. Return false if it is invalid.
  bool take(const wire::adopted& frame);
  bool take(const wire::rank_assignment& frame);
  bool take(const wire::signal_ranks& frame);
  bool take(const wire::input& frame);
  bool take(const wire::output_taken& frame);
  bool take(const wire::end& frame);
  void start(rank_assignment assigned);
  base::Status take_own_programs(rank_assignment* assigned) const;
  void report_not_started(const rank_assignment& assigned);

  // Without a connection, lcrun learns nothing more.
  template <class Frame>
  void report(const Frame& frame) {
    if (connection_ != nullptr) wire::send(*connection_, frame);
  }
  void failed(int code, const std::string& what) override {
    report(wire::failed{static_cast<uint32_t>(code), what});
  }
  void rank_ended(int rank, int status) override {
    report(wire::rank_ended{static_cast<uint32_t>(rank), static_cast<uint32_t>(status)});
  }
  void rank_stopped(int rank, bool stopped) override {
    report(wire::rank_stopped{static_cast<uint32_t>(rank), stopped});
  }
  void rank_output(int rank, int stream, std::string_view bytes) override {
    window_ -= std::min(window_, bytes.size());
    report(wire::output{static_cast<uint32_t>(rank), static_cast<uint32_t>(stream),
                        std::string(bytes)});
  }
  // Without a connection, the output is read and dropped.
  size_t output_room() const override { return connection_ == nullptr ? wire::window : window_; }
  void message(const std::string& line) override {
    agent_line(static_cast<int>(request_.node), line);
  }
  void agent_line(int node, const std::string& line) override {
    report(wire::agent_line{static_cast<uint32_t>(node), line});
  }
  void agent_ended(int node, const std::string& how) override {
    report(wire::agent_ended{static_cast<uint32_t>(node), how});
  }

  const wire::launch_request request_;
  const launch_options* const by_hand_;
  io::event_loop loop_;
  agents agents_;
  process_signals signals_;
  int interrupts_ = 0;
  std::unique_ptr<io::connector> connector_;
  io::steady::time_point connect_until_;
  std::string connect_error_;
  std::string token_;
  int tries_ = 0;
  std::shared_ptr<io::framed_connection> connection_;  // null: not yet connected, or lost
  bool adopted_ = false;
  std::unique_ptr<rank_group> rank_group_;
  size_t window_ = wire::window;
  std::unique_ptr<rank_input> input_;  // null: no rank here reads the standard input
  bool ending_ = false;                // lcrun has ended the job
  bool finished_ = false;              // the processes here have ended
  bool stopped_ = false;               // without a connection to lcrun
  int exit_code_ = 0;
};

// Start.

void helper::connect() {
  std::vector<std::string> addresses = request_.addresses;
  token_ = request_.token;
  if (by_hand_ != nullptr) {
    base::StatusOr<job_address> at = find_job_address(*by_hand_);
    if (!at.ok()) {  // the file may not exist yet
      not_connected(at.status());
      return;
    }
    addresses = {at->address};
    token_ = at->token;
  }
  connector_ = std::make_unique<io::connector>(
      &loop_, wire::protocol, addresses, token_, wire::encode(hello()),
      [this](base::StatusOr<std::shared_ptr<io::framed_connection>> to) {
        if (to.ok()) {
          connected(*std::move(to));
        } else {
          not_connected(to.status());
        }
      });
}

wire::hello helper::hello() const {
  wire::hello hello;
  hello.node = request_.node;
  hello.nodes = by_hand_ != nullptr ? static_cast<uint32_t>(by_hand_->nodes) : 0;
  hello.host = base::host_name();
  hello.processors = static_cast<uint32_t>(allowed_processors().size());
  return hello;
}

void helper::not_connected(const base::Status& why) {
  // Another try would end in the same way.
  if (by_hand_ != nullptr && base::IsPermissionDenied(why)) {
    return stop(failed_exit_code, base::StrCat("can't join the job: ", why.message()));
  }
  connect_error_ = std::string(why.message());
  if (by_hand_ == nullptr && ++tries_ == max_tries) {
    stop(failed_exit_code, base::StrCat("can't reach lcrun: ", connect_error_));
  } else {
    loop_.at(io::steady::now() + retry_pause, [this] {
      if (connection_ == nullptr && !stopped_) connect();
    });
  }
}

void helper::connected(std::shared_ptr<io::framed_connection> to) {
  // Ends the other attempts, but not during a call by the connector.
  loop_.at(io::steady::now(), [this] { connector_ = nullptr; });
  connection_ = std::move(to);
  connection_->hand_over(this, wire::max_lcrun_body);
  io::tune_connection(connection_->fd(), std::chrono::milliseconds(request_.host_timeout_ms));
}

int helper::run() {
  if (!signals_.start({SIGINT, SIGTERM, SIGHUP, SIGQUIT}).ok()) return failed_exit_code;
  raise_file_limit();
  connect_until_ = io::steady::now() + std::chrono::milliseconds(request_.start_timeout_ms);
  loop_.at(connect_until_, [this] {
    if (adopted_ || stopped_) return;
    stop(failed_exit_code,
         base::StrCat(
             "can't reach ", by_hand_ != nullptr ? "the lcrun of host 0" : "lcrun", " within ",
             text_of(std::chrono::milliseconds(request_.start_timeout_ms)), " (",
             connect_error_.empty() ? base::StrJoin(request_.addresses, ", ") : connect_error_,
             ")"));
  });
  connect();
  while (!stopped_ && !finished_) {
    if (rank_group_ != nullptr) rank_group_->before_wait();
    loop_.run_once();
    if (ending_ && (rank_group_ == nullptr || !rank_group_->busy())) finish();
  }
  if (stopped_ && rank_group_ != nullptr) {
    rank_group_->signal(SIGKILL);
    while (rank_group_->busy()) loop_.run_once();
    rank_group_->finish(exit_code_);
  }
  // lcrun closes the connection when it has read everything. The agents of the hosts that this
  // helper has started end with these hosts.
  while (!stopped_ && connection_ != nullptr) loop_.run_once();
  agents_.finish();
  return exit_code_;
}

// End.

// Ends the helper without lcrun, and thus the job on this host. Writes `why` to stderr.
void helper::stop(int code, const std::string& why) {
  if (stopped_) return;
  stopped_ = true;
  exit_code_ = code;
  if (connection_ != nullptr) connection_->close();
  connection_ = nullptr;
  agents_.kill_all();
  say(why);
}

void helper::finish() {
  if (rank_group_ != nullptr) rank_group_->finish(exit_code_);
  finished_ = true;
  report(wire::finished{});
}

void helper::signaled(int signal) {
  if (connection_ == nullptr || ++interrupts_ > 1) {
    stop(128 + signal, base::StrCat("ended by signal ", signal));
  } else {
    // lcrun ends the job on all hosts.
    failed(128 + signal, base::StrCat("lcrun on ", base::host_name(), " received signal ", signal,
                                      " (SIG", sigabbrev_np(signal), ")"));
  }
}

void helper::child_changed(pid_t pid, int status) {
  if (!agents_.child_changed(pid, status) && rank_group_ != nullptr) {
    rank_group_->child_changed(pid, status);
  }
}

// Frames of lcrun.

bool helper::on_frame(io::framed_connection&, const io::frame_header& header,
                      std::string_view body) {
  if (header.kind == io::handshake_kind::refused && !adopted_) {
    stop(failed_exit_code, base::StrCat("refused by the job's lcrun: ", printable(body)));
    return true;
  }
  return wire::dispatch<wire::adopted, wire::rank_assignment, wire::signal_ranks, wire::input,
                        wire::output_taken, wire::end>(
      header.kind, body, [&](const auto& frame) { return take(frame); });
}

bool helper::take(const wire::rank_assignment& frame) {
  if (!adopted_ || rank_group_ != nullptr || !is_valid(frame)) return false;
  start(frame);
  return true;
}

bool helper::take(const wire::signal_ranks& frame) {
  if (frame.signal >= static_cast<uint32_t>(NSIG)) return false;
  if (rank_group_ != nullptr) rank_group_->signal(static_cast<int>(frame.signal));
  return true;
}

bool helper::take(const wire::input& frame) {
  if (input_ != nullptr) input_->add(frame.bytes);
  return true;
}

bool helper::take(const wire::output_taken& frame) {
  if (frame.bytes > wire::window - window_) return false;
  window_ += frame.bytes;
  return true;
}

bool helper::take(const wire::end& frame) {
  ending_ = true;
  if (by_hand_ != nullptr) exit_code_ = static_cast<int>(frame.code & 0xff);
  // Usually the ranks have ended.
  if (rank_group_ != nullptr && rank_group_->busy()) rank_group_->signal(SIGKILL);
  return true;
}

void helper::on_end(io::framed_connection&, const std::string& why) {
  connection_ = nullptr;
  if (!finished_) {
    stop(failed_exit_code, base::StrCat("the connection to the job's lcrun is lost (", why, ")"));
  }
}

bool helper::take(const wire::adopted& frame) {
  if (std::exchange(adopted_, true)) return false;
  for (const wire::child& child : frame.children) {
    if (child.command.empty()) continue;
    wire::launch_request request = request_;
    request.node = child.node;
    agents_.start(static_cast<int>(child.node), child.command, request);
  }
  return true;
}

// Replaces the programs of host 0 by those that the user has given on this host.
base::Status helper::take_own_programs(rank_assignment* assigned) const {
  if (by_hand_->programs.size() != assigned->programs.size()) {
    return base::InvalidArgumentError(
        base::StrCat("lcrun was started with another number of programs here (",
                     by_hand_->programs.size(), ") than on host 0 (", assigned->programs.size(),
                     "); start it with the same programs on each host"));
  }
  for (size_t i = 0; i < assigned->programs.size(); ++i) {
    assigned->programs[i].command = by_hand_->programs[i].command;
    assigned->programs[i].wdir = by_hand_->programs[i].wdir;
  }
  return base::OkStatus();
}

void helper::start(rank_assignment assigned) {
  complete(&assigned);
  assigned.own.push_back(base::StrCat("LCI_BOOT_TOKEN=", token_));  // it is not sent
  base::Status found = by_hand_ != nullptr ? take_own_programs(&assigned) : base::OkStatus();
  if (found.ok()) found = find_programs(&assigned);
  if (!found.ok()) {
    failed(exit_code_of(found), base::StrCat(assigned.host, ": ", found.message()));
    report_not_started(assigned);
    return;
  }
  local_rank_group_options options;
  options.output = local_rank_group_options::capture::pipes;
  options.other_children = true;
  if (assigned.stdin_rank != launch_options::no_rank) {
    auto input = rank_input::make(
        &loop_, [this](size_t bytes) { report(wire::input_taken{static_cast<uint32_t>(bytes)}); });
    if (!input.ok()) {
      failed(failed_exit_code, base::StrCat(assigned.host, ": ", input.status().message()));
      report_not_started(assigned);
      return;
    }
    input_ = *std::move(input);
    options.stdin_fd = input_->rank_end();
  }
  rank_group_ = make_local_rank_group(&loop_, this, assigned, options);
  rank_group_->start();
  if (input_ != nullptr) input_->started();
  report_not_started(assigned);
}

// Reports the end of the ranks that do not run, because lcrun waits for the end of each.
void helper::report_not_started(const rank_assignment& assigned) {
  for (const int rank : assigned.ranks) {
    if (rank_group_ == nullptr || !rank_group_->is_running(rank))
      rank_ended(rank, failed_exit_code << 8);
  }
}

}  // namespace

int run_helper() {
  base::StatusOr<wire::launch_request> request = read_launch_request(STDIN_FILENO);
  if (!request.ok()) {
    say(request.status().message());
    return failed_exit_code;
  }
  return helper(*std::move(request), nullptr).run();
}

int run_helper_by_hand(const launch_options& options) {
  return helper(launch_request_of(options, options.node_rank), &options).run();
}

}  // namespace lci::launcher
