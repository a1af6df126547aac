#include "lci/net/ibv/receive_pool.h"

#include "lci/base/strings.h"

namespace lci::net::ibv {

base::Status receive_pool::open(ibv_srq* queue, const packet_memory& memory, size_t count,
                                size_t bytes) {
  queue_ = queue;
  arrivals_ = base::make_aligned_array<arrival>(count);
  for (size_t i = count; i-- > 0;) {
    arrival& slot = arrivals_[i];
    slot.bytes = memory.at(i);
    slot.room = piece(slot.bytes, bytes, memory.key());
    slot.request.wr_id = receive_bit | i;
    slot.request.sg_list = &slot.room;
    slot.request.num_sge = 1;
    put_back(slot);
  }
  post();
  if (!has_unposted()) return base::OkStatus();
  return base::ResourceExhaustedError(
      base::StrCat("the shared receive queue does not take ", count, " receives"));
}

void receive_pool::take_returned() {
  returned_.take_all([this](arrival& returned) { put_back(returned); });
}

void receive_pool::post_list() {
  for (arrival* each = unposted_; each != nullptr; each = each->next) {
    each->request.next = each->next == nullptr ? nullptr : &each->next->request;
  }
  ibv_recv_wr* refused = nullptr;
  const int code = ibv_post_srq_recv(queue_, &unposted_->request, &refused);
  unposted_ = code == 0 || refused == nullptr ? nullptr : &at(refused->wr_id);
}

}  // namespace lci::net::ibv
