#include "lci/net/ibv/wire.h"

#include <sys/random.h>

#include <cstring>

namespace lci::net::ibv {

bool read_control(const void* bytes, uint64_t size, control* read) {
  if (size != sizeof(*read)) return false;
  std::memcpy(read, bytes, sizeof(*read));
  return read->kind >= control_kind::bye && read->kind <= control_kind::recovered;
}

bool is_valid(const connect_datagram& got, int ranks, int self) {
  const auto all = static_cast<uint32_t>(ranks);
  const auto to = static_cast<uint32_t>(self);
  if (got.version != wire_version || got.rank >= all || got.rank == to || got.about >= all) {
    return false;
  }
  switch (got.kind) {
    case connect_datagram_kind::request:
    case connect_datagram_kind::reply:
      for (const uint32_t number :
           {got.numbers.message_qp, got.numbers.rma_qp, got.numbers.rma_target_qp,
            got.numbers.heartbeat_qp, got.numbers.heartbeat_target_qp}) {
        if (number > largest_number) return false;
      }
      return got.about == to;
    case connect_datagram_kind::ended:
      return got.about != to;
    case connect_datagram_kind::query:
    case connect_datagram_kind::alive:
      return got.about != to && got.about != got.rank;
    case connect_datagram_kind::failed:
      return got.about != got.rank;
  }
  return false;
}

uint32_t random_number() {
  uint32_t number = 0;
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0) number = 1;  // any number works
  return number;
}

}  // namespace lci::net::ibv
