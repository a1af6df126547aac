#include "lci/testing/fake_verbs/data_path.h"

#include <cerrno>
#include <utility>

#include "lci/testing/fake_verbs/transport.h"
#include "lci/testing/fake_verbs/world.h"

namespace lci::net::ibv::fake {

namespace {

int post_send(ibv_qp* on, ibv_send_wr* request, ibv_send_wr** refused) {
  const world_lock held(world().mutex);
  auto& by = static_cast<fake_qp&>(*on);
  for (; request != nullptr; request = request->next) {
    send posted;
    posted.request = *request;
    for (int i = 0; i < request->num_sge; ++i) {
      const ibv_sge& piece = request->sg_list[i];
      posted.size += piece.length;
      posted.pieces.push_back(piece);
      if ((request->send_flags & IBV_SEND_INLINE) == 0 || piece.length == 0) continue;
      const auto* bytes = reinterpret_cast<const unsigned char*>(piece.addr);
      posted.inlined.insert(posted.inlined.end(), bytes, bytes + piece.length);
    }
    if (by.sends.size() == by.depth || posted.inlined.size() > by.inline_bytes) {
      *refused = request;
      return by.sends.size() == by.depth ? ENOMEM : EINVAL;
    }
    ++world().counts.posted;
    world().counts.signaled += (request->send_flags & IBV_SEND_SIGNALED) != 0 ? 1 : 0;
    if (by.qp_type == IBV_QPT_UD) {
      send_datagram(by, posted);
    } else {
      posted.packet = by.next_psn;
      by.next_psn = (by.next_psn + 1) & psn_mask;
      by.sends.push_back(std::move(posted));
      progress(by);
    }
  }
  return 0;
}

receive room_of(const ibv_recv_wr& request) {
  return {request.wr_id, reinterpret_cast<unsigned char*>(request.sg_list[0].addr),
          request.sg_list[0].length};
}

int post_recv(ibv_qp* on, ibv_recv_wr* request, ibv_recv_wr**) {
  const world_lock held(world().mutex);
  for (; request != nullptr; request = request->next) {
    static_cast<fake_qp*>(on)->receives.push_back(room_of(*request));
  }
  return 0;
}

int post_srq_recv(ibv_srq* on, ibv_recv_wr* request, ibv_recv_wr** refused) {
  const world_lock held(world().mutex);
  auto& queue = static_cast<fake_srq&>(*on);
  int result = 0;
  for (; request != nullptr && result == 0; request = request->next) {
    if (queue.receives.size() == queue.capacity) {
      *refused = request;
      result = ENOMEM;
    } else {
      queue.receives.push_back(room_of(*request));
    }
  }
  progress_all();
  return result;
}

int poll_cq(ibv_cq* of, int count, ibv_wc* entries) {
  const world_lock held(world().mutex);
  auto& queue = static_cast<fake_cq&>(*of);
  if (queue.broken) return -1;
  int got = 0;
  for (; got < count && !queue.entries.empty(); ++got) {
    entries[got] = queue.entries.front();
    queue.entries.pop_front();
  }
  return got;
}

int req_notify_cq(ibv_cq* of, int) {
  const world_lock held(world().mutex);
  if (of->channel == nullptr) return EINVAL;
  static_cast<fake_cq*>(of)->notifies = true;
  return 0;
}

}  // namespace

void set_data_path(ibv_context* opened) {
  opened->ops.post_send = post_send;
  opened->ops.post_recv = post_recv;
  opened->ops.post_srq_recv = post_srq_recv;
  opened->ops.poll_cq = poll_cq;
  opened->ops.req_notify_cq = req_notify_cq;
}

}  // namespace lci::net::ibv::fake
