// The way down of a post: checks its arguments, and starts the operation by the shortest way.
#include "lci/api/comm.hpp"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/device/vain_tests.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/matching/engine.h"
#include "lci/runtime/post/checked_post.h"
#include "lci/runtime/post/checks.h"
#include "lci/runtime/post/short.h"
#include "lci/runtime/post/start.h"
#include "lci/runtime/post/transfer.h"

namespace lci {
namespace rt {
namespace {

// A post with any options.

// The policy of a receive: its wildcards are not compared.
inline matching_policy_t without_wildcards(const post_args_t& args) {
  auto parts = static_cast<unsigned>(args.matching_policy);
  if (args.rank == ANY_SOURCE) parts &= ~static_cast<unsigned>(matching_policy_t::rank_only);
  if (args.tag == ANY_TAG) parts &= ~static_cast<unsigned>(matching_policy_t::tag_only);
  return static_cast<matching_policy_t>(parts);
}

inline matching_engine* engine_of(const post_args_t& args, runtime_impl_t& runtime) {
  if (__builtin_expect(args.matching_engine.is_empty(), 1)) {
    matching_engine* const otherwise = runtime.default_matching_engine();
    if (__builtin_expect(otherwise != nullptr, 1)) return otherwise;
  }
  return resolve(runtime, args.matching_engine);
}

status_t status_of(const post_args_t& args, error_t result) {
  return make_status(result, args.rank, args.local_buffer, args.size, args.tag, args.user_context);
}

[[gnu::noinline, gnu::cold]] void note_refusal(const post_args_t& args, error_t answer) {
  device_impl_t* const device = resolve(args.runtime, args.device, args.endpoint).device;
  device->note_refusal(args.rank, args.size, answer);
}

// The status of an operation that was not complete at once.
inline status_t answer_open(const post_args_t& args, error_t result) {
  if (result.is_retry() && thread_tests::own.add_refused()) note_refusal(args, result);
  return status_of(args, result);
}

// The status of an operation that was complete at once.
inline status_t answer_done(const post_args_t& args, status_t status) {
  if (__builtin_expect(!args.allow_done, 0)) {
    args.local_comp.p_impl->signal(status);
    status.error = errorcode_t::posted;
  }
  return status;
}

// An operation that outlives its post, or may.
[[gnu::noinline]] status_t post_any(device_impl_t& device, transfer kind, const address& to,
                                    packet* user_packet, const post_args_t& args) {
  if (kind != transfer::receive) check_size(args);
  operation started;
  static_cast<address&>(started) = to;
  started.rank = args.rank;
  started.buffer = args.local_buffer;
  started.size = args.size;
  started.comp = has_comp(args) ? args.local_comp.p_impl : nullptr;
  started.user_context = args.user_context;
  started.network_semantic = args.comp_semantic == comp_semantic_t::network;
  started.user_packet = user_packet;
  if (!(args.mr == MR_HOST) && !(args.mr == MR_UNKNOWN)) {
    const mr_impl_t& mr = *args.mr.p_impl;
    started.local = mr.region;
    started.local_offset =
        reinterpret_cast<uintptr_t>(args.local_buffer) - reinterpret_cast<uintptr_t>(mr.address);
  }
  status_t status;
  const error_t result =
      args.allow_posted && has_comp(args)
          ? start(device, kind, started, args, /*may_wait=*/!may_retry(args), &status)
          : start_and_wait(device, kind, started, args, may_retry(args), &status);
  if (!result.is_done()) return answer_open(args, result);
  return answer_done(args, status);
}

// A receive is written only where it waits.
[[gnu::always_inline]] inline status_t post_receive(const address& to, const post_args_t& args) {
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

inline bool is_default(const address& to) {
  return to.remote_engine == default_engine && to.policy == matching_policy_t::rank_tag;
}

// One kind each, so that the compiler decides all that depends on it.
template <transfer Kind>
[[gnu::always_inline]] inline status_t post_to(const post_args_t& args, const target& target) {
  device_impl_t& device = *target.device;
  check_rank(args, Kind, *target.runtime);
  check_buffer(args, device);
  check_comp(args, has_comp(args));
  address to;
  to.tag = args.tag;
  to.rcomp = args.remote_comp;
  if constexpr (Kind == transfer::send || Kind == transfer::receive) {
    check_matching(args, Kind);
    to.policy = Kind == transfer::receive ? without_wildcards(args) : args.matching_policy;
    to.engine = engine_of(args, *target.runtime);
    to.remote_engine = static_cast<uint16_t>(to.engine->id);
  }
  if constexpr (is_rma(Kind)) check_remote(args);
  if constexpr (Kind == transfer::receive) {
    const bool is_usual = has_comp(args) && args.allow_posted && args.mr == MR_HOST;
    return __builtin_expect(is_usual, 1) ? post_receive(to, args)
                                         : post_any(device, Kind, to, nullptr, args);
  } else {
    packet* const packet = Kind == transfer::get ? nullptr : find_packet(args, device);
    const bool may_be_short =
        is_rma(Kind) || args.comp_semantic == comp_semantic_t::memory;  // else the network says so
    if (__builtin_expect(may_be_short && (Kind != transfer::send || is_default(to)), 1)) {
      const error_t result =
          post_shortest<Kind>(device, args.rank, args.local_buffer, args.size, args.tag,
                              args.remote_comp, args.rmr, args.remote_disp);
      if (__builtin_expect(result.is_done(), 1)) {
        if constexpr (Kind != transfer::get) {
          if (packet != nullptr) packet->put();
        }
        return answer_done(args, status_of(args, errorcode_t::done));
      }
      if (result.is_retry() && result.errorcode != errorcode_t::retry && may_retry(args)) {
        return answer_open(args, result);
      }
    }
    return post_any(device, Kind, to, packet, args);
  }
}

template <transfer Kind>
status_t post_plain(const post_args_t& args, const target& target) {
  return post_to<Kind>(args, target);
}

// Names more than a device, or one that is watched.
template <transfer Kind>
[[gnu::noinline]] status_t post_unusual(const post_args_t& args) {
  const target target = resolve(args.runtime, args.device, args.endpoint);
  return target.device->is_watched() ? post_checked(args, Kind, target, &post_plain<Kind>)
                                     : post_plain<Kind>(args, target);
}

template <transfer Kind>
[[gnu::always_inline]] inline status_t post_as(const post_args_t& args) {
  if (__builtin_expect(args.endpoint.is_empty() && args.runtime.is_empty(), 1)) {
    device_impl_t* const impl = known_device(args.device);
    if (__builtin_expect(impl != nullptr, 1)) return post_to<Kind>(args, {&impl->runtime, impl});
  }
  return post_unusual<Kind>(args);
}

template <transfer Kind>
[[gnu::noinline]] status_t post_known(const post_args_t& args) {
  return post_as<Kind>(args);
}

// A post without options, which is short.

constexpr transfer transfer_of(post_form_t form) {
  return form == post_form_t::send  ? transfer::send
         : form == post_form_t::am  ? transfer::am
         : form == post_form_t::put ? transfer::put
                                    : transfer::get;
}

// The arguments of a form besides those that every form has.
struct rest_of_form {
  explicit rest_of_form(tag_t t, rcomp_t r = 0) : tag(t), rcomp(r), rmr(RMR_NULL) {}
  rest_of_form(uintptr_t disp, const rmr_t& there, tag_t t = 0, rcomp_t r = 0)
      : tag(t), rcomp(r), remote_disp(disp), rmr(there) {}
  tag_t tag;
  rcomp_t rcomp;
  uintptr_t remote_disp = 0;
  const rmr_t& rmr;
};

template <post_form_t Form, class... Rest>
[[gnu::always_inline]] inline bool post_through(device_impl_t& through, int rank,
                                                void* local_buffer, size_t size, comp_t local_comp,
                                                const Rest&... rest) {
  constexpr transfer kind = transfer_of(Form);
  const rest_of_form arguments(rest...);
  runtime_impl_t& runtime = through.runtime;
  bool is_usual =
      static_cast<unsigned>(rank) < static_cast<unsigned>(runtime.size()) &&
      (local_buffer != nullptr || size == 0) && through.packets().find(local_buffer) == nullptr &&
      (local_comp == COMP_NULL || local_comp == COMP_NULL_RETRY || is_live(*local_comp.p_impl));
  if constexpr (kind == transfer::send) {
    is_usual = is_usual && runtime.default_matching_engine() != nullptr;
  }
  if constexpr (is_rma(kind)) {
    is_usual = is_usual && is_within(arguments.remote_disp, size, rmr_size(arguments.rmr));
  }
  return __builtin_expect(is_usual, 1) &&
         post_shortest<kind>(through, rank, local_buffer, size, arguments.tag, arguments.rcomp,
                             arguments.rmr, arguments.remote_disp)
             .is_done();
}

template <post_form_t Form, class... Rest>
[[gnu::always_inline]] inline bool post_form(device_t device, int rank, void* local_buffer,
                                             size_t size, comp_t local_comp, const Rest&... rest) {
  device_impl_t* const through = known_device(device);
  return __builtin_expect(through != nullptr, 1) &&
         post_through<Form>(*through, rank, local_buffer, size, local_comp, rest...);
}

// Variant for a post that names its registration.
template <post_form_t Form, class... Rest>
[[gnu::always_inline]] inline bool post_registered(mr_t mr, device_t device, int rank,
                                                   void* local_buffer, size_t size,
                                                   comp_t local_comp, const Rest&... rest) {
  device_impl_t* const through = known_device(device);
  return __builtin_expect(through != nullptr && is_usual_mr(mr, *through, local_buffer, size), 1) &&
         post_through<Form>(*through, rank, local_buffer, size, local_comp, rest...);
}

}  // namespace

bool post_short(form<post_form_t::am>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, tag_t tag, rcomp_t remote_comp) {
  return post_form<post_form_t::am>(device, rank, local_buffer, size, local_comp, tag, remote_comp);
}

bool post_short(form<post_form_t::send>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, tag_t tag) {
  return post_form<post_form_t::send>(device, rank, local_buffer, size, local_comp, tag);
}

bool post_short(form<post_form_t::put>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr) {
  return post_form<post_form_t::put>(device, rank, local_buffer, size, local_comp, remote_disp,
                                     rmr);
}

bool post_short(form<post_form_t::put>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr, tag_t tag,
                rcomp_t remote_comp) {
  return post_form<post_form_t::put>(device, rank, local_buffer, size, local_comp, remote_disp, rmr,
                                     tag, remote_comp);
}

bool post_short(form<post_form_t::get>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr) {
  return post_form<post_form_t::get>(device, rank, local_buffer, size, local_comp, remote_disp,
                                     rmr);
}

bool post_short(form<post_form_t::am>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, tag_t tag, rcomp_t remote_comp, mr_t mr) {
  return post_registered<post_form_t::am>(mr, device, rank, local_buffer, size, local_comp, tag,
                                          remote_comp);
}

bool post_short(form<post_form_t::send>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, tag_t tag, mr_t mr) {
  return post_registered<post_form_t::send>(mr, device, rank, local_buffer, size, local_comp, tag);
}

bool post_short(form<post_form_t::put>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr, tag_t tag,
                rcomp_t remote_comp, mr_t mr) {
  return post_registered<post_form_t::put>(mr, device, rank, local_buffer, size, local_comp,
                                           remote_disp, rmr, tag, remote_comp);
}

bool post_short(form<post_form_t::get>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr, mr_t mr) {
  return post_registered<post_form_t::get>(mr, device, rank, local_buffer, size, local_comp,
                                           remote_disp, rmr);
}

bool post_receive(device_t device, int rank, void* local_buffer, size_t size, tag_t tag,
                  comp_t local_comp, void* user_context) {
  device_impl_t* const through = known_device(device);
  if (__builtin_expect(through == nullptr, 0)) return false;
  runtime_impl_t& runtime = through->runtime;
  matching_engine* const engine = runtime.default_matching_engine();
  const bool is_usual = static_cast<unsigned>(rank) < static_cast<unsigned>(runtime.size()) &&
                        tag != ANY_TAG && (local_buffer != nullptr || size == 0) &&
                        !local_comp.is_empty() && is_live(*local_comp.p_impl) && engine != nullptr;
  return __builtin_expect(is_usual, 1) &&
         engine->try_post_recv(rank, tag, local_buffer, size, local_comp.p_impl, user_context);
}

void signal_done(comp_t local_comp, int rank, void* buffer, size_t size, tag_t tag,
                 void* user_context) {
  local_comp.p_impl->signal(make_status(errorcode_t::done, rank, buffer, size, tag, user_context));
}

}  // namespace rt

status_t post(const post_args_t& args) {
  switch (rt::classify(args)) {
    case rt::transfer::am:
      return rt::post_as<rt::transfer::am>(args);  // here, without one more call
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
