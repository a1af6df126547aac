#include "lci/net/ibv/connect_datagrams.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lci/base/strings.h"

namespace lci::net::ibv {
namespace {

constexpr uint32_t sends = 64;
// Every received datagram begins with room for a global routing header, used or not.
constexpr size_t global_header = 40;
constexpr size_t datagram = global_header + sizeof(connect_datagram);

}  // namespace

base::Status connect_datagrams::open(uint32_t key, int ranks, ibv_comp_channel* channel) {
  receives_ = static_cast<uint32_t>(std::clamp(ranks, 32, 512));
  completions_ = own(verbs_.create_cq(port_.context.get(), static_cast<int>(receives_ + sends),
                                      nullptr, channel, 0),
                     verbs_.destroy_cq);
  if (completions_ == nullptr) return failure("making a completion queue of datagrams", errno);
  base::Status status = memory_.make(verbs_, port_.domain.get(), receives_ + sends, datagram);
  if (!status.ok()) return status;
  ibv_qp_init_attr wanted = {};
  wanted.send_cq = completions_.get();
  wanted.recv_cq = completions_.get();
  wanted.qp_type = IBV_QPT_UD;
  wanted.cap.max_send_wr = sends;
  wanted.cap.max_recv_wr = receives_;
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_recv_sge = 1;
  queue_pair_ = own(verbs_.create_qp(port_.domain.get(), &wanted), verbs_.destroy_qp);
  if (queue_pair_ == nullptr) return failure("making a queue pair of datagrams", errno);
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_.number;
  attributes.qkey = key;
  int code = verbs_.modify_qp(queue_pair_.get(), &attributes,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  attributes.qp_state = IBV_QPS_RTR;
  if (code == 0) code = verbs_.modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE);
  attributes.qp_state = IBV_QPS_RTS;
  if (code == 0) {
    code = verbs_.modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
  }
  if (code != 0) return failure("starting a queue pair of datagrams", code);
  for (size_t i = 0; i < receives_; ++i) post_receive(i);
  for (size_t i = 0; i < sends; ++i) free_sends_.push_back(receives_ + i);
  return base::OkStatus();
}

void connect_datagrams::post_receive(size_t index) {
  ibv_sge room = {reinterpret_cast<uintptr_t>(memory_.at(index)), datagram, memory_.key()};
  ibv_recv_wr request = {};
  request.wr_id = index;
  request.sg_list = &room;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  // The queue has room for all receives that there are.
  static_cast<void>(ibv_post_recv(queue_pair_.get(), &request, &refused));
}

bool connect_datagrams::send(ibv_ah* address, uint32_t number, uint32_t key,
                             const connect_datagram& sent) {
  if (free_sends_.empty()) return false;
  const size_t index = free_sends_.back();
  std::memcpy(memory_.at(index), &sent, sizeof(sent));
  ibv_sge bytes = {reinterpret_cast<uintptr_t>(memory_.at(index)), sizeof(sent), memory_.key()};
  ibv_send_wr request = {};
  request.wr_id = index;
  request.sg_list = &bytes;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.ud.ah = address;
  request.wr.ud.remote_qpn = number;
  request.wr.ud.remote_qkey = key;
  ibv_send_wr* refused = nullptr;
  if (ibv_post_send(queue_pair_.get(), &request, &refused) != 0) return false;
  free_sends_.pop_back();
  return true;
}

bool connect_datagrams::next(connect_datagram* got) {
  ibv_wc entry;
  while (ibv_poll_cq(completions_.get(), 1, &entry) == 1) {
    const auto index = static_cast<size_t>(entry.wr_id);
    if (index >= receives_) {
      free_sends_.push_back(index);
      continue;
    }
    const bool whole = entry.status == IBV_WC_SUCCESS && entry.byte_len == datagram;
    if (whole) std::memcpy(got, memory_.at(index) + global_header, sizeof(*got));
    post_receive(index);
    if (whole) return true;
  }
  return false;
}

}  // namespace lci::net::ibv
