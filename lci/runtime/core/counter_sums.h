#ifndef LCI_RUNTIME_CORE_COUNTER_SUMS_H_
#define LCI_RUNTIME_CORE_COUNTER_SUMS_H_

#include "lci/api/counters.hpp"

namespace lci::rt {

// Calls visit(name, member of a, member of b) for all that is summed and shown.
template <class A, class B, class Visit>
void visit_both(A& a, B& b, const Visit& visit) {
  visit("active messages sent", a.sent_am, b.sent_am);
  visit("sends", a.sent_tagged, b.sent_tagged);
  visit("large messages sent", a.sent_large, b.sent_large);
  visit("puts", a.puts, b.puts);
  visit("gets", a.gets, b.gets);
  visit("rendezvous puts", a.rendezvous_puts, b.rendezvous_puts);
  visit("rendezvous gets", a.rendezvous_gets, b.rendezvous_gets);
  visit("control messages sent", a.control_sent, b.control_sent);
  visit("active messages received", a.received_am, b.received_am);
  visit("sends received", a.received_tagged, b.received_tagged);
  visit("large messages received", a.received_large, b.received_large);
  visit("notifications received", a.notified, b.notified);
  visit("control messages received", a.control_received, b.control_received);
  visit("refused: lock", a.refused_lock, b.refused_lock);
  visit("refused: full", a.refused_full, b.refused_full);
  visit("refused: peer gone", a.refused_fatal, b.refused_fatal);
  visit("backlogged", a.backlogged, b.backlogged);
  visit("polls", a.polls, b.polls);
  visit("polls that found nothing", a.empty_polls, b.empty_polls);
  visit("polls beside another one", a.busy_polls, b.busy_polls);
  visit("yields", a.yields, b.yields);
}

// Adds all of these counts, those of each peer among them.
void add(device_counters_t* to, const device_counters_t& more);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_COUNTER_SUMS_H_
