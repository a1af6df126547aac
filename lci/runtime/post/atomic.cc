// The way down of an atomic operation: checks its arguments, and starts it.
#include "lci/api/atomic.hpp"

#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/post/awaited.h"
#include "lci/runtime/post/checks.h"
#include "lci/runtime/post/start.h"
#include "lci/runtime/post/transfer.h"
#include "lci/runtime/protocol/apply_atomic.h"

namespace lci {
namespace rt {
namespace {

uint64_t address_of(const atomic_args_t& args) { return args.rmr.base + args.remote_disp; }

void check(const atomic_args_t& args, const runtime_impl_t& runtime) {
  if (args.rank < 0 || args.rank >= runtime.size()) {
    refuse(args, "rank is ", args.rank, ", not 0 to ", runtime.size() - 1);
  }
  if (args.op > atomic_op_t::compare_swap) {
    refuse(args, "op is ", unsigned{static_cast<uint8_t>(args.op)}, ", which is none");
  }
  if (args.op == atomic_op_t::compare_swap && args.form != atomic_form_t::compare_swap) {
    refuse(args, "op is compare_swap, which needs a value to compare with: use post_compare_swap");
  }
  if (args.local_buffer == nullptr && args.form != atomic_form_t::atomic) {
    refuse(args, "local_buffer is null");
  }
  if (args.size != 4 && args.size != 8) refuse(args, "size is ", args.size, ", not 4 or 8");
  if (args.rmr.is_empty()) refuse(args, "rmr is empty");
  check_remote(args);
  if (address_of(args) % args.size != 0) {
    refuse(args, "the integer of ", args.size, " bytes at byte ", args.remote_disp,
           " of rmr is not aligned to its size; the memory begins ", args.rmr.base % args.size,
           " bytes behind a multiple of it");
  }
  check_comp(args, has_comp(args));
}

// `done`, `posted`, or a retry code if not may_wait. Throws if the target can't be reached.
error_t start_atomic(device_impl_t& device, const operation& started, const atomic_request& request,
                     const atomic_args_t& args, bool may_wait) {
  const error_t result = device.atomics.start(started, request, may_wait);
  if (__builtin_expect(result.errorcode == errorcode_t::fatal, 0)) {
    report_unreachable(device, args.rank, name_of(args.form));
  }
  return result;
}

// Variant for a caller that waits until the operation is complete, or that returns retry if
// may_retry.
error_t start_atomic_and_wait(device_impl_t& device, operation started,
                              const atomic_request& request, const atomic_args_t& args,
                              bool may_retry) {
  observe::wait_info what = {name_of(args.form), started.rank};
  what.size = started.size;
  status_t status;
  const error_t result = run_and_wait(
      device, &started, what, may_retry,
      [&] { return start_atomic(device, started, request, args, /*may_wait=*/false); },
      [&] { return name_of(args.form); }, &status);
  if (result.errorcode == errorcode_t::fatal) {
    report_unreachable(device, args.rank, name_of(args.form));
  }
  return result;
}

}  // namespace
}  // namespace rt

status_t post(const atomic_args_t& args) {
  const rt::target target = rt::target_of(args.runtime, args.device, args.endpoint);
  rt::check(args, *target.runtime);
  device_impl_t& device = *target.device;
  rt::operation started;
  started.rank = args.rank;
  started.buffer = args.local_buffer;
  started.size = args.size;
  started.tag = args.tag;
  started.rcomp = args.remote_comp;
  started.remote = rt::rmr_region(args.rmr);
  started.remote_offset = args.remote_disp;
  started.user_context = args.user_context;
  const rt::atomic_request request{args.op, rt::address_of(args), {args.value, args.compare}};

  const bool has_comp = rt::has_comp(args);
  const bool may_retry = rt::may_retry(args);
  error_t result;
  if (has_comp && args.allow_posted) {
    started.comp = args.local_comp.p_impl;
    result = rt::start_atomic(device, started, request, args, /*may_wait=*/!may_retry);
  } else {
    result = rt::start_atomic_and_wait(device, started, request, args, may_retry);
  }
  if (result.is_done() && !args.allow_done) {
    args.local_comp.p_impl->signal(started.status(errorcode_t::done));
    result = errorcode_t::posted;
  }
  return started.status(result.errorcode);
}

}  // namespace lci
