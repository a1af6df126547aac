#include "lci/net/shm/ring.h"

namespace lci::net::shm {

template class basic_ring_writer<ds::std_atomics>;
template class basic_ring_reader<ds::std_atomics>;

}  // namespace lci::net::shm
