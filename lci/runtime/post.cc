// The way down: resolves defaults, checks, and hands the operation to its conversation.
#include "lci/runtime/post.h"

#include <atomic>
#include <memory>
#include <stdexcept>

#include "lci/api/comm.hpp"
#include "lci/base/strings.h"
#include "lci/runtime/comp/impl.h"
#include "lci/runtime/protocol/choose.h"
#include "lci/runtime/protocol/envelope.h"
#include "lci/runtime/resolve.h"
#include "lci/runtime/rmr.h"
#include "lci/runtime/runtime.h"
#include "lci/runtime/wait.h"

namespace lci {
namespace rt {

namespace {

// Off the fast path, as all that makes texts: it would take registers and a larger frame there.
[[noreturn, gnu::noinline, gnu::cold]] void report_gone(const device_impl_t& device, int rank) {
  throw peer_failure_error(rank, base::StrCat("lci: can't send to rank ", rank,
                                              ": it is gone (rank ", device.runtime.rank(), ")"));
}

}  // namespace

error_t post_message(device_impl_t& device, const message& outgoing, bool may_wait) {
  const envelope with = make_envelope(device.runtime.imm(), outgoing);
  const message_shape shape{with.header_size, outgoing.size, outgoing.user_packet != nullptr,
                            outgoing.network_semantic};
  error_t result;
  switch (choose_protocol(shape, device.limits())) {
    case protocol::inject:
      result = device.eager.inject(outgoing, with, may_wait);
      break;
    case protocol::buffer_copy:
      result = device.eager.send_from_packet(outgoing, with, /*copy=*/true, may_wait);
      // Who can't wait for a packet goes the way that needs none.
      if (result.errorcode == errorcode_t::retry_nopacket && may_wait) {
        result = device.rendezvous.start(outgoing, may_wait);
      }
      break;
    case protocol::zero_copy:
      result = device.eager.send_from_packet(outgoing, with, /*copy=*/false, may_wait);
      break;
    case protocol::rendezvous:
      result = device.rendezvous.start(outgoing, may_wait);
      break;
  }
  if (__builtin_expect(result.errorcode == errorcode_t::fatal, 0)) {
    report_gone(device, outgoing.rank);
  }
  return result;
}

namespace {

// A row of SC'25's Table 1.
enum class transfer { send, am, put, receive, get };

const char* name_of(post_form_t form) {
  switch (form) {
    case post_form_t::comm:
      return "post_comm";
    case post_form_t::send:
      return "post_send";
    case post_form_t::am:
      return "post_am";
    case post_form_t::put:
      return "post_put";
    case post_form_t::recv:
      return "post_recv";
    case post_form_t::get:
      return "post_get";
  }
  return "post";
}

// Off the fast path.
template <class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void refuse(const post_args_t& args, const Parts&... parts) {
  throw std::invalid_argument(base::StrCat("lci: ", name_of(args.form), ": ", parts...));
}

[[noreturn, gnu::noinline, gnu::cold]] void refuse_meaningless(const post_args_t& args) {
  if (args.form == post_form_t::am) refuse(args, "remote_comp is 0, which names nothing");
  if (args.form == post_form_t::put || args.form == post_form_t::get) refuse(args, "rmr is empty");
  refuse(args,
         "direction IN with remote_comp and no rmr means nothing (a receive has no completion "
         "object at the sender)");
}

inline transfer classify(const post_args_t& args) {
  const bool remote_comp = args.remote_comp != 0;
  if (args.form == post_form_t::am) {
    if (__builtin_expect(!remote_comp, 0)) refuse_meaningless(args);
    return transfer::am;
  }
  const bool out = args.direction == direction_t::OUT;
  if (!args.rmr.is_empty()) return out ? transfer::put : transfer::get;
  if (__builtin_expect(args.form == post_form_t::put || args.form == post_form_t::get, 0)) {
    refuse_meaningless(args);
  }
  if (out) return remote_comp ? transfer::am : transfer::send;
  if (__builtin_expect(remote_comp, 0)) refuse_meaningless(args);
  return transfer::receive;
}

void check_odd_rank(const post_args_t& args, transfer kind, const runtime_impl_t& runtime) {
  if (kind == transfer::receive && args.rank == ANY_SOURCE) return;
  refuse(args, "rank is ", args.rank, ", not 0 to ", runtime.size() - 1,
         kind == transfer::receive ? ", and not ANY_SOURCE" : "");
}

inline void check_rank(const post_args_t& args, transfer kind, const runtime_impl_t& runtime) {
  if (__builtin_expect(args.rank < 0 || args.rank >= runtime.size(), 0)) {
    check_odd_rank(args, kind, runtime);
  }
}

[[gnu::noinline]] void check_odd_matching(const post_args_t& args, transfer kind) {
  const auto policy = static_cast<int>(args.matching_policy);
  if (policy < 0 || policy >= static_cast<int>(matching_policy_t::max)) {
    refuse(args, "matching_policy is ", policy, ", which is none");
  }
  if (args.tag == ANY_TAG && kind != transfer::receive) {
    refuse(args, "tag is ANY_TAG; at most the runtime's max_tag can be sent");
  }
}

// The policy of a receive: what its wildcards stand for is not looked at.
inline matching_policy_t without_wildcards(const post_args_t& args) {
  auto parts = static_cast<unsigned>(args.matching_policy);
  if (args.rank == ANY_SOURCE) parts &= ~static_cast<unsigned>(matching_policy_t::rank_only);
  if (args.tag == ANY_TAG) parts &= ~static_cast<unsigned>(matching_policy_t::tag_only);
  return static_cast<matching_policy_t>(parts);
}

inline void check_matching(const post_args_t& args, transfer kind) {
  if (__builtin_expect(args.matching_policy != matching_policy_t::rank_tag || args.tag == ANY_TAG,
                       0)) {
    check_odd_matching(args, kind);
  }
}

inline matching_engine* engine_of(const post_args_t& args, runtime_impl_t& runtime) {
  if (__builtin_expect(args.matching_engine.is_empty(), 1)) {
    matching_engine* const otherwise = runtime.default_matching_engine();
    if (__builtin_expect(otherwise != nullptr, 1)) return otherwise;
  }
  return resolve(runtime, args.matching_engine);
}

void check_remote(const post_args_t& args) {
  const uint64_t size = rmr_size(args.rmr);
  if (args.remote_disp <= size && args.size <= size - args.remote_disp) return;
  refuse(args, args.size, " bytes from byte ", args.remote_disp, " on are beyond the end of rmr, ",
         size, " bytes");
}

// The registration that the program gave for the local buffer.
void use_mr(const post_args_t& args, const device_impl_t& device, message* operation) {
  if (args.mr == MR_HOST || args.mr == MR_UNKNOWN) return;
  if (args.mr == MR_DEVICE) {
    refuse(args, "mr is MR_DEVICE, and backend ", device.context.net->name(),
           " can't reach an accelerator's memory");
  }
  const mr_impl_t& mr = *args.mr.p_impl;
  check_live(mr, "mr");
  if (&mr.context != &device.context) {
    refuse(args, "mr was registered in another net context than the device's");
  }
  const auto offset =
      reinterpret_cast<uintptr_t>(args.local_buffer) - reinterpret_cast<uintptr_t>(mr.address);
  if (args.size > 0 && (offset > mr.size || args.size > mr.size - offset)) {
    refuse(args, "mr does not cover the local buffer of ", args.size, " bytes");
  }
  operation->local = mr.region;
  operation->local_offset = offset;
}

// The completion object of an operation whose caller waits for it.
class flag final : public comp_impl_t {
 public:
  void signal(status_t status) override {
    status_ = status;
    set_.store(true, std::memory_order_release);
  }
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  const status_t& status() const { return status_; }

 private:
  status_t status_;
  std::atomic<bool> set_{false};
};

// The completion object of an operation that its caller cannot wait for. Deletes itself.
class nobody final : public comp_impl_t {
 public:
  void signal(status_t) override { delete this; }
};

[[noreturn, gnu::noinline, gnu::cold]] void report_unreachable(const device_impl_t& device,
                                                               int rank, post_form_t form) {
  if (device.runtime.has_failed(rank)) {
    throw peer_failure_error(rank,
                             base::StrCat("lci: ", name_of(form), ": rank ", rank, " is gone"));
  }
  throw std::runtime_error(base::StrCat("lci: ", name_of(form), ": rank ", rank,
                                        " is gone, or has closed the memory that rmr names "
                                        "(deregister_memory)"));
}

// One attempt. `done`: *status is filled.
error_t start(device_impl_t& device, transfer kind, const message& operation,
              const post_args_t& args, bool may_wait, status_t* status) {
  error_t result;
  switch (kind) {
    case transfer::send:
    case transfer::am:
      result = post_message(device, operation, may_wait);
      break;
    case transfer::receive:
      return operation.engine->post_recv(operation, status);
    case transfer::put:
    case transfer::get:
      result = device.rma.start(kind == transfer::put ? net::op_kind::put : net::op_kind::get,
                                operation, rmr_region(args.rmr), args.remote_disp, may_wait);
      if (__builtin_expect(result.errorcode == errorcode_t::fatal, 0)) {
        report_unreachable(device, operation.rank, args.form);
      }
      break;
  }
  if (result.is_done()) *status = operation.status(result.errorcode);
  return result;
}

// The same for who waits until it is complete. With `may_retry`, a retry code comes back instead if
// it can't begin now.
error_t start_and_wait(device_impl_t& device, transfer kind, message operation,
                       const post_args_t& args, bool may_retry, status_t* status) {
  flag over;
  // Inside a handler the operation outlives this call if it does not end at once.
  std::unique_ptr<nobody> left_alone;
  if (inside_progress()) left_alone = std::make_unique<nobody>();
  operation.comp = left_alone == nullptr ? static_cast<comp_impl_t*>(&over) : left_alone.get();
  error_t result = start(device, kind, operation, args, false, status);
  const observe::wait_info what = {name_of(args.form), operation.rank};
  if (result.is_retry()) {
    if (may_retry) return result;
    wait_until(&device, what, [&] {
      result = start(device, kind, operation, args, false, status);
      return !result.is_retry();
    });
  }
  if (result.is_done()) return result;
  if (left_alone != nullptr) {
    static_cast<void>(left_alone.release());
    throw std::logic_error(base::StrCat("lci: ", name_of(args.form), " of ", operation.size,
                                        " bytes would have to wait inside a handler, which it may "
                                        "not; it has begun, and its buffer "
                                        "is in use until it ends: give it a completion object"));
  }
  wait_out(device, what, [&] { return over.is_set(); });
  *status = over.status();
  if (status->error.errorcode == errorcode_t::fatal) {
    if (operation.rank >= 0 && device.runtime.has_failed(operation.rank)) {
      throw peer_failure_error(operation.rank, base::StrCat("lci: ", name_of(args.form), ": rank ",
                                                            operation.rank, " is gone"));
    }
    throw std::runtime_error(base::StrCat("lci: ", name_of(args.form), " of ", operation.size,
                                          " bytes failed; the log of rank ", operation.rank,
                                          " or of this one says why"));
  }
  return errorcode_t::done;
}

status_t status_of(const post_args_t& args, error_t result) {
  return make_status(result, args.rank, args.local_buffer, args.size, args.tag, args.user_context);
}

// What a post answers that was complete at once.
inline status_t answer_done(const post_args_t& args, status_t status) {
  if (__builtin_expect(!args.allow_done, 0)) {
    args.local_comp.p_impl->signal(status);
    status.error = errorcode_t::posted;
  }
  return status;
}

// All but what post() deals with itself.
[[gnu::noinline]] status_t post_any(device_impl_t& device, transfer kind, const address& to,
                                    packet* user_packet, const post_args_t& args) {
  const bool null_comp = args.local_comp == COMP_NULL;
  const bool has_comp = !null_comp && args.local_comp != COMP_NULL_RETRY;
  message operation;
  static_cast<address&>(operation) = to;
  operation.rank = args.rank;
  operation.buffer = args.local_buffer;
  operation.size = args.size;
  operation.comp = has_comp ? args.local_comp.p_impl : nullptr;
  operation.user_context = args.user_context;
  operation.network_semantic = args.comp_semantic == comp_semantic_t::network;
  operation.user_packet = user_packet;
  if (!(args.mr == MR_HOST)) use_mr(args, device, &operation);

  const bool may_post = args.allow_posted && has_comp;
  const bool may_retry = args.allow_retry && !null_comp;
  status_t status;
  const error_t result = may_post
                             ? start(device, kind, operation, args, !may_retry, &status)
                             : start_and_wait(device, kind, operation, args, may_retry, &status);
  if (!result.is_done()) return status_of(args, result);
  return answer_done(args, status);
}

// Checks what the options say, and starts the operation.
[[gnu::always_inline]] inline status_t post_as(transfer kind, const post_args_t& args) {
  const target target = target_of(args.runtime, args.device, args.endpoint);
  device_impl_t& device = *target.device;
  check_rank(args, kind, *target.runtime);
  if (__builtin_expect(args.local_buffer == nullptr && args.size > 0, 0)) {
    refuse(args, "local_buffer is null and size is ", args.size);
  }
  const bool null_comp = args.local_comp == COMP_NULL;
  const bool has_comp = !null_comp && args.local_comp != COMP_NULL_RETRY;
  if (__builtin_expect(has_comp && !is_live(*args.local_comp.p_impl), 0)) {
    refuse(args, "local_comp has been freed");
  }
  if (__builtin_expect(!has_comp && !args.allow_done, 0)) {
    refuse(args, "allow_done(false) needs a completion object");
  }

  address to;
  to.tag = args.tag;
  to.rcomp = args.remote_comp;
  if (kind == transfer::send || kind == transfer::receive) {
    check_matching(args, kind);
    to.policy = kind == transfer::receive ? without_wildcards(args) : args.matching_policy;
    to.engine = engine_of(args, *target.runtime);
  }
  if (kind == transfer::put || kind == transfer::get) check_remote(args);
  packet* packet = nullptr;
  if (kind == transfer::send || kind == transfer::am || kind == transfer::put) {
    packet_pool_impl_t* pool = &device.packets();  // lives as long as the device
    if (__builtin_expect(!args.packet_pool.is_empty(), 0)) {
      pool = args.packet_pool.p_impl;
      check_live(*pool, "packet pool");
    }
    packet = pool->find(args.local_buffer);
    if (__builtin_expect(packet != nullptr && args.size > pool->attr.packet_size, 0)) {
      refuse(args, "size is ", args.size, ", and local_buffer a packet of ",
             pool->attr.packet_size);
    }
  }

  // Most messages are small and leave at once. Their way has no state, so that it is short.
  if ((kind == transfer::am || kind == transfer::send) && args.mr == MR_HOST) {
    const envelope with = make_envelope(target.runtime->imm(), to);
    const message_shape shape{with.header_size, args.size, packet != nullptr,
                              args.comp_semantic == comp_semantic_t::network};
    if (__builtin_expect(choose_protocol(shape, device.limits()) == protocol::inject, 1)) {
      const error_t result =
          __builtin_expect(with.header_size == 0, 1)
              ? device.net->inject(args.rank, with.imm, args.local_buffer, args.size)
              : device.net->post(inject_op(args.rank, with, args.local_buffer, args.size));
      if (__builtin_expect(result.is_done(), 1)) {
        if (packet != nullptr) packet->put();
        return answer_done(args, status_of(args, errorcode_t::done));
      }
      if (result.is_retry() && args.allow_retry && !null_comp) return status_of(args, result);
    }
  }
  // Likewise most puts and gets, where the network needs no registration.
  if ((kind == transfer::put || kind == transfer::get) && args.mr == MR_HOST &&
      device.rma.ends_at_once(args.size, {})) {
    net::op op;
    op.kind = kind == transfer::put ? net::op_kind::put : net::op_kind::get;
    op.rank = args.rank;
    op.buffer = args.local_buffer;
    op.size = args.size;
    op.remote = rmr_region(args.rmr);
    op.remote_offset = args.remote_disp;
    const error_t result = device.rma.post_short(&op, args.tag, args.remote_comp);
    if (__builtin_expect(result.is_done(), 1)) {
      if (packet != nullptr) packet->put();
      return answer_done(args, status_of(args, errorcode_t::done));
    }
    if (result.is_retry() && args.allow_retry && !null_comp) return status_of(args, result);
  }
  // Likewise a receive, which is written only where it waits.
  if (kind == transfer::receive && has_comp && args.allow_posted && args.mr == MR_HOST) {
    matching_engine::receive* const posted = to.engine->make_receive();
    posted->key = {args.tag, args.rank, to.policy, false};
    posted->buffer = args.local_buffer;
    posted->size = args.size;
    posted->comp = args.local_comp.p_impl;
    posted->user_context = args.user_context;
    posted->local = net::local_region();
    posted->local_offset = 0;
    status_t status;
    const error_t result = to.engine->post_recv(posted, &status);
    return __builtin_expect(result.is_done(), 0) ? answer_done(args, status)
                                                 : status_of(args, result);
  }
  return post_any(device, kind, to, packet, args);
}

// One kind each, so that the compiler decides all that depends on it.
template <transfer Kind>
[[gnu::noinline]] status_t post_known(const post_args_t& args) {
  return post_as(Kind, args);
}

// What the short ways have in common: false for what post() has more to say about.
[[gnu::always_inline]] inline bool is_usual_post(device_impl_t& device, int rank,
                                                 const void* buffer, size_t size,
                                                 comp_t local_comp) {
  return static_cast<unsigned>(rank) < static_cast<unsigned>(device.runtime.size()) &&
         (buffer != nullptr || size == 0) && device.packets().find(buffer) == nullptr &&
         (local_comp == COMP_NULL || local_comp == COMP_NULL_RETRY || is_live(*local_comp.p_impl));
}

[[gnu::always_inline]] inline bool is_usual_rma(device_impl_t& device, int rank, const void* buffer,
                                                size_t size, comp_t local_comp,
                                                uintptr_t remote_disp, const rmr_t& rmr) {
  return is_usual_post(device, rank, buffer, size, local_comp) && size < device.plain_rma() &&
         remote_disp <= rmr_size(rmr) && size <= rmr_size(rmr) - remote_disp;
}

inline bool inject_short(device_impl_t& device, int rank, net_imm_data_t imm, void* buffer,
                         size_t size, comp_t local_comp) {
  return __builtin_expect(is_usual_post(device, rank, buffer, size, local_comp) &&
                              size <= device.limits().max_inject,
                          1) &&
         device.net->inject(rank, imm, buffer, size).is_done();
}

}  // namespace

bool am_short(device_t device, int rank, void* local_buffer, size_t size, comp_t local_comp,
              tag_t tag, rcomp_t remote_comp) {
  device_impl_t* const through = known_device(device);
  if (__builtin_expect(through == nullptr || remote_comp == 0, 0)) return false;
  const imm_layout& layout = through->runtime.imm();
  return __builtin_expect(layout.fits(tag, remote_comp), 1) &&
         inject_short(*through, rank, layout.encode(tag, remote_comp), local_buffer, size,
                      local_comp);
}

bool send_short(device_t device, int rank, void* local_buffer, size_t size, comp_t local_comp,
                tag_t tag) {
  device_impl_t* const through = known_device(device);
  return __builtin_expect(through != nullptr && tag <= max_short_tag &&
                              through->runtime.default_matching_engine() != nullptr,
                          1) &&
         inject_short(*through, rank, encode_short_tagged(tag), local_buffer, size, local_comp);
}

bool put_short(device_t device, int rank, const void* local_buffer, size_t size, comp_t local_comp,
               uintptr_t remote_disp, const rmr_t& rmr) {
  device_impl_t* const through = known_device(device);
  return __builtin_expect(through != nullptr && is_usual_rma(*through, rank, local_buffer, size,
                                                             local_comp, remote_disp, rmr),
                          1) &&
         through->net->put(rank, local_buffer, size, rmr_region(rmr), remote_disp).is_done();
}

bool get_short(device_t device, int rank, void* local_buffer, size_t size, comp_t local_comp,
               uintptr_t remote_disp, const rmr_t& rmr) {
  device_impl_t* const through = known_device(device);
  return __builtin_expect(through != nullptr && is_usual_rma(*through, rank, local_buffer, size,
                                                             local_comp, remote_disp, rmr),
                          1) &&
         through->net->get(rank, local_buffer, size, rmr_region(rmr), remote_disp).is_done();
}

bool put_signal_short(device_t device, int rank, const void* local_buffer, size_t size,
                      comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr, tag_t tag,
                      rcomp_t remote_comp) {
  device_impl_t* const through = known_device(device);
  if (__builtin_expect(through == nullptr || !through->has_put_imm32(), 0)) return false;
  const imm_layout& layout = through->runtime.imm();
  return __builtin_expect(
             layout.fits(tag, remote_comp) &&
                 is_usual_rma(*through, rank, local_buffer, size, local_comp, remote_disp, rmr),
             1) &&
         through->net
             ->put_imm(rank, layout.encode(tag, remote_comp), local_buffer, size, rmr_region(rmr),
                       remote_disp)
             .is_done();
}

}  // namespace rt

status_t post(const post_args_t& args) {
  switch (rt::classify(args)) {
    case rt::transfer::am:
      return rt::post_as(rt::transfer::am, args);  // here, without one more call
    case rt::transfer::send:
      return rt::post_known<rt::transfer::send>(args);
    case rt::transfer::receive:
      return rt::post_known<rt::transfer::receive>(args);
    case rt::transfer::put:
      return rt::post_known<rt::transfer::put>(args);
    case rt::transfer::get:
      return rt::post_known<rt::transfer::get>(args);
  }
  __builtin_unreachable();
}

}  // namespace lci
