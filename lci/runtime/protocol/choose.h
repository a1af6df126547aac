// Which conversation carries a message: a pure function, so that a table can test it.
#ifndef LCI_RUNTIME_PROTOCOL_CHOOSE_H_
#define LCI_RUNTIME_PROTOCOL_CHOOSE_H_

#include <algorithm>
#include <cstddef>

namespace lci::rt {

enum class protocol {
  eager,       // header and bytes leave at once; the sender's buffer is free at once
  rendezvous,  // the receiver makes room first, then the bytes are put there
};

// `header_size` + `size` is what an eager message would be; `max_eager` the most the device takes
// by copy.
constexpr protocol choose_protocol(size_t header_size, size_t size, size_t max_eager) {
  return size <= max_eager && header_size <= max_eager - size ? protocol::eager
                                                              : protocol::rendezvous;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_CHOOSE_H_
