#include "lci/runtime/post/start.h"

#include "lci/base/strings.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/matching/engine.h"
#include "lci/runtime/post/awaited.h"
#include "lci/runtime/post/send.h"

namespace lci::rt {

void report_unreachable(const device_impl_t& device, int rank, const char* call) {
  device.report_failure(call, rank,
                        base::StrCat(": rank ", rank,
                                     " is gone, or has closed the memory that rmr names "
                                     "(deregister_memory, free_mr), or rmr is of another "
                                     "rank or runtime, or memory of the operation is not "
                                     "mapped, or is read-only"));
}

error_t start(device_impl_t& device, transfer kind, operation& started, const post_args_t& args,
              bool may_wait, status_t* status) {
  error_t result;
  switch (kind) {
    case transfer::send:
    case transfer::am:
      result = send(device, started, may_wait);
      break;
    case transfer::receive:
      return started.engine->post_recv(started, status);
    case transfer::put:
    case transfer::get:
      started.kind = kind == transfer::put ? net::op_kind::put : net::op_kind::get;
      started.remote = rmr_region(args.rmr);
      started.remote_offset = args.remote_disp;
      result = device.rma.start(started, may_wait);
      if (__builtin_expect(result.errorcode == errorcode_t::fatal, 0)) {
        report_unreachable(device, started.rank, name_of(args.form));
      }
      break;
  }
  if (result.is_done()) *status = started.status(result.errorcode);
  return result;
}

error_t start_and_wait(device_impl_t& device, transfer kind, operation& started,
                       const post_args_t& args, bool may_retry, status_t* status) {
  observe::wait_info what = {name_of(args.form), started.rank};
  what.of_message = kind != transfer::put && kind != transfer::get;
  what.tag = started.tag;
  what.size = started.size;
  const error_t result = run_and_wait(
      device, &started, what, may_retry,
      [&] { return start(device, kind, started, args, /*may_wait=*/false, status); },
      [&] { return base::StrCat(name_of(args.form), " of ", started.size, " bytes"); }, status);
  if (result.errorcode == errorcode_t::fatal) {
    device.report_failure(name_of(args.form), started.rank,
                          base::StrCat(" of ", started.size, " bytes failed; the log of rank ",
                                       started.rank, " or of this one says why"));
  }
  return result;
}

}  // namespace lci::rt
