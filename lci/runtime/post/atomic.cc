// The way down of an atomic operation: checks its arguments, and starts it.
#include "lci/api/atomic.hpp"

#include <iterator>

#include "lci/base/strings.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/post/awaited.h"
#include "lci/runtime/post/checks.h"
#include "lci/runtime/protocol/apply_atomic.h"

namespace lci {
namespace rt {
namespace {

const char* name_of(atomic_form_t form) {
  static constexpr const char* names[] = {"post_atomic", "post_fetch_atomic", "post_compare_swap"};
  static_assert(std::size(names) == static_cast<size_t>(atomic_form_t::compare_swap) + 1);
  return names[static_cast<size_t>(form)];
}

template <class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void refuse(const atomic_args_t& args,
                                                   const Parts&... parts) {
  throw_invalid_argument(name_of(args.form), ": ", parts...);
}

bool names_comp(const atomic_args_t& args) {
  return !(args.local_comp == COMP_NULL) && !(args.local_comp == COMP_NULL_RETRY);
}

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
  if (!is_within(args.remote_disp, args.size, rmr_size(args.rmr))) {
    refuse(args, args.size, " bytes from byte ", args.remote_disp,
           " on are beyond the end of rmr, ", rmr_size(args.rmr), " bytes");
  }
  if (address_of(args) % args.size != 0) {
    refuse(args, "the integer of ", args.size, " bytes at byte ", args.remote_disp,
           " of rmr is not aligned to its size; the memory begins ", args.rmr.base % args.size,
           " bytes behind a multiple of it");
  }
  if (names_comp(args) && !is_live(*args.local_comp.p_impl))
    refuse(args, "local_comp has been freed");
  if (!names_comp(args) && !args.allow_done) {
    refuse(args, "allow_done(false) needs a completion object");
  }
}

[[noreturn, gnu::noinline, gnu::cold]] void report_failure(const device_impl_t& device,
                                                           const atomic_args_t& args) {
  device.report_failure(name_of(args.form), args.rank,
                        base::StrCat(": rank ", args.rank,
                                     " is gone, or has closed the memory that rmr names "
                                     "(deregister_memory, free_mr)"));
}

// `done`, `posted`, or a retry code if not may_wait. Throws if the target can't be reached.
error_t start(device_impl_t& device, const operation& started, const atomic_request& request,
              const atomic_args_t& args, bool may_wait) {
  const error_t result = device.atomics.start(started, request, may_wait);
  if (__builtin_expect(result.errorcode == errorcode_t::fatal, 0)) report_failure(device, args);
  return result;
}

// Variant for a caller that waits until the operation is complete, or that returns retry if
// may_retry.
error_t start_and_wait(device_impl_t& device, operation started, const atomic_request& request,
                       const atomic_args_t& args, bool may_retry) {
  observe::wait_info what = {name_of(args.form), started.rank};
  what.size = started.size;
  status_t status;
  const error_t result = run_and_wait(
      device, &started, what, may_retry,
      [&] { return start(device, started, request, args, /*may_wait=*/false); },
      [&] { return name_of(args.form); }, &status);
  if (result.errorcode == errorcode_t::fatal) report_failure(device, args);
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

  const bool has_comp = rt::names_comp(args);
  const bool may_retry = args.allow_retry && !(args.local_comp == COMP_NULL);
  error_t result;
  if (has_comp && args.allow_posted) {
    started.comp = args.local_comp.p_impl;
    result = rt::start(device, started, request, args, /*may_wait=*/!may_retry);
  } else {
    result = rt::start_and_wait(device, started, request, args, may_retry);
  }
  if (result.is_done() && !args.allow_done) {
    args.local_comp.p_impl->signal(started.status(errorcode_t::done));
    result = errorcode_t::posted;
  }
  return started.status(result.errorcode);
}

}  // namespace lci
