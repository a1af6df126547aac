#ifndef LCI_NET_SIM_SETTINGS_H_
#define LCI_NET_SIM_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "lci/base/status.h"

namespace lci::net::sim {

// How a simulated network behaves. Time is virtual: each poll of any rank is one tick.
struct settings {
  uint64_t seed = 1;
  uint64_t max_delay = 20;   // ticks that a message or a completion takes, at most
  int refuse_percent = 20;   // posts that are refused though they could be accepted; at most 90
  int post_percent = 50;     // operations that may be `posted` and are, though they could be `done`
  size_t queue_length = 64;  // messages under way from one rank to another, at most
  size_t max_inject = 64;    // as in device_limits
  size_t max_send = 8192;
  size_t max_rma = 1000;
  bool has_put_imm = true;
  int put_imm_bits = 32;
  bool has_add = false;
  bool needs_registration = true;
  bool gets_sooner = false;  // device::is_got_sooner
  int hosts = 0;             // the ranks of each share memory; 0: none do

  // Everything but the seed and the hosts follows from it.
  static settings of_seed(uint64_t seed);
  // Those of LCI_SIM_SEED (1 if unset), each overridden by LCI_SIM_MAX_DELAY,
  // LCI_SIM_REFUSE_PERCENT, LCI_SIM_POST_PERCENT, LCI_SIM_QUEUE_LENGTH, LCI_SIM_MAX_INJECT,
  // LCI_SIM_MAX_SEND, LCI_SIM_MAX_RMA, LCI_SIM_PUT_IMM, LCI_SIM_PUT_IMM_BITS, LCI_SIM_ADD,
  // LCI_SIM_REGISTRATION, LCI_SIM_GETS_SOONER and LCI_SIM_HOSTS. The error names the variable.
  static base::StatusOr<settings> from_environment();

  // The host of a rank of a job, 0 to hosts - 1. The ranks of a host follow each other if the seed
  // is even, and are dealt out in turn if it is odd.
  int host_of(int rank, int ranks) const {
    return seed % 2 == 0 ? rank * hosts / ranks : rank % hosts;
  }

  // As variables, to run it again.
  std::string to_string() const;
};

// Returns the next number of a sequence; `state` is the position in it (Steele et al., "Fast
// splittable pseudorandom number generators", 2014: SplitMix64).
inline uint64_t next_random(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace lci::net::sim

#endif  // LCI_NET_SIM_SETTINGS_H_
