// The solver's messages by LCI, in two ways.
#ifndef EXAMPLES_POISSON_LCI_TRANSPORT_H_
#define EXAMPLES_POISSON_LCI_TRANSPORT_H_

#include <memory>

#include "examples/poisson/transport.h"

namespace poisson {

// Packed, by post_send and post_recv. The global runtime outlives it.
std::unique_ptr<transport> make_message_transport();

// Puts from array to array, recorded as plans, which signal the receiver: nothing is packed, no
// rank announces that it is ready, and between ranks of one machine the sender stores the bytes
// where they belong.
std::unique_ptr<transport> make_notified_transport();

}  // namespace poisson

#endif  // EXAMPLES_POISSON_LCI_TRANSPORT_H_
