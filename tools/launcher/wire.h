// The frames between lcrun and its helpers on the hosts, in the format of lci/io/framing.h. A body
// consists of the fields of the struct below (lci/io/record.h).
//
//   On the helper's standard input, from the process that starts the helper, only:
//     launch_request   where to connect, and how to authenticate
//   On the connection:
//     hello            to lcrun: identifies the host. The hello of the handshake
//                      (lci/io/handshake.h), with which each connection begins; answered by its
//                      refused, or by adopted.
//     adopted          to the helper: the other hosts that it starts (the tree of the start)
//     rank_assignment  to the helper, when all hosts have connected: the ranks to start
//     signal_ranks     to the helper: a signal for its ranks
//     input            to the helper: lcrun's standard input, for the rank that reads it
//     input_taken      to lcrun: the number of bytes by which the window opens
//     output           to lcrun: output of a rank; no bytes: the rank has closed the stream
//     output_taken     to the helper: the number of bytes by which the window opens
//     rank_ended       to lcrun: the wait status of a rank
//     rank_stopped     to lcrun: a rank was stopped or continued
//     failed           to lcrun: a failure that ends the job
//     agent_line       to lcrun: a line of an agent that this helper has started
//     agent_ended      to lcrun: the end of such an agent
//     end              to the helper: the job has ended; end the processes that are left
//     finished         to lcrun: no process is left, and no more output follows. The helper exits.
//
// lcrun sends nothing before it has received the peer's preamble. No frame on the connection
// contains the token.
//
// Windows: at most `window` bytes of input, and of output, are unconfirmed by the receiver.
// Therefore each side can always read the connection.
#ifndef LCI_TOOLS_LAUNCHER_WIRE_H_
#define LCI_TOOLS_LAUNCHER_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lci/io/framed_connection.h"
#include "lci/io/framing.h"
#include "lci/io/handshake.h"
#include "lci/io/record.h"
#include "tools/launcher/rank_assignment.h"

namespace lci::launcher::wire {

constexpr io::protocol protocol = {0x4e52434c, 4, "launcher", "lcrun"};  // the bytes L C R N
constexpr size_t window = size_t{64} << 10;

// The largest body from a helper and from lcrun.
constexpr size_t max_helper_body = window + 8192;
constexpr size_t max_lcrun_body = size_t{64} << 20;
// The largest text that is shown to the user.
constexpr size_t max_text_size = 4096;

enum class kind : uint8_t {
  launch_request = 1,
  adopted,
  rank_assignment,
  signal_ranks,
  input,
  input_taken,
  output,
  output_taken,
  rank_ended,
  rank_stopped,
  failed,
  agent_line,
  agent_ended,
  end,
  finished,
  hello = io::handshake_kind::hello,
};

struct launch_request {
  static constexpr kind is = kind::launch_request;
  std::string token;
  uint32_t node = 0;
  uint32_t host_timeout_ms = 0;   // a peer that does not answer for this time is lost
  uint32_t start_timeout_ms = 0;  // to connect
  std::vector<std::string> addresses;
  static constexpr auto fields = std::make_tuple(
      &launch_request::token, &launch_request::node, &launch_request::host_timeout_ms,
      &launch_request::start_timeout_ms, &launch_request::addresses);
};

struct hello {
  static constexpr kind is = kind::hello;
  uint32_t node = 0;
  uint32_t nodes = 0;       // the number of hosts that it knows; 0: unknown
  std::string host;         // the name of the host
  uint32_t processors = 0;  // that its ranks may use
  static constexpr auto fields =
      std::make_tuple(&hello::node, &hello::nodes, &hello::host, &hello::processors);
};

// A host that the helper starts.
struct child {
  uint32_t node = 0;
  std::vector<std::string> command;
  static constexpr auto fields = std::make_tuple(&child::node, &child::command);
};

struct adopted {
  static constexpr kind is = kind::adopted;
  std::vector<child> children;
  static constexpr auto fields = std::make_tuple(&adopted::children);
};

// The ranks of a host, without the names of the host and of the files of its programs.
struct rank_assignment : launcher::rank_assignment {
  static constexpr kind is = kind::rank_assignment;
};

struct signal_ranks {
  static constexpr kind is = kind::signal_ranks;
  uint32_t signal = 0;
  static constexpr auto fields = std::make_tuple(&signal_ranks::signal);
};

struct input {
  static constexpr kind is = kind::input;
  std::string bytes;  // empty: the end
  static constexpr auto fields = std::make_tuple(&input::bytes);
};

struct input_taken {
  static constexpr kind is = kind::input_taken;
  uint32_t bytes = 0;
  static constexpr auto fields = std::make_tuple(&input_taken::bytes);
};

struct output {
  static constexpr kind is = kind::output;
  uint32_t rank = 0;
  uint32_t stream = 0;  // 1: stdout, 2: stderr
  std::string bytes;
  static constexpr auto fields = std::make_tuple(&output::rank, &output::stream, &output::bytes);
};

struct output_taken {
  static constexpr kind is = kind::output_taken;
  uint32_t bytes = 0;
  static constexpr auto fields = std::make_tuple(&output_taken::bytes);
};

struct rank_ended {
  static constexpr kind is = kind::rank_ended;
  uint32_t rank = 0;
  uint32_t status = 0;  // of waitpid(2)
  static constexpr auto fields = std::make_tuple(&rank_ended::rank, &rank_ended::status);
};

struct rank_stopped {
  static constexpr kind is = kind::rank_stopped;
  uint32_t rank = 0;
  uint32_t stopped = 0;  // 0: continued
  static constexpr auto fields = std::make_tuple(&rank_stopped::rank, &rank_stopped::stopped);
};

struct failed {
  static constexpr kind is = kind::failed;
  uint32_t code = 0;  // lcrun's exit code
  std::string what;
  static constexpr auto fields = std::make_tuple(&failed::code, &failed::what);
};

struct agent_line {
  static constexpr kind is = kind::agent_line;
  uint32_t node = 0;
  std::string line;
  static constexpr auto fields = std::make_tuple(&agent_line::node, &agent_line::line);
};

struct agent_ended {
  static constexpr kind is = kind::agent_ended;
  uint32_t node = 0;
  std::string how;
  static constexpr auto fields = std::make_tuple(&agent_ended::node, &agent_ended::how);
};

struct end {
  static constexpr kind is = kind::end;
  uint32_t code = 0;  // lcrun's exit code
  static constexpr auto fields = std::make_tuple(&end::code);
};

struct finished {
  static constexpr kind is = kind::finished;
  static constexpr auto fields = std::make_tuple();
};

template <class Frame>
std::string encode(const Frame& frame) {
  std::string body;
  io::append_record(&body, frame);
  return body;
}

template <class Frame>
void send(io::framed_connection& to, const Frame& frame) {
  to.send(static_cast<uint8_t>(Frame::is), 0, encode(frame));
}

// Returns false if the body is not of this kind.
template <class Frame>
bool decode(std::string_view body, Frame* frame) {
  return io::decode_record(body, frame);
}

// Decodes a frame of one of the kinds of `Frames`, and returns take(frame). Returns false if the
// frame is of another kind, or its body not of this kind.
template <class... Frames, class Take>
bool dispatch(uint8_t received, std::string_view body, const Take& take) {
  const auto is_taken = [&](auto frame) { return decode(body, &frame) && take(frame); };
  return ((static_cast<kind>(received) == Frames::is && is_taken(Frames{})) || ...);
}

}  // namespace lci::launcher::wire

#endif  // LCI_TOOLS_LAUNCHER_WIRE_H_
