#include "tools/launcher/remote_rank_group.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/error_text.h"
#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "lci/io/acceptor.h"
#include "lci/io/framed_connection.h"
#include "lci/io/socket.h"
#include "tools/launcher/addresses.h"
#include "tools/launcher/agents.h"
#include "tools/launcher/binding.h"
#include "tools/launcher/output.h"
#include "tools/launcher/standard_input.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {
namespace {

constexpr int failed_exit_code = 1;
// The number of unauthenticated connections that are accepted in addition to one for each host.
constexpr size_t extra_unauthenticated = 256;

enum class phase { awaited, here, working, gone };

struct host_state {
  std::string name;
  phase now = phase::awaited;
  std::shared_ptr<io::framed_connection> connection;  // while `here` or `working`
  int running = 0;                                    // ranks
  int processors = 0;                                 // 0: not yet known
  size_t output_owed = 0;  // bytes received, but not yet confirmed by output_taken
};

class remote_rank_group final : public rank_group,
                                io::framed_connection::owner,
                                io::acceptor::events,
                                agents::events {
 public:
  remote_rank_group(io::event_loop* loop, rank_group::events* to, const launch_options& options,
                    const job_plan& plan, helper_listener listener, std::string boot_port)
      : loop_(loop),
        to_(to),
        options_(options),
        plan_(plan),
        boot_port_(std::move(boot_port)),
        agents_(loop, this),
        addresses_(std::move(listener.addresses)),
        acceptor_(std::make_unique<io::acceptor>(
            loop, static_cast<io::acceptor::events*>(this), std::move(listener.socket),
            wire::protocol, plan.token, plan.hosts.size() + extra_unauthenticated)),
        is_running_(static_cast<size_t>(plan.ranks)) {
    for (const host_plan& host : plan.hosts) {
      hosts_.push_back({host.name, phase::awaited, nullptr, 0, 0, 0});
    }
  }
  ~remote_rank_group() override {
    loop_->cancel(start_timer_);
    for (const host_state& host : hosts_) {
      if (host.connection != nullptr) host.connection->close();
    }
  }

  void start() override;
  bool busy() const override { return !cancelled_ && (!ranks_assigned_ || running_ > 0); }
  bool is_running(int rank) const override { return is_running_[static_cast<size_t>(rank)]; }
  const std::string& host_of(int rank) const override { return hosts_[node_of(rank)].name; }
  void signal(int signal) override;
  // All children are agents.
  void child_changed(pid_t pid, int status) override { agents_.child_changed(pid, status); }
  void before_wait() override;
  void finish(int code) override;

 private:
  size_t node_of(int rank) const {
    return static_cast<size_t>(plan_.host_of[static_cast<size_t>(rank)]);
  }
  // Whether a host may report about the rank.
  bool is_of(size_t node, uint32_t rank) const {
    return ranks_assigned_ && rank < is_running_.size() && node_of(static_cast<int>(rank)) == node;
  }

  std::string admit(const std::shared_ptr<io::framed_connection>& peer, uint32_t request,
                    std::string_view body) override;
  void cannot_accept(int error) override;
  bool on_frame(io::framed_connection& from, const io::frame_header& header,
                std::string_view body) override;
  void on_end(io::framed_connection& from, const std::string& why) override;
  void agent_line(int node, const std::string& line) override;
  void agent_ended(int node, const std::string& how) override;

  void assign_ranks();
  void wait_for_hosts(std::chrono::milliseconds patience);
  std::string missing_hosts() const;
  // Handle a frame of host `node`. Return false if it is invalid.
  bool take(size_t node, const wire::output& frame);
  bool take(size_t node, const wire::input_taken& frame);
  bool take(size_t node, const wire::rank_ended& frame);
  bool take(size_t node, const wire::rank_stopped& frame);
  bool take(size_t node, const wire::failed& frame);
  bool take(size_t node, const wire::agent_line& frame);
  bool take(size_t node, const wire::agent_ended& frame);
  bool take(size_t node, const wire::finished& frame);
  void gone(size_t node);
  void send_input(std::string_view bytes);

  io::event_loop* const loop_;
  rank_group::events* const to_;
  const launch_options& options_;
  const job_plan& plan_;
  const std::string boot_port_;
  agents agents_;
  const std::vector<std::string> addresses_;  // where helpers connect
  std::unique_ptr<io::acceptor> acceptor_;
  std::vector<host_state> hosts_;
  std::map<const io::framed_connection*, size_t> node_of_connection_;
  size_t here_ = 0;               // hosts that have connected
  std::vector<bool> is_running_;  // by rank
  int running_ = 0;               // ranks of all hosts
  bool ranks_assigned_ = false;
  bool cancelled_ = false;  // before the ranks were assigned
  bool ending_ = false;     // finish() runs
  size_t input_window_ = wire::window;
  std::unique_ptr<standard_input> input_;  // null: no rank reads it, or the rank has ended
  io::steady::time_point begin_;           // of the start
  io::event_loop::id start_timer_ = 0;     // while hosts are awaited
};

// Start.

void remote_rank_group::start() {
  constexpr std::chrono::seconds patience{10};
  begin_ = io::steady::now();
  wait_for_hosts(patience);
  wire::launch_request request = launch_request_of(options_, 0);
  request.token = plan_.token;
  request.addresses = addresses_;
  const size_t first = std::min(hosts_.size(), static_cast<size_t>(options_.fan_out));
  for (size_t node = 0; node < first && !cancelled_; ++node) {
    const std::vector<std::string>& command = plan_.hosts[node].start;
    request.node = static_cast<uint32_t>(node);
    if (!command.empty()) agents_.start(static_cast<int>(node), command, request);
  }
}

// Warns of hosts that have not connected after `patience`, and so on, until --start-timeout.
void remote_rank_group::wait_for_hosts(std::chrono::milliseconds patience) {
  const std::chrono::milliseconds most = options_.start_timeout;
  start_timer_ = loop_->at(begin_ + std::min(patience, most), [this, patience, most] {
    start_timer_ = 0;
    if (ranks_assigned_ || cancelled_) return;
    if (patience >= most) {
      to_->failed(failed_exit_code, base::StrCat("not there after --start-timeout (", text_of(most),
                                                 "): ", missing_hosts()));
      return;
    }
    to_->message(base::StrCat("not there after ", text_of(patience), ": ", missing_hosts(),
                              "; waiting until --start-timeout (", text_of(most), ")"));
    wait_for_hosts(2 * patience);
  });
}

std::string remote_rank_group::missing_hosts() const {
  std::vector<std::string> missing;
  for (const host_state& host : hosts_) {
    if (host.now == phase::awaited) missing.push_back(host.name);
  }
  return base::StrCat(base::StrJoin(missing, ", "), "; it must reach this lcrun at ",
                      base::StrJoin(addresses_, " or "));
}

std::string remote_rank_group::admit(const std::shared_ptr<io::framed_connection>& peer, uint32_t,
                                     std::string_view body) {
  wire::hello hello;
  if (!wire::decode(body, &hello)) return "its hello is malformed";
  if (hello.node >= hosts_.size()) {
    return base::StrCat("it is host ", hello.node, ", but this job has ", hosts_.size());
  }
  if (hello.nodes != 0 && hello.nodes != hosts_.size()) {
    return base::StrCat("it says --nnodes ", hello.nodes, ", but this job has ", hosts_.size());
  }
  host_state& host = hosts_[hello.node];
  if (host.now != phase::awaited || cancelled_ || ending_) {
    return base::StrCat("host ", hello.node, " is not awaited (any more)");
  }
  if (plan_.hosts[hello.node].start.empty()) host.name = printable(hello.host);
  host.now = phase::here;
  host.connection = peer;
  host.processors = static_cast<int>(std::min<uint32_t>(hello.processors, 1 << 20));
  node_of_connection_[peer.get()] = hello.node;
  peer->hand_over(this, wire::max_helper_body);
  io::tune_connection(peer->fd(), options_.host_timeout);
  wire::adopted frame;
  for (const size_t child : children_of(plan_, hello.node, options_.fan_out)) {
    frame.children.push_back({static_cast<uint32_t>(child), plan_.hosts[child].start});
  }
  wire::send(*peer, frame);
  ++here_;
  return "";
}

void remote_rank_group::cannot_accept(int error) {
  to_->failed(failed_exit_code,
              base::StrCat("can't accept the connections of hosts: ", base::error_text(error)));
}

void remote_rank_group::assign_ranks() {
  ranks_assigned_ = true;
  loop_->cancel(std::exchange(start_timer_, 0));
  acceptor_ = nullptr;
  std::vector<host_load> loads;
  for (size_t node = 0; node < hosts_.size(); ++node) {
    host_state& host = hosts_[node];
    host.running = static_cast<int>(plan_.hosts[node].ranks.size());
    loads.push_back({host.name, host.running, host.processors});
  }
  running_ = plan_.ranks;
  is_running_.assign(is_running_.size(), true);
  const std::string overloaded = options_.oversubscribe ? "" : oversubscription(loads);
  if (!overloaded.empty()) to_->message(base::StrCat("warning: ", overloaded));
  for (size_t node = 0; node < hosts_.size(); ++node) {
    host_state& host = hosts_[node];
    if (host.now != phase::here) continue;
    host.now = phase::working;
    // The ranks reach this machine by the address to which their helper has connected.
    const std::string address = io::local_address(host.connection->fd()).value_or("");
    const wire::rank_assignment frame{
        assignment_of(plan_, options_, node,
                      base::StrCat(address.substr(0, address.rfind(':')), ":", boot_port_))};
    if (frame.stdin_rank != launch_options::no_rank) {
      input_ = std::make_unique<standard_input>(
          loop_, [this](std::string_view bytes) { send_input(bytes); });
    }
    wire::send(*host.connection, frame);
  }
}

// Frames of helpers.

bool remote_rank_group::on_frame(io::framed_connection& from, const io::frame_header& header,
                                 std::string_view body) {
  const size_t node = node_of_connection_.at(&from);
  return wire::dispatch<wire::output, wire::input_taken, wire::rank_ended, wire::rank_stopped,
                        wire::failed, wire::agent_line, wire::agent_ended, wire::finished>(
      header.kind, body, [&](const auto& frame) { return take(node, frame); });
}

bool remote_rank_group::take(size_t node, const wire::output& frame) {
  host_state& host = hosts_[node];
  if (!is_of(node, frame.rank) || (frame.stream != 1 && frame.stream != 2) ||
      host.output_owed + frame.bytes.size() > wire::window) {
    return false;
  }
  host.output_owed += frame.bytes.size();
  to_->rank_output(static_cast<int>(frame.rank), static_cast<int>(frame.stream), frame.bytes);
  return true;
}

bool remote_rank_group::take(size_t, const wire::input_taken& frame) {
  if (frame.bytes > wire::window - input_window_) return false;
  input_window_ += frame.bytes;
  return true;
}

bool remote_rank_group::take(size_t node, const wire::rank_ended& frame) {
  if (!is_of(node, frame.rank) || !is_running_[frame.rank]) return false;
  is_running_[frame.rank] = false;
  --hosts_[node].running;
  --running_;
  const auto rank = static_cast<int>(frame.rank);
  if (rank == plan_.stdin_rank) input_ = nullptr;
  to_->rank_ended(rank, static_cast<int>(frame.status));
  return true;
}

bool remote_rank_group::take(size_t node, const wire::rank_stopped& frame) {
  if (!is_of(node, frame.rank)) return false;
  to_->rank_stopped(static_cast<int>(frame.rank), frame.stopped != 0);
  return true;
}

bool remote_rank_group::take(size_t, const wire::failed& frame) {
  const auto code = static_cast<int>(frame.code & 0xff);
  to_->failed(code != 0 ? code : failed_exit_code, printable(frame.what));
  return true;
}

bool remote_rank_group::take(size_t, const wire::agent_line& frame) {
  if (frame.node >= hosts_.size()) return false;
  agent_line(static_cast<int>(frame.node), frame.line);
  return true;
}

bool remote_rank_group::take(size_t, const wire::agent_ended& frame) {
  if (frame.node >= hosts_.size()) return false;
  agent_ended(static_cast<int>(frame.node), frame.how);
  return true;
}

bool remote_rank_group::take(size_t node, const wire::finished&) {
  if (!ending_) return false;
  const std::shared_ptr<io::framed_connection> last = hosts_[node].connection;
  gone(node);
  last->close();
  return true;
}

void remote_rank_group::agent_line(int node, const std::string& line) {
  to_->message(base::StrCat(hosts_[static_cast<size_t>(node)].name, ": ", printable(line)));
}

// Ignores the end of an agent whose helper is connected, because the connection shows a failure.
void remote_rank_group::agent_ended(int node, const std::string& how) {
  const host_state& host = hosts_[static_cast<size_t>(node)];
  if (host.now != phase::awaited || cancelled_ || ending_) return;
  to_->failed(failed_exit_code,
              base::StrCat(host.name, ": no lcrun was started there: the launch agent (",
                           plan_.hosts[static_cast<size_t>(node)].start[0], ") ended with ",
                           printable(how)));
}

void remote_rank_group::on_end(io::framed_connection& from, const std::string& why) {
  const size_t node = node_of_connection_.at(&from);
  host_state& host = hosts_[node];
  const host_plan& plan = plan_.hosts[node];
  running_ -= std::exchange(host.running, 0);
  for (const int rank : plan.ranks) is_running_[static_cast<size_t>(rank)] = false;
  const std::string ranks = base::rank_list(plan.ranks);
  gone(node);
  agents_.kill(static_cast<int>(node));
  to_->failed(failed_exit_code, base::StrCat("host ", host.name, " (", ranks, ") is lost: ", why));
}

void remote_rank_group::gone(size_t node) {
  host_state& host = hosts_[node];
  host.now = phase::gone;
  node_of_connection_.erase(host.connection.get());
  host.connection = nullptr;
}

// Signals, windows and input.

void remote_rank_group::signal(int signal) {
  if (!ranks_assigned_ && (signal == SIGKILL || signal == SIGTERM)) cancelled_ = true;
  for (const host_state& host : hosts_) {
    if (host.now == phase::working && host.running > 0) {
      wire::send(*host.connection, wire::signal_ranks{static_cast<uint32_t>(signal)});
    }
  }
}

void remote_rank_group::before_wait() {
  // Not called from admit(), because assign_ranks() destroys the acceptor.
  if (!ranks_assigned_ && !cancelled_ && !ending_ && here_ == hosts_.size()) assign_ranks();
  if (to_->output_room() > 0) {
    for (host_state& host : hosts_) {
      if (host.output_owed < wire::window / 2 || host.connection == nullptr) continue;
      wire::send(*host.connection, wire::output_taken{static_cast<uint32_t>(host.output_owed)});
      host.output_owed = 0;
    }
  }
  if (input_ != nullptr) input_->before_wait(input_window_);
}

void remote_rank_group::send_input(std::string_view bytes) {
  const host_state& host = hosts_[node_of(plan_.stdin_rank)];
  input_window_ -= bytes.size();
  if (host.connection != nullptr) wire::send(*host.connection, wire::input{std::string(bytes)});
}

// End.

void remote_rank_group::finish(int code) {
  ending_ = true;
  acceptor_ = nullptr;
  loop_->cancel(std::exchange(start_timer_, 0));
  input_ = nullptr;
  for (size_t node = 0; node < hosts_.size(); ++node) {
    host_state& host = hosts_[node];
    if (host.now == phase::awaited) agents_.kill(static_cast<int>(node));
    if (host.connection != nullptr)
      wire::send(*host.connection, wire::end{static_cast<uint32_t>(code)});
  }
  // Each host answers, or its connection ends after --host-timeout.
  while (!node_of_connection_.empty()) {
    before_wait();
    loop_->run_once();
  }
  agents_.finish();
}

}  // namespace

base::StatusOr<std::unique_ptr<rank_group>> make_remote_rank_group(
    io::event_loop* loop, rank_group::events* to, const launch_options& options,
    const job_plan& plan, const io::reachable& at, const std::string& boot_port) {
  base::StatusOr<helper_listener> listener = listen_for_helpers(at, options, plan.token);
  if (!listener.ok()) return listener.status();
  auto made =
      std::make_unique<remote_rank_group>(loop, to, options, plan, *std::move(listener), boot_port);
  return base::StatusOr<std::unique_ptr<rank_group>>(std::move(made));
}

}  // namespace lci::launcher
