// Carries out what is posted to queue pairs: moves the bytes, and makes completions of success,
// refusal and loss, as an adapter does. The caller holds the mutex of the world.
#ifndef LCI_TESTING_FAKE_VERBS_TRANSPORT_H_
#define LCI_TESTING_FAKE_VERBS_TRANSPORT_H_

#include "lci/testing/fake_verbs/world.h"

namespace lci::net::ibv::fake {

// Carries out the sends of a connected queue pair, as far as its peer has receives for them.
void progress(fake_qp& by);
void progress_all();

// Breaks the queue pair: its sends complete, the first with this status, the others as flushed.
void flush_with_error(fake_qp& by, ibv_wc_status first);

// A datagram is delivered at once, or lost.
void send_datagram(fake_qp& by, const send& front);

// Takes one event from the count of the channel's descriptor.
void drop_event(fake_channel& of);

}  // namespace lci::net::ibv::fake

#endif  // LCI_TESTING_FAKE_VERBS_TRANSPORT_H_
