#include "lci/net/ibv/wire.h"

#include <sys/random.h>

#include <cstring>

namespace lci::net::ibv {

bool read_control(const void* bytes, uint64_t size, control* read) {
  if (size != sizeof(*read)) return false;
  std::memcpy(read, bytes, sizeof(*read));
  return read->kind >= control_kind::bye && read->kind <= control_kind::renewed;
}

bool makes_sense(const hail& got, int ranks, int us) {
  const auto all = static_cast<uint32_t>(ranks);
  const auto to = static_cast<uint32_t>(us);
  if (got.version != wire_version || got.rank >= all || got.rank == to || got.about >= all) {
    return false;
  }
  switch (got.kind) {
    case hail_kind::ask:
    case hail_kind::answer:
      for (const uint32_t number : {got.numbers.messages, got.numbers.writes, got.numbers.written,
                                    got.numbers.pulse, got.numbers.felt}) {
        if (number > largest_number) return false;
      }
      return got.about == to;
    case hail_kind::ended:
      return got.about != to;
    case hail_kind::seek:
    case hail_kind::alive:
      return got.about != to && got.about != got.rank;
    case hail_kind::lost:
      return got.about != got.rank;
  }
  return false;
}

uint32_t random_number() {
  uint32_t number = 0;
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0) number = 1;  // any does
  return number;
}

}  // namespace lci::net::ibv
