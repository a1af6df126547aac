// The bytes of a connection after its handshake: a preamble and frames of the bootstrap or of the
// launcher. A reader finds the same in them however they are divided; the state of a job survives
// them, and so do the decoders of the launcher's frames.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "lci/boot/bootstrap_state.h"
#include "lci/boot/tcp_wire.h"
#include "lci/io/framing.h"
#include "lci/io/record.h"
#include "tools/launcher/wire.h"

namespace {

namespace boot = lci::boot;
namespace io = lci::io;
namespace wire = lci::launcher::wire;

constexpr uint64_t max_body = 4096;

void check(bool is_true) {
  if (!is_true) std::abort();
}

struct item {
  io::frame_reader::item what{};
  io::frame_header header{};
  std::string body;  // of a frame; the error of what is invalid
  friend bool operator==(const item& a, const item& b) {
    return a.what == b.what && a.header.body_size == b.header.body_size &&
           a.header.kind == b.header.kind && a.header.request == b.header.request &&
           a.body == b.body;
  }
};

// Returns the frames that a reader finds in `bytes`, which arrive in pieces of `piece` bytes.
std::vector<item> read(const io::protocol& of, std::string_view bytes, size_t piece) {
  std::vector<item> items;
  io::frame_reader in(of);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    in.add(bytes.substr(at, piece));
    for (;;) {
      item found;
      std::string_view body;
      found.what = in.next(max_body, &found.header, &body);
      if (found.what == io::frame_reader::item::none) break;
      const bool is_invalid = found.what == io::frame_reader::item::invalid;
      found.body = std::string(is_invalid ? in.error().message() : body);
      check(found.body.size() <= max_body && (!is_invalid || !in.error().ok()));
      items.push_back(found);
      if (is_invalid) return items;
    }
  }
  return items;
}

// A job of two ranks. Each frame is one of the rank that the last bit of its request names.
class job final : boot::bootstrap_state::output {
 public:
  job() {
    for (const uint32_t rank : {0u, 1u}) join(rank);
  }

  void frame(const item& received) {
    const int rank = static_cast<int>(received.header.request & 1);
    if (received.header.kind == io::handshake_kind::hello) {
      boot::tcp_wire::hello hello;
      io::decode_record(received.body, &hello);
      return;
    }
    const auto what = static_cast<boot::tcp_wire::kind>(received.header.kind);
    const bool is_valid = state_.frame(rank, what, received.header.request, received.body);
    const bool has_left = is_valid && what == boot::tcp_wire::kind::leave;
    if (!is_valid) state_.lost(rank);
    if (is_valid && !has_left) return;
    check(state_.state(rank) != boot::rank_state::connected);
    join(static_cast<uint32_t>(rank));
  }

 private:
  void join(uint32_t rank) { state_.hello(1, {rank, 2, 0, 0, "node"}); }

  void send(int rank, boot::tcp_wire::kind, uint32_t,
            boot::bootstrap_state::shared_body body) override {
    check((rank == 0 || rank == 1) && body != nullptr);
  }
  void waiting() override {}
  void starting() override {}

  boot::bootstrap_state state_{2, "job", this};
};

// A frame that is decoded is encoded to the same bytes.
template <class Frame>
void decode(const std::string& body) {
  Frame frame;
  if (wire::decode(body, &frame)) check(wire::encode(frame) == body);
}

void launcher_frame(const item& received) {
  decode<wire::launch_request>(received.body);
  decode<wire::hello>(received.body);
  decode<wire::adopted>(received.body);
  decode<wire::rank_assignment>(received.body);
  decode<wire::output>(received.body);
  decode<wire::rank_ended>(received.body);
  decode<wire::failed>(received.body);
  decode<wire::finished>(received.body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const io::protocol& of : {boot::tcp_wire::protocol, wire::protocol}) {
    const std::vector<item> items = read(of, bytes, size + 1);
    for (const size_t piece : {1, 7, 24}) check(read(of, bytes, piece) == items);
    job state;
    for (const item& each : items) {
      if (each.what != io::frame_reader::item::frame) continue;
      if (of.magic == wire::protocol.magic) {
        launcher_frame(each);
      } else {
        state.frame(each);
      }
    }
  }
  return 0;
}
