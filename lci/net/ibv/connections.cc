#include "lci/net/ibv/connections.h"

#include <algorithm>
#include <cstring>

#include "lci/base/strings.h"
#include "lci/net/ibv/work_request.h"

namespace lci::net::ibv {
namespace {

using std::chrono::milliseconds;

// Between two connection requests.
constexpr milliseconds first_pause{5};
constexpr milliseconds longest_pause{200};

}  // namespace

connections::connections(peer_table& peers, resources& own, wanted_connections& wanted,
                         completion_sink& sink, const routes& ways, bool on_demand,
                         clock::duration patience)
    : peers_(peers),
      own_(own),
      wanted_(wanted),
      sink_(sink),
      ways_(ways),
      on_demand_(on_demand),
      patience_(patience),
      first_psn_(random_number() & psn_mask),
      sources_(2 * static_cast<size_t>(peers.ranks())),
      records_(static_cast<size_t>(peers.ranks())),
      connecting_(peers.ranks()) {}

// At start.

bool connections::connects_at_start(int rank) const {
  return !on_demand_ || peers_.is_self(rank) || peers_.is_self(ways_.ring.neighbor(rank, 1)) ||
         peers_.is_self(ways_.ring.neighbor(rank, -1));
}

base::StatusOr<std::string> connections::make_offer(uint64_t packet_bytes, uint32_t depth) {
  packet_bytes_ = packet_bytes;
  depth_ = depth;
  offer local{packet_bytes, first_psn_, own_.concurrent_reads(), 0, 0};
  if (on_demand_) {
    local.datagram_key = random_number() & 0x7fffffff;  // the upper half is the kernel's
    base::Status status =
        own_.datagrams.open(local.datagram_key, peers_.ranks(), own_.channel.get());
    if (!status.ok()) return status;
    local.datagram_qp = own_.datagrams.number();
  }
  std::string bytes(as_bytes(local));
  for (int r = 0; r < peers_.ranks(); ++r) {
    if (!connects_at_start(r)) continue;
    if (base::Status status = own_.make_connection(r); !status.ok()) return status;
    if (!on_demand_) base::StrAppend(&bytes, as_bytes(own_.connection_of(r).numbers()));
  }
  if (on_demand_) {
    for (const int step : {-1, 1}) {
      const int neighbor = ways_.ring.neighbor(peers_.self(), step);
      base::StrAppend(&bytes, as_bytes(own_.connection_of(neighbor).numbers()));
    }
  }
  return bytes;
}

base::Status connections::accept_offer(int rank, std::string_view bytes) {
  base::Status status = read_offer(rank, bytes);
  if (!status.ok() || !connects_at_start(rank)) return status;
  status = connect(rank);
  if (status.ok()) peers_.open(rank);
  return status;
}

base::Status connections::read_offer(int rank, std::string_view bytes) {
  record& other = record_of(rank);
  const size_t numbers = sizeof(queue_pair_numbers);
  const size_t size =
      sizeof(offer) + (on_demand_ ? 2 : static_cast<size_t>(peers_.ranks())) * numbers;
  if (bytes.size() == size) std::memcpy(&other.offered, bytes.data(), sizeof(offer));
  if (bytes.size() != size || (other.offered.datagram_qp != 0) != on_demand_) {
    return base::FailedPreconditionError(
        "connects in a different way; give all ranks the same ibv_eager_ranks");
  }
  // Selects the numbers for this rank. Unless `rank` is a neighbor, neither entry is for it, and
  // the copy is not used.
  const size_t slot = !on_demand_ ? static_cast<size_t>(peers_.self())
                                  : (peers_.is_self(ways_.ring.neighbor(rank, 1)) ? 1 : 0);
  std::memcpy(&other.remote_qps, bytes.data() + sizeof(offer) + slot * numbers, numbers);
  if (peers_.is_self(rank)) other.remote_qps = own_.connection_of(rank).numbers();
  if (other.offered.packet_bytes != packet_bytes_) {
    return base::FailedPreconditionError("has another packet_size; set it alike on all ranks");
  }
  return base::OkStatus();
}

remote_qp connections::remote_of(int rank, uint32_t number) const {
  const offer& remote = record_of(rank).offered;
  return {number, remote.first_psn, ways_.addresses[static_cast<size_t>(rank)],
          remote.concurrent_reads};
}

// Connects to the queue pairs in record::remote_qps. Messages and the peer's puts and gets can
// arrive from now on.
base::Status connections::connect(int rank) {
  record& other = record_of(rank);
  const connection& local = own_.connection_of(rank);
  const auto remote = [&](uint32_t number) { return remote_of(rank, number); };
  const queue_pair_numbers& numbers = other.remote_qps;
  base::Status status = own_.connect(*local.message_qp, remote(numbers.message_qp), first_psn_);
  if (status.ok()) {
    status = own_.connect(*local.rma_qp, remote(numbers.rma_target_qp), first_psn_);
  }
  if (status.ok()) status = own_.listen(*local.rma_target_qp, remote(numbers.rma_qp));
  if (status.ok()) {
    status = own_.connect(*local.heartbeat_qp, remote(numbers.heartbeat_target_qp), first_psn_,
                          qp_timeout::heartbeat);
  }
  if (status.ok()) status = own_.listen(*local.heartbeat_target_qp, remote(numbers.heartbeat_qp));
  if (!status.ok()) return status;
  // The queues admit no posts before peer_table::open.
  peers_.messages(rank).open(local.message_qp.get(), queue_index(rank, false), depth_);
  peers_.rma(rank).open(local.rma_qp.get(), queue_index(rank, true), depth_);
  sources_.add(local.message_qp->qp_num, rank);
  sources_.add(local.rma_target_qp->qp_num, rank);
  other.has_queue_pairs = true;
  other.is_connected = true;
  return base::OkStatus();
}

// On demand.

void connections::advance(const std::function<void(int rank)>& silent) {
  if (wanted_.any()) wanted_.take([this](int rank) { begin_connecting(rank); });
  if (connecting_.empty()) return;
  const auto now = clock::now();
  connecting_.process_all([&](int rank) {
    record& other = record_of(rank);
    if (peers_.state(rank) == peer_state::unconnected) {
      if (now >= other.next_request && send_datagram(rank, connect_datagram_kind::request, rank)) {
        if (other.pause > milliseconds::zero()) silent(rank);
        other.pause = std::min(std::max(2 * other.pause, first_pause), longest_pause);
        other.next_request = now + other.pause;
      }
      if (now > other.deadline) peers_.suspect(rank, "it does not answer");
    }
    return peers_.state(rank) == peer_state::unconnected;
  });
}

void connections::begin_connecting(int rank) {
  record& other = record_of(rank);
  if (other.has_queue_pairs || peers_.state(rank) != peer_state::unconnected) return;
  other.has_queue_pairs = true;
  if (const base::Status status = own_.make_connection(rank); !status.ok()) {
    peers_.suspect(rank, status.message());
    return;
  }
  sink_.note_progress();
  put_off_deadline(rank);
  other.next_request = clock::time_point();
  connecting_.add(rank);
}

bool connections::send_datagram(int to, connect_datagram_kind kind, int about) {
  connect_datagram datagram = {};
  datagram.version = wire_version;
  datagram.kind = kind;
  datagram.rank = static_cast<uint32_t>(peers_.self());
  datagram.about = static_cast<uint32_t>(about);
  if (kind == connect_datagram_kind::request || kind == connect_datagram_kind::reply) {
    datagram.numbers = own_.connection_of(to).numbers();
  }
  const offer& remote = record_of(to).offered;
  return own_.datagrams.send(ways_.address_handles[static_cast<size_t>(to)], remote.datagram_qp,
                             remote.datagram_key, datagram);
}

void connections::handle(const connect_datagram& got) {
  const auto rank = static_cast<int>(got.rank);
  record& from = record_of(rank);
  if (peers_.has_said_bye(rank) && !from.is_connected) {
    // Repeated, since the first one may be lost.
    send_datagram(rank, connect_datagram_kind::ended, peers_.self());
    return;
  }
  begin_connecting(rank);
  if (peers_.state(rank) == peer_state::suspected) return;
  if (!from.is_connected) {
    from.remote_qps = got.numbers;
    if (const base::Status status = connect(rank); !status.ok()) {
      peers_.suspect(rank, status.message());
      return;
    }
  }
  sink_.note_progress();
  if (got.kind == connect_datagram_kind::request) {
    send_datagram(rank, connect_datagram_kind::reply, rank);
  } else {
    peers_.open(rank);
  }
}

// Of one peer.

// All requests in flight that have not completed yet complete with an error.
void connections::stop(int rank) {
  if (!is_connected(rank)) return;
  const connection& local = own_.connection_of(rank);
  own_.stop(*local.message_qp);
  own_.stop(*local.rma_qp);
  // A rank that is in fact alive must not get answers from us any more: it fails us, too.
  own_.stop(*local.heartbeat_qp);
  own_.stop(*local.heartbeat_target_qp);
}

bool connections::post_heartbeat(int rank) {
  ibv_send_wr request = make_request(IBV_WR_RDMA_WRITE, nullptr, 0);
  request.wr_id = heartbeat_bit | static_cast<uint64_t>(rank);
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  return ibv_post_send(own_.connection_of(rank).heartbeat_qp.get(), &request, &refused) == 0;
}

base::Status connections::reset_heartbeat_qp(int rank, uint32_t answered) {
  ibv_qp& local = *own_.connection_of(rank).heartbeat_qp;
  if (base::Status status = own_.reset(local); !status.ok()) return status;
  return own_.connect(local, remote_of(rank, record_of(rank).remote_qps.heartbeat_target_qp),
                      (first_psn_ + answered) & psn_mask, qp_timeout::heartbeat);
}

base::Status connections::reset_rma_qp(int rank, uint32_t first_psn) {
  ibv_qp& local = *own_.connection_of(rank).rma_qp;
  if (base::Status status = own_.reset(local); !status.ok()) return status;
  return own_.connect(local, remote_of(rank, record_of(rank).remote_qps.rma_target_qp), first_psn);
}

base::Status connections::reset_rma_target_qp(int rank, uint32_t first_psn) {
  ibv_qp& local = *own_.connection_of(rank).rma_target_qp;
  if (base::Status status = own_.reset(local); !status.ok()) return status;
  remote_qp source = remote_of(rank, record_of(rank).remote_qps.rma_qp);
  source.first_psn = first_psn;
  return own_.listen(local, source);
}

}  // namespace lci::net::ibv
