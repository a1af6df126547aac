// The frames between lcrun and its helpers on the hosts, in the format of lci/io/framing.h. A body
// consists of the fields of the struct below, in the order of its fields(). A field is a u32, a text
// (u32 size, bytes) or a list (u32 count, elements).
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
// lcrun sends nothing before it has received the peer's preamble. No frame on the connection contains
// the token.
//
// Windows: at most `window` bytes of input, and of output, are unconfirmed by the receiver.
// Therefore each side can always read the connection.
#ifndef LCI_TOOLS_LAUNCHER_WIRE_H_
#define LCI_TOOLS_LAUNCHER_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/io/bytes.h"
#include "lci/io/framed_connection.h"
#include "lci/io/framing.h"
#include "lci/io/handshake.h"

namespace lci::launcher::wire {

constexpr io::protocol protocol = {0x4e52434c, 4, "launcher", "lcrun"};  // the bytes L C R N
constexpr size_t window = size_t{64} << 10;
constexpr uint32_t no_rank = 0xffffffff;

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
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.token, s.node, s.host_timeout_ms, s.start_timeout_ms, s.addresses);
  }
};

struct hello {
  static constexpr kind is = kind::hello;
  uint32_t node = 0;
  uint32_t nodes = 0;       // the number of hosts that it knows; 0: unknown
  std::string host;         // the name of the host
  uint32_t processors = 0;  // that its ranks may use
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.node, s.nodes, s.host, s.processors);
  }
};

// A host that the helper starts.
struct child {
  uint32_t node = 0;
  std::vector<std::string> command;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.node, s.command);
  }
};

struct adopted {
  static constexpr kind is = kind::adopted;
  std::vector<child> children;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.children);
  }
};

// A program of the job. The next program has the ranks after those of this one.
struct program {
  uint32_t first_rank = 0;
  std::vector<std::string> command;
  std::string wdir;
  std::vector<std::string> environment;  // NAME=VALUE
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.first_rank, s.command, s.wdir, s.environment);
  }
};

struct rank_assignment {
  static constexpr kind is = kind::rank_assignment;
  std::string mark;                      // orphan_reaper.h
  std::vector<program> programs;         // ordered by their ranks, beginning with rank 0
  std::vector<std::string> environment;  // NAME=VALUE; added to that of the helper
  std::vector<std::string> own;          // NAME=VALUE; added to that of the program
  std::vector<uint32_t> ranks;           // ascending
  uint32_t stdin_rank = no_rank;
  uint32_t bind_to = 0;  // a value of `binding`
  uint32_t map_by = 0;   // a value of `mapping`
  uint32_t report_bindings = 0;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.mark, s.programs, s.environment, s.own, s.ranks, s.stdin_rank, s.bind_to, s.map_by,
      s.report_bindings);
  }
};

struct signal_ranks {
  static constexpr kind is = kind::signal_ranks;
  uint32_t signal = 0;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.signal);
  }
};

struct input {
  static constexpr kind is = kind::input;
  std::string bytes;  // empty: the end
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.bytes);
  }
};

struct input_taken {
  static constexpr kind is = kind::input_taken;
  uint32_t bytes = 0;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.bytes);
  }
};

struct output {
  static constexpr kind is = kind::output;
  uint32_t rank = 0;
  uint32_t stream = 0;  // 1: stdout, 2: stderr
  std::string bytes;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.rank, s.stream, s.bytes);
  }
};

struct output_taken {
  static constexpr kind is = kind::output_taken;
  uint32_t bytes = 0;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.bytes);
  }
};

struct rank_ended {
  static constexpr kind is = kind::rank_ended;
  uint32_t rank = 0;
  uint32_t status = 0;  // of waitpid(2)
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.rank, s.status);
  }
};

struct rank_stopped {
  static constexpr kind is = kind::rank_stopped;
  uint32_t rank = 0;
  uint32_t stopped = 0;  // 0: continued
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.rank, s.stopped);
  }
};

struct failed {
  static constexpr kind is = kind::failed;
  uint32_t code = 0;  // lcrun's exit code
  std::string what;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.code, s.what);
  }
};

struct agent_line {
  static constexpr kind is = kind::agent_line;
  uint32_t node = 0;
  std::string line;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.node, s.line);
  }
};

struct agent_ended {
  static constexpr kind is = kind::agent_ended;
  uint32_t node = 0;
  std::string how;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.node, s.how);
  }
};

struct end {
  static constexpr kind is = kind::end;
  uint32_t code = 0;  // lcrun's exit code
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.code);
  }
};

struct finished {
  static constexpr kind is = kind::finished;
  template <class Archive, class Self>
  static void fields(Archive&, Self&) {}
};

// Encoding and decoding.

class writer {
 public:
  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }
  std::string bytes;

 private:
  void put(uint32_t number) { io::append_le(&bytes, number, 4); }
  void put(const std::string& text) { io::append_text(&bytes, text); }
  void put(const child& c) { child::fields(*this, c); }
  void put(const program& p) { program::fields(*this, p); }
  template <class Element>
  void put(const std::vector<Element>& list) {
    put(static_cast<uint32_t>(list.size()));
    for (const Element& element : list) put(element);
  }
};

class reader {
 public:
  explicit reader(std::string_view body) : body_(body) {}
  template <class... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }
  // Whether the body contained exactly the fields that were read.
  bool complete() const { return body_.complete(); }

 private:
  void get(uint32_t& number) { number = body_.u32(); }
  void get(std::string& text) { text = std::string(body_.text()); }
  void get(child& c) { child::fields(*this, c); }
  void get(program& p) { program::fields(*this, p); }
  template <class Element>
  void get(std::vector<Element>& list) {
    list.clear();
    // A wrong count ends with the body.
    for (uint32_t left = body_.u32(); left > 0 && body_.ok(); --left) get(list.emplace_back());
  }

  io::body_reader body_;
};

template <class Frame>
std::string encode(const Frame& frame) {
  writer body;
  Frame::fields(body, frame);
  return std::move(body.bytes);
}

template <class Frame>
void send(io::framed_connection& to, const Frame& frame) {
  to.send(static_cast<uint8_t>(Frame::is), 0, encode(frame));
}

// Returns false if the body is not of this kind.
template <class Frame>
bool decode(std::string_view body, Frame* frame) {
  reader from(body);
  Frame::fields(from, *frame);
  return from.complete();
}

}  // namespace lci::launcher::wire

#endif  // LCI_TOOLS_LAUNCHER_WIRE_H_
