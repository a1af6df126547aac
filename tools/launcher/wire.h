// What lcrun and its helpers on the hosts say to each other, on one page. Numbers are
// little-endian.
//
// Each side begins with a preamble: the bytes "LCRN", u16 version, u16 zero; then frames follow:
// u32 bytes of the body, u8 kind, the body. A body is the fields of the struct below, in the order
// of its fields(): u32; text: u32 size and so many bytes; list: u32 count and so many elements.
//
//   on the helper's standard input, from whom starts it, and nothing else there:
//     errand        where to connect, and what to say there
//   on the connection:
//     greeting      to the helper, first: so that it shows its token to its own job only
//     hello         to lcrun: who it is. Answered by refused or adopted.
//     adopted       to the helper: which other hosts it starts (the tree of the start)
//     share         to the helper, when all hosts are there: the ranks to start
//     signal_ranks  to the helper: a signal for its ranks
//     input         to the helper: of lcrun's standard input, for the rank that has it
//     input_taken   to lcrun: so many bytes more may come
//     output        to lcrun: what a rank has written; with no bytes: it has closed this stream
//     output_taken  to the helper: so many bytes more may come
//     rank_ended    to lcrun: a rank's wait status
//     rank_stopped  to lcrun: a rank was stopped or continued
//     failed        to lcrun: something that ends the job
//     agent_said    to lcrun: a line of an agent that this helper has started
//     agent_ended   to lcrun: such an agent is gone
//     end           to the helper: the job is over; ends what the ranks have left behind
//     finished      to lcrun: nothing is left, no more output comes; then the helper goes
//
// Windows: of input and of output at most `window` bytes are under way to a side that has not said
// that it took them, so that neither side ever has to leave the connection unread.
#ifndef LCI_TOOLS_LAUNCHER_WIRE_H_
#define LCI_TOOLS_LAUNCHER_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lci/boot/tcp_wire.h"

namespace lci::launcher::wire {

constexpr uint16_t version = 2;
constexpr char magic[] = {'L', 'C', 'R', 'N'};
constexpr size_t preamble_size = 8;
constexpr size_t header_size = 5;
constexpr size_t window = size_t{64} << 10;
constexpr uint32_t nobody = 0xffffffff;  // no rank

// Limits of a body: from who has not shown the token yet; of what a helper says; of what it hears.
constexpr size_t max_stranger_body = 1024;
constexpr size_t max_helper_body = window + 8192;
constexpr size_t max_lcrun_body = size_t{64} << 20;
// Of a text that is shown to a person.
constexpr size_t max_words = 4096;

enum class kind : uint8_t {
  errand = 1,
  greeting,
  hello,
  refused,
  adopted,
  share,
  signal_ranks,
  input,
  input_taken,
  output,
  output_taken,
  rank_ended,
  rank_stopped,
  failed,
  agent_said,
  agent_ended,
  end,
  finished,
};

struct errand {
  static constexpr kind is = kind::errand;
  std::string job_id;
  std::string token;
  uint32_t node = 0;
  uint32_t host_timeout_ms = 0;   // without a sign of life for so long, the other side is lost
  uint32_t start_timeout_ms = 0;  // to connect
  std::vector<std::string> addresses;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.job_id, s.token, s.node, s.host_timeout_ms, s.start_timeout_ms, s.addresses);
  }
};

struct greeting {
  static constexpr kind is = kind::greeting;
  std::string job_id;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.job_id);
  }
};

struct hello {
  static constexpr kind is = kind::hello;
  std::string token;
  uint32_t node = 0;
  uint32_t nodes = 0;       // how many it thinks there are; 0: was not told
  std::string host;         // its own name
  uint32_t processors = 0;  // that ranks there may use
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.token, s.node, s.nodes, s.host, s.processors);
  }
};

struct refused {
  static constexpr kind is = kind::refused;
  std::string why;
  template <class Archive, class Self>
  static void fields(Archive& a, Self& s) {
    a(s.why);
  }
};

// A host that the helper shall start.
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

// A program of the job. Its ranks end where those of the next program begin.
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

struct share {
  static constexpr kind is = kind::share;
  std::string mark;                      // guard.h
  std::vector<program> programs;         // in the order of their ranks, the first at rank 0
  std::vector<std::string> environment;  // NAME=VALUE; added to that of the helper,
  std::vector<std::string> own;          // and these to that of the program
  std::vector<uint32_t> ranks;           // ascending
  uint32_t stdin_rank = nobody;
  uint32_t bind_to = 0;  // as `binding` counts
  uint32_t map_by = 0;   // as `mapping` counts
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
  std::string bytes;  // none: the end
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
  uint32_t status = 0;  // as waitpid(2) has it
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

struct agent_said {
  static constexpr kind is = kind::agent_said;
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

// ---- encoding and decoding

class writer {
 public:
  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }
  std::string bytes;

 private:
  void put(uint32_t number) { boot::tcp_wire::append_le(&bytes, number, 4); }
  void put(const std::string& text) { boot::tcp_wire::append_text(&bytes, text); }
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
  // Everything was there, and nothing else.
  bool complete() const { return body_.complete(); }

 private:
  void get(uint32_t& number) { number = body_.u32(); }
  void get(std::string& text) { text = std::string(body_.text()); }
  void get(child& c) { child::fields(*this, c); }
  void get(program& p) { program::fields(*this, p); }
  template <class Element>
  void get(std::vector<Element>& list) {
    list.clear();
    // A count that lies ends with the body.
    for (uint32_t left = body_.u32(); left > 0 && body_.ok(); --left) get(list.emplace_back());
  }

  boot::tcp_wire::body_reader body_;
};

inline void append_preamble(std::string* out) {
  out->append(magic, sizeof(magic));
  boot::tcp_wire::append_le(out, version, 2);
  boot::tcp_wire::append_le(out, 0, 2);
}

// An empty text if `bytes` (preamble_size of them) are a preamble of this version; else what they
// are.
std::string check_preamble(std::string_view bytes);

template <class Frame>
void append_frame(std::string* out, const Frame& frame) {
  writer body;
  Frame::fields(body, frame);
  boot::tcp_wire::append_le(out, body.bytes.size(), 4);
  boot::tcp_wire::append_le(out, static_cast<uint8_t>(Frame::is), 1);
  out->append(body.bytes);
}

// False if the body is not one of this kind.
template <class Frame>
bool decode(std::string_view body, Frame* frame) {
  reader from(body);
  Frame::fields(from, *frame);
  return from.complete();
}

enum class taken { frame, incomplete, too_large };
// The frame that `bytes` begin with. `*body` points into `bytes`; what follows it is the rest.
taken take_frame(std::string_view bytes, size_t max_body, kind* which, std::string_view* body);

}  // namespace lci::launcher::wire

#endif  // LCI_TOOLS_LAUNCHER_WIRE_H_
