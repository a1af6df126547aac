// The wire of the TCP bootstrap, on one page, in the format of lci/io/framing.h. Each connection
// begins with the handshake of lci/io/handshake.h, in which the rank is the client.
//
//   kind             direction  body                                           answered by
//   hello            to server  after the code of the handshake: u32 rank,     reply: welcome
//                               u32 size, u32 local rank, u32 local size
//                               (0: the server counts), text node name
//   put              to server  text key, text value                           reply: nothing
//   get              to server  text key                                       reply: the value
//   enter_barrier    to server  text name                                      reply: nothing
//   enter_allgather  to server  text name, text value                          reply: size texts
//   cancel           to server  nothing; request is the one to give up         reply: deadline
//   abort            to server  the reason                                     aborted
//   leave            to server  nothing                                        the end
//   reply            to rank    u8 code, then as above, or the error's text; before that of
//                               `unavailable`: u32, the first rank that is lost
//   aborted          to rank    u32 rank (no_rank: the launcher), the reason   (request is 0)
//   missing          to rank    a warning: the start takes long, and why       (request is 0)
//
//   welcome     u32 local rank, u32 local size, text job id
//   text        as in lci/io/bytes.h; a text that ends a body and is described above in words ("the
//               value", "the reason") has no size and extends to the end of the body
#ifndef LCI_BOOT_TCP_WIRE_H_
#define LCI_BOOT_TCP_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "lci/boot/bootstrap.h"
#include "lci/io/framing.h"
#include "lci/io/handshake.h"

namespace lci::boot::tcp_wire {

// The magic is the bytes L C I B.
constexpr io::protocol protocol = {0x4249434c, 4, "bootstrap", "a bootstrap server of LCI"};
constexpr uint32_t no_rank = 0xffffffff;

enum class kind : uint8_t {
  put = 2,
  get = 3,
  enter_barrier = 4,
  enter_allgather = 5,
  cancel = 6,
  abort = 7,
  leave = 8,
  reply = 16,
  aborted = 17,
  missing = 18,
  challenge = io::handshake_kind::challenge,
  proof = io::handshake_kind::proof,
  hello = io::handshake_kind::hello,
  refused = io::handshake_kind::refused,
};

enum class code : uint8_t {
  ok = 0,
  already_exists = 1,
  deadline_exceeded = 2,
  unavailable = 3,
};

struct hello {
  uint32_t rank = 0;
  uint32_t size = 0;
  uint32_t local_rank = 0;
  uint32_t local_size = 0;
  std::string_view node;
  static constexpr auto fields = std::make_tuple(&hello::rank, &hello::size, &hello::local_rank,
                                                 &hello::local_size, &hello::node);
};

struct welcome {
  uint32_t local_rank = 0;
  uint32_t local_size = 0;
  std::string_view job_id;
  static constexpr auto fields =
      std::make_tuple(&welcome::local_rank, &welcome::local_size, &welcome::job_id);
};

// Limits. Each is a sum of what the largest legal body holds.

constexpr size_t max_node_size = 512;
constexpr size_t max_reason_size = 4096;
static_assert(4 * 4 + (4 + max_node_size) <= io::max_hello_size);
// Limit for frames to the server: enter_allgather and put are the largest.
constexpr size_t max_body_size = (4 + bootstrap::max_key_size) + (4 + bootstrap::max_value_size);
static_assert(max_reason_size <= max_body_size);
// Limit for frames to a rank: the answer to an allgather, or the text of an error.
constexpr uint64_t max_reply_size(int job_size) {
  return 1 + static_cast<uint64_t>(job_size) * (4 + bootstrap::max_value_size) + 4096;
}

}  // namespace lci::boot::tcp_wire

#endif  // LCI_BOOT_TCP_WIRE_H_
