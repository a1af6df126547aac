#include "lci/net/ibv/wire.h"

#include <sys/random.h>

#include <cstring>

namespace lci::net::ibv {

bool read_control(const void* bytes, uint64_t size, control* read) {
  if (size != sizeof(*read)) return false;
  std::memcpy(read, bytes, sizeof(*read));
  return read->kind >= control_kind::bye && read->kind <= control_kind::renewed;
}

uint32_t random_number() {
  uint32_t number = 0;
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0) number = 1;  // any does
  return number;
}

}  // namespace lci::net::ibv
