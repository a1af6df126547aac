#include "tools/launcher/remote_crew.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "lci/boot/socket.h"
#include "tools/launcher/agents.h"
#include "tools/launcher/binding.h"
#include "tools/launcher/door.h"
#include "tools/launcher/guard.h"
#include "tools/launcher/link.h"
#include "tools/launcher/output.h"
#include "tools/launcher/uri.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {
namespace {

constexpr int failed_exit_code = 1;
// That helpers have finished: they only kill, and write what is left.
constexpr std::chrono::seconds agents_end(5);
// More strangers than helpers that may come at the same time.
constexpr size_t strange_strangers = 256;

enum class phase { awaited, here, working, gone };

struct host_state {
  std::string name;
  phase now = phase::awaited;
  std::shared_ptr<link> connection;  // while here or working
  std::vector<bool> running;         // by local rank
  int running_count = 0;
  int processors = 0;      // 0: not known yet
  size_t output_owed = 0;  // bytes that have come, and that it has not been told are taken
};

class remote_crew final : public crew, link::owner, door::events, agents::events {
 public:
  remote_crew(event_loop* loop, crew::events* to, const launch_options& options,
              const job_plan& plan, std::string boot_port)
      : loop_(loop),
        to_(to),
        options_(options),
        plan_(plan),
        boot_port_(std::move(boot_port)),
        agents_(loop, this) {
    for (const host_plan& host : plan.hosts) {
      hosts_.push_back({host.name, phase::awaited, nullptr, {}, 0, 0, 0});
    }
  }
  ~remote_crew() override {
    loop_->cancel(start_timer_);
    loop_->forget(input_watched_);
    for (const host_state& host : hosts_) {
      if (host.connection != nullptr) host.connection->close();
    }
  }

  base::Status open_door(const reachable& at);

  void start() override;
  bool busy() const override { return !cancelled_ && (!shared_out_ || running_ > 0); }
  bool is_running(int rank) const override {
    const size_t node = node_of(rank);
    const size_t local = local_rank(node, rank);
    return local < hosts_[node].running.size() && hosts_[node].running[local];
  }
  const std::string& host_of(int rank) const override { return hosts_[node_of(rank)].name; }
  void signal(int signal) override;
  bool child_ended(pid_t pid, int status) override { return agents_.child_ended(pid, status); }
  void child_stopped(pid_t, bool) override {}  // an agent; helpers report their ranks
  void before_wait() override;
  void finish(int code) override;

 private:
  size_t node_of(int rank) const {
    return static_cast<size_t>(plan_.host_of[static_cast<size_t>(rank)]);
  }
  // SIZE_MAX: it is not a rank of this host.
  size_t local_rank(size_t node, int rank) const {
    const std::vector<int>& ranks = plan_.hosts[node].ranks;
    const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank);
    if (found == ranks.end() || *found != rank) return SIZE_MAX;
    return static_cast<size_t>(found - ranks.begin());
  }

  std::string admit(const std::shared_ptr<link>& who, const wire::hello& said) override;
  bool on_frame(link& from, wire::kind kind, std::string_view body) override;
  void on_end(link& from, const std::string& why) override;
  void agent_said(int node, const std::string& line) override;
  void agent_ended(int node, const std::string& how) override;

  wire::errand errand_for(size_t node) const;
  std::vector<size_t> children_of(size_t node) const;
  void share_out();
  void warn_of_oversubscription();
  void start_is_late();
  bool rank_ended(size_t node, const wire::rank_ended& frame);
  bool output(size_t node, const wire::output& frame);
  void lose(size_t node, const std::string& why);
  void gone(size_t node);
  void read_input();

  event_loop* const loop_;
  crew::events* const to_;
  const launch_options& options_;
  const job_plan& plan_;
  const std::string boot_port_;
  agents agents_;
  std::vector<std::string> addresses_;  // where helpers come to
  std::unique_ptr<door> door_;
  std::vector<host_state> hosts_;
  std::map<const link*, size_t> node_of_link_;
  size_t here_ = 0;  // hosts that are or were
  int running_ = 0;  // ranks
  bool shared_out_ = false;
  bool cancelled_ = false;  // before that
  bool ending_ = false;     // finish() runs
  size_t input_window_ = wire::window;
  event_loop::id input_watched_ = 0;
  event_loop::id start_timer_ = 0;
};

// ---- start

base::Status remote_crew::open_door(const reachable& at) {
  const bool said = is_address(options_.endpoint);
  base::StatusOr<boot::unique_fd> listener =
      boot::listen_on(said ? options_.endpoint : base::StrCat(at.bind, ":0"));
  if (!listener.ok()) return listener.status();
  // What a host may send unasked fits into what we receive without reading.
  const int size = 4 * wire::window;
  setsockopt(listener->get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
  const base::StatusOr<std::string> listening = boot::local_address(listener->get());
  if (!listening.ok()) return listening.status();
  const std::string port = listening->substr(listening->rfind(':'));
  if (said) {
    const std::string host = options_.endpoint.substr(0, options_.endpoint.rfind(':'));
    addresses_ = {base::StrCat(host, port)};
  } else {
    for (const std::string& address : at.addresses) {
      addresses_.push_back(base::StrCat(address, port));
    }
  }
  if (!options_.report_uri.empty()) {
    const base::Status s = write_uri(options_.report_uri, {addresses_[0], plan_.token});
    if (!s.ok()) return s;
  }
  door_ = std::make_unique<door>(loop_, static_cast<door::events*>(this), *std::move(listener),
                                 plan_.id, plan_.token, plan_.hosts.size() + strange_strangers);
  return base::OkStatus();
}

wire::errand remote_crew::errand_for(size_t node) const {
  wire::errand errand;
  errand.job_id = plan_.id;
  errand.token = plan_.token;
  errand.node = static_cast<uint32_t>(node);
  errand.host_timeout_ms = static_cast<uint32_t>(options_.host_timeout.count());
  errand.start_timeout_ms = static_cast<uint32_t>(options_.start_timeout.count());
  errand.addresses = addresses_;
  return errand;
}

// Of the tree in which hosts are started: lcrun starts the first `fan_out`, the first of these the
// next so many.
std::vector<size_t> remote_crew::children_of(size_t node) const {
  std::vector<size_t> children;
  const auto width = static_cast<size_t>(options_.fan_out);
  for (size_t i = 0; i < width && width * (node + 1) + i < hosts_.size(); ++i) {
    children.push_back(width * (node + 1) + i);
  }
  return children;
}

void remote_crew::start() {
  start_timer_ = loop_->at(steady::now() + options_.start_timeout, [this] { start_is_late(); });
  const size_t first = std::min(hosts_.size(), static_cast<size_t>(options_.fan_out));
  for (size_t node = 0; node < first && !cancelled_; ++node) {
    const std::vector<std::string>& command = plan_.hosts[node].start;
    if (!command.empty()) agents_.start(static_cast<int>(node), command, errand_for(node));
  }
}

void remote_crew::start_is_late() {
  start_timer_ = 0;
  if (shared_out_ || cancelled_) return;
  std::vector<std::string> missing;
  for (const host_state& host : hosts_) {
    if (host.now == phase::awaited) missing.push_back(host.name);
  }
  to_->failed(
      failed_exit_code,
      base::StrCat("not there after --start-timeout (", options_.start_timeout.count() / 1000,
                   " s): ", base::StrJoin(missing, ", "), "; it must reach this lcrun at ",
                   base::StrJoin(addresses_, " or ")));
}

std::string remote_crew::admit(const std::shared_ptr<link>& who, const wire::hello& said) {
  if (said.node >= hosts_.size()) {
    return base::StrCat("it is host ", said.node, ", but this job has ", hosts_.size());
  }
  if (said.nodes != 0 && said.nodes != hosts_.size()) {
    return base::StrCat("it says --nnodes ", said.nodes, ", but this job has ", hosts_.size());
  }
  host_state& host = hosts_[said.node];
  if (host.now != phase::awaited || cancelled_ || ending_) {
    return base::StrCat("host ", said.node, " is not awaited (any more)");
  }
  if (plan_.hosts[said.node].start.empty()) host.name = printable(said.host);
  host.now = phase::here;
  host.connection = who;
  host.processors = static_cast<int>(std::min<uint32_t>(said.processors, 1 << 20));
  node_of_link_[who.get()] = said.node;
  who->hand_over(this, wire::max_helper_body);
  who->set_timeout(options_.host_timeout);
  wire::adopted frame;
  for (const size_t child : children_of(said.node)) {
    frame.children.push_back({static_cast<uint32_t>(child), plan_.hosts[child].start});
  }
  who->send(frame);
  ++here_;
  return "";
}

void remote_crew::warn_of_oversubscription() {
  if (options_.oversubscribe) return;
  std::vector<host_load> loads;
  for (const host_state& host : hosts_) {
    loads.push_back({host.name, host.running_count, host.processors});
  }
  const std::string hosts = oversubscription(loads);
  if (!hosts.empty()) to_->said(base::StrCat("warning: ", hosts));
}

void remote_crew::share_out() {
  shared_out_ = true;
  loop_->cancel(std::exchange(start_timer_, 0));
  door_ = nullptr;
  for (size_t node = 0; node < hosts_.size(); ++node) {
    const host_plan& plan = plan_.hosts[node];
    host_state& host = hosts_[node];
    host.running.assign(plan.ranks.size(), true);
    host.running_count = static_cast<int>(plan.ranks.size());
    running_ += host.running_count;
  }
  warn_of_oversubscription();
  for (size_t node = 0; node < hosts_.size(); ++node) {
    const host_plan& plan = plan_.hosts[node];
    host_state& host = hosts_[node];
    if (host.now != phase::here) continue;
    host.now = phase::working;
    wire::share frame;
    frame.mark = mark_of(plan_.id, static_cast<int>(node));
    for (const program_plan& program : plan_.programs) {
      frame.programs.push_back({static_cast<uint32_t>(program.first_rank), program.command,
                                program.wdir, program.environment});
    }
    frame.environment = plan_.sent;
    frame.own = plan_.own;
    // Where this helper has reached us its ranks do, too.
    const std::string address = boot::local_address(host.connection->fd()).value_or("");
    frame.own.push_back(
        base::StrCat("LCI_BOOT_ADDR=", address.substr(0, address.rfind(':')), ":", boot_port_));
    frame.own.push_back(base::StrCat("LCI_BOOT_TOKEN=", plan_.token));
    frame.ranks.assign(plan.ranks.begin(), plan.ranks.end());
    frame.bind_to = static_cast<uint32_t>(binding_of(options_));
    frame.map_by = static_cast<uint32_t>(options_.map_by);
    frame.report_bindings = options_.report_bindings ? 1 : 0;
    if (plan_.stdin_rank >= 0 && node_of(plan_.stdin_rank) == node) {
      frame.stdin_rank = static_cast<uint32_t>(plan_.stdin_rank);
      input_watched_ = loop_->watch(STDIN_FILENO, POLLIN, [this] { read_input(); });
    }
    host.connection->send(frame);
  }
}

// ---- what helpers say

bool remote_crew::on_frame(link& from, wire::kind kind, std::string_view body) {
  const size_t node = node_of_link_.at(&from);
  host_state& host = hosts_[node];
  switch (kind) {
    case wire::kind::output: {
      wire::output frame;
      return wire::decode(body, &frame) && output(node, frame);
    }
    case wire::kind::input_taken: {
      wire::input_taken frame;
      if (!wire::decode(body, &frame) || frame.bytes > wire::window - input_window_) return false;
      input_window_ += frame.bytes;
      return true;
    }
    case wire::kind::rank_ended: {
      wire::rank_ended frame;
      return wire::decode(body, &frame) && rank_ended(node, frame);
    }
    case wire::kind::rank_stopped: {
      wire::rank_stopped frame;
      if (!wire::decode(body, &frame)) return false;
      const auto rank = static_cast<int>(std::min<uint32_t>(frame.rank, INT_MAX));
      if (local_rank(node, rank) >= host.running.size()) return false;
      to_->rank_stopped(rank, frame.stopped != 0);
      return true;
    }
    case wire::kind::failed: {
      wire::failed frame;
      if (!wire::decode(body, &frame)) return false;
      const auto code = static_cast<int>(frame.code & 0xff);
      to_->failed(code != 0 ? code : failed_exit_code, printable(frame.what));
      return true;
    }
    case wire::kind::agent_said: {
      wire::agent_said frame;
      if (!wire::decode(body, &frame) || frame.node >= hosts_.size()) return false;
      agent_said(static_cast<int>(frame.node), frame.line);
      return true;
    }
    case wire::kind::agent_ended: {
      wire::agent_ended frame;
      if (!wire::decode(body, &frame) || frame.node >= hosts_.size()) return false;
      agent_ended(static_cast<int>(frame.node), frame.how);
      return true;
    }
    case wire::kind::finished: {
      wire::finished frame;
      if (!ending_ || !wire::decode(body, &frame)) return false;
      const std::shared_ptr<link> last = host.connection;
      gone(node);
      last->close();
      return true;
    }
    default:
      return false;
  }
}

bool remote_crew::rank_ended(size_t node, const wire::rank_ended& frame) {
  host_state& host = hosts_[node];
  const size_t local = local_rank(node, static_cast<int>(frame.rank));
  if (local >= host.running.size() || !host.running[local]) return false;
  host.running[local] = false;
  --host.running_count;
  --running_;
  const auto rank = static_cast<int>(frame.rank);
  if (rank == plan_.stdin_rank) loop_->forget(std::exchange(input_watched_, 0));
  to_->rank_ended(rank, static_cast<int>(frame.status));
  return true;
}

bool remote_crew::output(size_t node, const wire::output& frame) {
  host_state& host = hosts_[node];
  if (local_rank(node, static_cast<int>(frame.rank)) >= host.running.size() ||
      (frame.stream != 1 && frame.stream != 2) ||
      host.output_owed + frame.bytes.size() > wire::window) {
    return false;
  }
  host.output_owed += frame.bytes.size();
  to_->rank_output(static_cast<int>(frame.rank), static_cast<int>(frame.stream), frame.bytes);
  return true;
}

void remote_crew::agent_said(int node, const std::string& line) {
  to_->said(base::StrCat(hosts_[static_cast<size_t>(node)].name, ": ", printable(line)));
}

// What ends an agent whose helper is connected shows at the connection.
void remote_crew::agent_ended(int node, const std::string& how) {
  const host_state& host = hosts_[static_cast<size_t>(node)];
  if (host.now != phase::awaited || cancelled_ || ending_) return;
  to_->failed(failed_exit_code,
              base::StrCat(host.name, ": no lcrun was started there: the launch agent (",
                           plan_.hosts[static_cast<size_t>(node)].start[0], ") ended with ",
                           printable(how)));
}

void remote_crew::on_end(link& from, const std::string& why) { lose(node_of_link_.at(&from), why); }

void remote_crew::lose(size_t node, const std::string& why) {
  host_state& host = hosts_[node];
  const host_plan& plan = plan_.hosts[node];
  running_ -= std::exchange(host.running_count, 0);
  std::fill(host.running.begin(), host.running.end(), false);
  const std::string ranks = base::rank_list(plan.ranks);
  gone(node);
  agents_.kill(static_cast<int>(node));
  to_->failed(failed_exit_code, base::StrCat("host ", host.name, " (", ranks, ") is lost: ", why));
}

void remote_crew::gone(size_t node) {
  host_state& host = hosts_[node];
  host.now = phase::gone;
  node_of_link_.erase(host.connection.get());
  host.connection = nullptr;
}

// ---- while it runs

void remote_crew::signal(int signal) {
  if (!shared_out_ && (signal == SIGKILL || signal == SIGTERM)) cancelled_ = true;
  for (const host_state& host : hosts_) {
    if (host.now == phase::working && host.running_count > 0) {
      host.connection->send(wire::signal_ranks{static_cast<uint32_t>(signal)});
    }
  }
}

void remote_crew::before_wait() {
  // Not where the last host is admitted: the door is on the stack there.
  if (!shared_out_ && !cancelled_ && !ending_ && here_ == hosts_.size()) share_out();
  if (to_->output_room() > 0) {
    for (host_state& host : hosts_) {
      if (host.output_owed < wire::window / 2 || host.connection == nullptr) continue;
      host.connection->send(wire::output_taken{static_cast<uint32_t>(host.output_owed)});
      host.output_owed = 0;
    }
  }
  if (input_watched_ != 0) {
    // A job in the background that reads the terminal would be stopped.
    const bool background = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp();
    loop_->change(input_watched_,
                  static_cast<short>(input_window_ > 0 && !background ? POLLIN : 0));
  }
}

void remote_crew::read_input() {
  host_state& host = hosts_[node_of(plan_.stdin_rank)];
  char block[16384];
  const ssize_t n = read(STDIN_FILENO, block, std::min(sizeof(block), input_window_));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const size_t size = n > 0 ? static_cast<size_t>(n) : 0;  // an error is the end, too
  input_window_ -= size;
  if (host.connection != nullptr) host.connection->send(wire::input{std::string(block, size)});
  if (size == 0) loop_->forget(std::exchange(input_watched_, 0));
}

// ---- end

void remote_crew::finish(int code) {
  ending_ = true;
  door_ = nullptr;
  loop_->cancel(std::exchange(start_timer_, 0));
  loop_->forget(std::exchange(input_watched_, 0));
  for (size_t node = 0; node < hosts_.size(); ++node) {
    host_state& host = hosts_[node];
    if (host.now == phase::awaited) agents_.kill(static_cast<int>(node));
    if (host.connection != nullptr) host.connection->send(wire::end{static_cast<uint32_t>(code)});
  }
  // Each host answers, or its connection ends by --host-timeout.
  while (!node_of_link_.empty()) {
    before_wait();
    loop_->run_once();
  }
  bool late = false;
  const event_loop::id timer = loop_->at(steady::now() + agents_end, [&] {
    late = true;
    agents_.kill_all();
  });
  while (agents_.any()) loop_->run_once();
  if (!late) loop_->cancel(timer);
}

}  // namespace

base::StatusOr<std::unique_ptr<crew>> make_remote_crew(event_loop* loop, crew::events* to,
                                                       const launch_options& options,
                                                       const job_plan& plan, const reachable& at,
                                                       const std::string& boot_port) {
  auto made = std::make_unique<remote_crew>(loop, to, options, plan, boot_port);
  if (base::Status s = made->open_door(at); !s.ok()) return s;
  return base::StatusOr<std::unique_ptr<crew>>(std::move(made));
}

}  // namespace lci::launcher
