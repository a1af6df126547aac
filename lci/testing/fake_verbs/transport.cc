#include "lci/testing/fake_verbs/transport.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace lci::net::ibv::fake {

namespace {

const ibv_mr* registration(uint32_t key, uint64_t address, size_t size) {
  const auto found = world().registrations.find(key);
  if (found == world().registrations.end()) return nullptr;
  const auto base = reinterpret_cast<uintptr_t>(found->second->addr);
  const size_t length = found->second->length;
  return address >= base && size <= length && address - base <= length - size ? found->second
                                                                              : nullptr;
}

void notify(fake_cq& queue) {
  if (!queue.notifies) return;
  queue.notifies = false;
  static_cast<fake_channel*>(queue.channel)->events.push_back(&queue);
  eventfd_write(queue.channel->fd, 1);
}

void complete(fake_cq& queue, const ibv_wc& entry) {
  notify(queue);
  if (queue.entries.size() == static_cast<size_t>(queue.cqe)) {
    queue.broken = true;
    ++world().counts.overruns;
    return;
  }
  queue.entries.push_back(entry);
}

void complete_send(fake_qp& by, const send& finished, ibv_wc_status status) {
  if (status == IBV_WC_SUCCESS && (finished.request.send_flags & IBV_SEND_SIGNALED) == 0) return;
  ibv_wc entry = {};
  entry.wr_id = finished.request.wr_id;
  entry.status = status;
  entry.opcode = IBV_WC_SEND;
  entry.qp_num = by.qp_num;
  complete(*static_cast<fake_cq*>(by.send_cq), entry);
}

void complete_receive(fake_qp& at, const receive& room, const send& from, ibv_wc_opcode opcode,
                      uint32_t bytes) {
  ibv_wc entry = {};
  entry.wr_id = room.id;
  entry.status = bytes > room.size ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
  entry.opcode = opcode;
  entry.byte_len = bytes;
  entry.qp_num = at.qp_num;
  if (from.request.opcode == IBV_WR_SEND_WITH_IMM ||
      from.request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    entry.wc_flags = IBV_WC_WITH_IMM;
    entry.imm_data = from.request.imm_data;
  }
  complete(*static_cast<fake_cq*>(at.recv_cq), entry);
}

// Returns false if a piece is not registered.
bool copy_payload(const send& from, unsigned char* to) {
  if ((from.request.send_flags & IBV_SEND_INLINE) != 0) {
    std::copy(from.inlined.begin(), from.inlined.end(), to);
    return true;
  }
  for (const ibv_sge& piece : from.pieces) {
    if (piece.length == 0) continue;
    if (registration(piece.lkey, piece.addr, piece.length) == nullptr) return false;
    std::memcpy(to, reinterpret_cast<const void*>(piece.addr), piece.length);
    to += piece.length;
  }
  return true;
}

std::deque<receive>& receives_of(fake_qp& at) {
  return at.srq == nullptr ? at.receives : static_cast<fake_srq*>(at.srq)->receives;
}

enum class outcome { done, later, local_error, remote_error, unreachable };

outcome apply(const send& front, fake_qp& at) {
  const bool is_send =
      front.request.opcode == IBV_WR_SEND || front.request.opcode == IBV_WR_SEND_WITH_IMM;
  const bool takes = is_send || front.request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  std::deque<receive>& rooms = receives_of(at);
  if (takes && rooms.empty()) return outcome::later;
  if (is_send) {
    const receive room = rooms.front();
    std::vector<unsigned char> bytes(front.size);
    if (!copy_payload(front, bytes.data())) return outcome::local_error;
    rooms.pop_front();
    if (front.size <= room.size) std::copy(bytes.begin(), bytes.end(), room.bytes);
    complete_receive(at, room, front, IBV_WC_RECV, front.size);
    return front.size <= room.size ? outcome::done : outcome::remote_error;
  }
  auto* there = reinterpret_cast<unsigned char*>(front.request.wr.rdma.remote_addr);
  if (front.size > 0) {
    if (registration(front.request.wr.rdma.rkey, front.request.wr.rdma.remote_addr, front.size) ==
        nullptr) {
      return outcome::remote_error;
    }
    if (front.request.opcode == IBV_WR_RDMA_READ) {
      const ibv_sge& to = front.pieces[0];
      if (registration(to.lkey, to.addr, to.length) == nullptr) return outcome::local_error;
      std::memcpy(reinterpret_cast<void*>(to.addr), there, to.length);
    } else if (!copy_payload(front, there)) {
      return outcome::local_error;
    }
  }
  if (takes) {
    complete_receive(at, rooms.front(), front, IBV_WC_RECV_RDMA_WITH_IMM, 0);
    rooms.pop_front();
  }
  return outcome::done;
}

outcome execute(fake_qp& by, const send& front) {
  const auto found = world().queue_pairs.find(by.peer);
  if (found == world().queue_pairs.end()) return outcome::unreachable;
  fake_qp& at = *found->second;
  if (at.dead || (at.state != IBV_QPS_RTR && at.state != IBV_QPS_RTS) || at.peer != by.qp_num) {
    return outcome::unreachable;
  }
  const uint32_t ahead = (front.packet - at.expected_psn) & psn_mask;
  if (at.silent) {
    // A queue pair with a short timeout gives up, whether the request or only the answer is lost;
    // others wait.
    if (by.timeout >= 16) return outcome::later;
    if (ahead == 0 && world().counts.unanswered % 2 == 0) ++at.expected_psn;
    return outcome::unreachable;
  }
  if (ahead > psn_mask / 2) return outcome::done;  // a duplicate
  if (ahead > 0) return outcome::unreachable;      // earlier packets are missing
  if (by.timeout < 16) ++world().counts.heartbeats;
  const outcome now = apply(front, at);
  if (now == outcome::done) at.expected_psn = (at.expected_psn + 1) & psn_mask;
  return now;
}

}  // namespace

void drop_event(fake_channel& of) {
  eventfd_t one;
  eventfd_read(of.fd, &one);
}

void flush_with_error(fake_qp& by, ibv_wc_status first) {
  by.state = IBV_QPS_ERR;
  for (; !by.sends.empty(); by.sends.pop_front()) {
    complete_send(by, by.sends.front(), first);
    first = IBV_WC_WR_FLUSH_ERR;
  }
}

void progress(fake_qp& by) {
  if (by.state == IBV_QPS_ERR) flush_with_error(by, IBV_WC_WR_FLUSH_ERR);
  while (!by.sends.empty() && !by.dead) {
    switch (execute(by, by.sends.front())) {
      case outcome::done:
        complete_send(by, by.sends.front(), IBV_WC_SUCCESS);
        by.sends.pop_front();
        break;
      case outcome::later:
        return;
      case outcome::local_error:
        return flush_with_error(by, IBV_WC_LOC_PROT_ERR);
      case outcome::unreachable:
        ++world().counts.unanswered;
        return flush_with_error(by, IBV_WC_RETRY_EXC_ERR);
      case outcome::remote_error: {
        fake_qp* at = world().queue_pairs[by.peer];
        flush_with_error(by, IBV_WC_REM_ACCESS_ERR);
        if (at->state != IBV_QPS_ERR) flush_with_error(*at, IBV_WC_WR_FLUSH_ERR);
        return;
      }
    }
  }
}

void progress_all() {
  for (auto& each : world().queue_pairs) {
    if (each.second->qp_type == IBV_QPT_RC && !each.second->sends.empty()) progress(*each.second);
  }
}

void send_datagram(fake_qp& by, const send& front) {
  complete_send(by, front, IBV_WC_SUCCESS);
  if (by.dead || by.silent) return;
  if (world().datagrams++ % 10 < world().settings.datagrams_lost) return;
  std::vector<unsigned char> bytes(front.size);
  if (!copy_payload(front, bytes.data())) return;
  const auto& loses = world().settings.loses;
  if (loses && loses(bytes.data(), bytes.size())) return;
  const auto found = world().queue_pairs.find(front.request.wr.ud.remote_qpn);
  if (found == world().queue_pairs.end()) return;
  fake_qp& at = *found->second;
  constexpr uint32_t global_header = 40;
  if (at.dead || at.silent || at.key != front.request.wr.ud.remote_qkey || at.receives.empty()) {
    return;
  }
  const receive room = at.receives.front();
  if (room.size < global_header + front.size) return;
  std::copy(bytes.begin(), bytes.end(), room.bytes + global_header);
  at.receives.pop_front();
  complete_receive(at, room, front, IBV_WC_RECV, global_header + front.size);
}

}  // namespace lci::net::ibv::fake
