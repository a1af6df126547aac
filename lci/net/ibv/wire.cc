#include "lci/net/ibv/wire.h"

#include <cstring>

namespace lci::net::ibv {

bool read_control(const void* bytes, uint64_t size, control* read) {
  if (size != sizeof(*read)) return false;
  std::memcpy(read, bytes, sizeof(*read));
  return read->kind >= control_kind::bye && read->kind <= control_kind::renewed;
}

}  // namespace lci::net::ibv
