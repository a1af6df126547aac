#include "lci/net/ibv/peer_table.h"

#include <chrono>

namespace lci::net::ibv {
namespace {

constexpr std::chrono::milliseconds check_interval{50};

}  // namespace

peer_table::peer_table(int self, int ranks, bool one_lock)
    : self_(self),
      ranks_(ranks),
      queues_(new peer_queues[static_cast<size_t>(ranks)]),
      health_("ibv", ranks, peer_state::unconnected, check_interval),
      suspected_at_(static_cast<size_t>(ranks)),
      said_bye_(static_cast<size_t>(ranks)) {
  if (!one_lock) return;
  for (int r = 0; r < ranks; ++r) {
    messages(r).share(queues_lock_);
    rma(r).share(queues_lock_);
  }
}

void peer_table::open(int rank) {
  if (!health_.connected(rank)) return;
  messages(rank).admit(true);
  rma(rank).admit(true);
}

void peer_table::suspect(int rank, std::string_view reason) {
  if (!health_.suspect(rank, reason)) return;
  suspected_at_[static_cast<size_t>(rank)] = empty_reads_;
  close(rank);
}

void peer_table::corrupt(int rank, std::string_view reason) {
  if (health_.corrupt(rank, reason)) close(rank);
}

void peer_table::bye(int rank) {
  if (health_.bye(rank)) close(rank);
}

void peer_table::close(int rank) {
  messages(rank).admit(false);
  rma(rank).admit(false);
}

}  // namespace lci::net::ibv
