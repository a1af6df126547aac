// The public operations of api/net.hpp.
#include <cstring>

#include "lci/api/net.hpp"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace {

struct request : net::op {
  const char* call;
};

// The arguments that all of them have.
template <class Op>
request request_of(const char* call, const Op& args, net::op_kind kind, net_imm_data_t imm) {
  request asked;
  asked.call = call;
  asked.kind = kind;
  asked.rank = args.get_rank();
  asked.imm = imm;
  asked.buffer = const_cast<void*>(static_cast<const void*>(args.get_buffer()));  // see net::op
  asked.size = args.get_size();
  return asked;
}

template <class Op>
request rma_of(const char* call, const Op& args, net::op_kind kind, net_imm_data_t imm = 0) {
  request asked = request_of(call, args, kind, imm);
  asked.remote = rt::rmr_region(args.get_rmr());
  asked.remote_offset = args.get_offset();
  return asked;
}

// `most`: bytes that the network takes.
void check(const request& asked, const rt::target& target, size_t most) {
  if (asked.rank < 0 || asked.rank >= target.runtime->size()) {
    rt::throw_invalid_argument(asked.call, ": rank is ", asked.rank, ", not 0 to ",
                               target.runtime->size() - 1);
  }
  if (asked.buffer == nullptr && asked.size > 0) {
    rt::throw_invalid_argument(asked.call, ": buffer is null and size is ", asked.size);
  }
  if (asked.size > most) {
    rt::throw_invalid_argument(asked.call, ": size is ", asked.size, ", and the network takes ",
                               most);
  }
}

error_t checked(error_t result, const request& asked) {
  if (result.errorcode != errorcode_t::fatal) return result;
  rt::throw_runtime_error(asked.call, ": rank ", asked.rank,
                          " is gone, or its memory not open there");
}

template <class Op>
rt::target target_of(const Op& args) {
  return rt::resolve(args.get_runtime(), args.get_device(), args.get_endpoint());
}

// From the program's buffer; its end is reported.
template <class Op>
error_t post(const Op& args, request asked) {
  const rt::target target = target_of(args);
  const net::device_limits& limits = target.device->net->limits();
  check(asked, target, asked.kind == net::op_kind::send ? limits.max_send : limits.max_rma);
  asked.context = args.get_user_context();
  if (limits.needs_registration) {
    const mr_t mr = args.get_mr();
    if (mr == MR_HOST || mr == MR_UNKNOWN || mr == MR_DEVICE) {
      rt::throw_invalid_argument(asked.call, ": this network needs an mr");
    }
    asked.local = mr.p_impl->region;
  }
  return checked(target.device->raw.post(asked, nullptr), asked);
}

// From a copy: complete for the program when it returns.
template <class Op>
error_t post_copy(const Op& args, request asked) {
  const rt::target target = target_of(args);
  device_impl_t& device = *target.device;
  check(asked, target, device.packets().attr.packet_size);
  if (asked.kind == net::op_kind::send && asked.size <= device.net->limits().max_inject) {
    asked.inject = true;
    return checked(device.net->post(asked), asked);
  }
  rt::packet* copy = device.packets().get();
  if (copy == nullptr) return errorcode_t::retry_nopacket;
  if (asked.size > 0) std::memcpy(copy->payload(), asked.buffer, asked.size);
  asked.buffer = copy->payload();
  try {
    asked.local = device.region_of(*copy);
  } catch (...) {
    copy->put();
    throw;
  }
  return checked(device.raw.post(asked, copy), asked);
}

}  // namespace

size_t net_poll_cq_x::operator()() const {
  if (get_statuses() == nullptr && get_max_polls() > 0) {
    rt::throw_invalid_argument("net_poll_cq: statuses is null");
  }
  return rt::resolve(get_runtime(), get_device()).device->raw.poll(get_statuses(), get_max_polls());
}

error_t net_post_recv_x::operator()() const {
  if (get_buffer() == nullptr && get_size() > 0) {
    rt::throw_invalid_argument("net_post_recv: buffer is null and size is ", get_size());
  }
  rt::resolve(get_runtime(), get_device())
      .device->raw.post_receive({get_buffer(), get_size(), get_user_context()});
  return errorcode_t::done;
}

error_t net_post_sends_x::operator()() const {
  return post_copy(*this, request_of("net_post_sends", *this, net::op_kind::send, get_imm_data()));
}

error_t net_post_send_x::operator()() const {
  return post(*this, request_of("net_post_send", *this, net::op_kind::send, get_imm_data()));
}

error_t net_post_puts_x::operator()() const {
  return post_copy(*this, rma_of("net_post_puts", *this, net::op_kind::put));
}

error_t net_post_put_x::operator()() const {
  return post(*this, rma_of("net_post_put", *this, net::op_kind::put));
}

error_t net_post_putImms_x::operator()() const {
  return post_copy(*this, rma_of("net_post_putImms", *this, net::op_kind::put_imm, get_imm_data()));
}

error_t net_post_putImm_x::operator()() const {
  return post(*this, rma_of("net_post_putImm", *this, net::op_kind::put_imm, get_imm_data()));
}

error_t net_post_get_x::operator()() const {
  return post(*this, rma_of("net_post_get", *this, net::op_kind::get));
}

}  // namespace lci
