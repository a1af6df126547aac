// Simulated RDMA devices behind the table of verbs.h, for tests on machines without hardware. They
// move bytes within this process, and keep the guarantees of verbs but no more: a bad key or an
// absent peer breaks a queue pair, an overrun breaks a completion queue, and the reset of a queue
// pair discards its completions that were not polled.
#ifndef LCI_TESTING_FAKE_VERBS_FAKE_VERBS_H_
#define LCI_TESTING_FAKE_VERBS_FAKE_VERBS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lci/net/ibv/verbs.h"

namespace lci::net::ibv {

// Settings of all devices; changed only while no device is open.
struct fake_settings {
  std::vector<std::string> devices = {"fake0"};
  int ports = 1;
  bool active = true;
  uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;
  uint16_t lid = 0;
  std::vector<ibv_gid_entry> gids;  // empty: one IPv4 address for RoCEv2, at index 1
  uint32_t max_inline = 512;
  int max_cqe = 32767;
  bool has_thread_domains = false;
  uint32_t max_thread_domains = UINT32_MAX;
  uint64_t odp_general = 0;
  uint32_t odp_rc = 0;
  bool has_routes = true;
  uint32_t datagrams_lost = 0;  // of every 10
  // Decides whether a datagram is lost; empty: none is. Called by one thread at a time.
  std::function<bool(const void* bytes, size_t size)> loses;
};

struct fake_counts {
  int objects = 0;  // not destroyed yet
  int thread_domains = 0;
  int overruns = 0;        // of completion queues
  int unacknowledged = 0;  // completion events that were taken
  int signaled = 0;
  int posted = 0;
  int unanswered = 0;  // requests that failed without an answer
  int heartbeats = 0;  // answered
  int registrations_on_demand = 0;
  std::vector<ibv_advise_mr_advice> advice;
};

// Restores the default settings and clears the counts.
void reset_fake();
fake_settings& settings_of_fake();
fake_counts counts_of_fake();

const verbs& fake_verbs();

// Simulates the end of the process that opened the device: its queue pairs are gone.
void kill_fake(const ibv_context* opened);

// While `silent`, the device answers nothing, like that of an overloaded machine.
void silence_fake(const ibv_context* opened, bool silent);

}  // namespace lci::net::ibv

#endif  // LCI_TESTING_FAKE_VERBS_FAKE_VERBS_H_
