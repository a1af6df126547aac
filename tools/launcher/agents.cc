#include "tools/launcher/agents.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "lci/base/strings.h"
#include "lci/io/framing.h"
#include "tools/launcher/pipe.h"
#include "tools/launcher/process.h"

namespace lci::launcher {
namespace {

// For agents, after their helpers have finished.
constexpr std::chrono::seconds time_to_end(5);

}  // namespace

agents::~agents() {
  for (auto& [node, one] : running_) {
    ::kill(-one.pid, SIGKILL);
    loop_->forget(one.watched);
  }
}

void agents::start(int node, const std::vector<std::string>& command,
                   const wire::launch_request& request) {
  std::string text;
  io::append_preamble(&text, wire::protocol);
  io::append_frame(&text, static_cast<uint8_t>(wire::kind::launch_request), 0,
                   wire::encode(request));
  base::StatusOr<pipe_ends> in = make_pipe("no pipe");
  base::StatusOr<pipe_ends> out = in.ok() ? make_pipe("no pipe") : in.status();
  const int agent_out = out.ok() ? out->write.get() : -1;
  const base::StatusOr<pid_t> pid =
      out.ok() ? start_agent(command, in->read.get(), agent_out, agent_out) : out.status();
  if (!pid.ok()) return to_->agent_ended(node, std::string(pid.status().message()));
  // A launch request fits into a pipe, so this write does not block. An agent that does not read it
  // reports an error of its own.
  if (write(in->write.get(), text.data(), text.size()) < 0 && errno != EPIPE) {
    ::kill(*pid, SIGKILL);
  }
  agent& mine = running_[node];
  mine.pid = *pid;
  mine.output = std::move(out->read);
  const int fd = mine.output.get();
  fcntl(fd, F_SETFL, O_NONBLOCK);
  mine.watched = loop_->watch(fd, POLLIN, [this, node, &mine] { read(node, &mine); });
}

// Returns false if no output is available now.
bool agents::read(int node, agent* from) {
  char block[4096];
  const ssize_t n = ::read(from->output.get(), block, sizeof(block));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    loop_->change(from->watched, 0);
    return false;
  }
  for (const char c : std::string_view(block, static_cast<size_t>(n))) {
    if (c == '\n' || from->line.size() == wire::max_text_size) take_line(node, from);
    if (c != '\n' && c != '\r') from->line.push_back(c);
  }
  return true;
}

void agents::take_line(int node, agent* from) {
  if (from->line.empty()) return;
  from->last_line = std::exchange(from->line, "");
  to_->agent_line(node, from->last_line);
}

bool agents::child_changed(pid_t pid, int status) {
  for (auto at = running_.begin(); at != running_.end(); ++at) {
    if (at->second.pid != pid) continue;
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) return true;
    const int node = at->first;
    agent& one = at->second;
    while (read(node, &one)) {
    }
    take_line(node, &one);
    const std::string how =
        base::StrCat(describe_status(status), one.last_line.empty() ? "" : ": ", one.last_line);
    loop_->forget(one.watched);
    running_.erase(at);
    to_->agent_ended(node, how);
    return true;
  }
  return false;
}

void agents::kill(int node) {
  const auto found = running_.find(node);
  if (found != running_.end()) ::kill(-found->second.pid, SIGKILL);
}

void agents::kill_all() {
  for (const auto& [node, one] : running_) ::kill(-one.pid, SIGKILL);
}

void agents::finish() {
  bool late = false;
  const io::event_loop::id timer = loop_->at(io::steady::now() + time_to_end, [&] { late = true; });
  while (!running_.empty() && !late) loop_->run_once();
  if (!late) loop_->cancel(timer);
}

wire::launch_request launch_request_of(const launch_options& options, int node) {
  wire::launch_request request;
  request.node = static_cast<uint32_t>(node);
  request.host_timeout_ms = static_cast<uint32_t>(options.host_timeout.count());
  request.start_timeout_ms = static_cast<uint32_t>(options.start_timeout.count());
  return request;
}

base::StatusOr<wire::launch_request> read_launch_request(int fd) {
  using item = io::frame_reader::item;
  io::frame_reader in(wire::protocol);
  while (true) {
    io::frame_header header;
    std::string_view body;
    item found = in.next(wire::max_text_size, &header, &body);
    if (found == item::preamble) found = in.next(wire::max_text_size, &header, &body);
    if (found == item::invalid) {
      return base::InvalidArgumentError(base::StrCat(
          "the bytes on standard input are not a launch request of lcrun: ", in.error().message()));
    }
    if (found == item::frame) {
      wire::launch_request request;
      if (static_cast<wire::kind>(header.kind) == wire::kind::launch_request &&
          wire::decode(body, &request)) {
        return request;
      }
      return base::InvalidArgumentError("the bytes on standard input are not from lcrun");
    }
    char block[512];
    const ssize_t n = read(fd, block, sizeof(block));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return base::InvalidArgumentError(
          "lcrun's launch request does not arrive on standard input; the launch agent must pass it "
          "on");
    }
    in.add(std::string_view(block, static_cast<size_t>(n)));
  }
}

}  // namespace lci::launcher
