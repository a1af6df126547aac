// Devices behind the table of verbs.h that move bytes within this process, for tests on machines
// without any. What verbs promise they keep, and no more: a bad key or a peer that is gone breaks a
// queue pair, a completion queue that overruns is broken, and a queue pair that is reset takes
// completions that nobody has polled with it.
#ifndef LCI_NET_IBV_FAKE_VERBS_H_
#define LCI_NET_IBV_FAKE_VERBS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lci/net/ibv/verbs.h"

namespace lci::net::ibv {

// Of all devices. To be changed while none is open.
struct fake_settings {
  std::vector<std::string> devices = {"fake0"};
  int ports = 1;
  bool active = true;
  uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;
  uint16_t lid = 0;
  std::vector<ibv_gid_entry> gids;  // empty: one, IPv4 by RoCEv2, at index 1
  uint32_t max_inline = 512;
  int max_cqe = 32767;
  bool has_thread_domains = false;
  uint32_t max_thread_domains = UINT32_MAX;
  uint64_t odp_general = 0;
  uint32_t odp_rc = 0;
  bool has_routes = true;
  uint32_t datagrams_lost = 0;  // of each 10
  // Whether this one is lost; empty: none. Called by one thread at a time.
  std::function<bool(const void* bytes, size_t size)> loses;
};

struct fake_counts {
  int objects = 0;  // that have not been ended
  int thread_domains = 0;
  int overruns = 0;        // of completion queues
  int unacknowledged = 0;  // events of them that were taken
  int signalled = 0;
  int posted = 0;
  int unanswered = 0;  // that failed
  int pulses = 0;      // that were answered
  int registrations_on_demand = 0;
  std::vector<ibv_advise_mr_advice> advice;
};

// As if nothing had ever happened.
void reset_fake();
fake_settings& settings_of_fake();
fake_counts counts_of_fake();

const verbs& fake_verbs();

// The process that has opened the device is gone, and its queue pairs with it.
void kill_fake(const ibv_context* opened);

// It answers nobody until it is told otherwise, as on a machine that is overloaded.
void silence_fake(const ibv_context* opened, bool silent);

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_FAKE_VERBS_H_
