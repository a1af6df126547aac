#include "lci/runtime/post/start.h"

#include <memory>
#include <stdexcept>

#include "lci/base/strings.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/rmr.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/matching/engine.h"
#include "lci/runtime/post/awaited.h"
#include "lci/runtime/post/send.h"

namespace lci::rt {
namespace {

[[noreturn, gnu::noinline, gnu::cold]] void report_unreachable(const device_impl_t& device,
                                                               int rank, post_form_t form) {
  device.report_failure(name_of(form), rank,
                        base::StrCat(": rank ", rank,
                                     " is gone, or has closed the memory that rmr names "
                                     "(deregister_memory)"));
}

}  // namespace

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
        report_unreachable(device, started.rank, args.form);
      }
      break;
  }
  if (result.is_done()) *status = started.status(result.errorcode);
  return result;
}

error_t start_and_wait(device_impl_t& device, transfer kind, operation& started,
                       const post_args_t& args, bool may_retry, status_t* status) {
  flag over;
  // Inside a handler the operation outlives this call if it does not end at once.
  std::unique_ptr<nobody> left_alone;
  if (inside_progress()) left_alone = std::make_unique<nobody>();
  started.comp = left_alone == nullptr ? static_cast<comp_impl_t*>(&over) : left_alone.get();
  error_t result = start(device, kind, started, args, false, status);
  observe::wait_info what = {name_of(args.form), started.rank};
  what.of_message = kind != transfer::put && kind != transfer::get;
  what.tag = started.tag;
  what.size = started.size;
  if (result.is_retry()) {
    if (may_retry) return result;
    wait_until(&device, what, [&] {
      result = start(device, kind, started, args, false, status);
      return !result.is_retry();
    });
  }
  if (result.is_done()) return result;
  if (left_alone != nullptr) {
    static_cast<void>(left_alone.release());
    throw std::logic_error(base::StrCat("lci: ", name_of(args.form), " of ", started.size,
                                        " bytes would have to wait inside a handler, which it may "
                                        "not; it has begun, and its buffer "
                                        "is in use until it ends: give it a completion object"));
  }
  wait_out(device, what, [&] { return over.is_set(); });
  *status = over.status();
  if (status->error.errorcode == errorcode_t::fatal) {
    device.report_failure(name_of(args.form), started.rank,
                          base::StrCat(" of ", started.size, " bytes failed; the log of rank ",
                                       started.rank, " or of this one says why"));
  }
  return errorcode_t::done;
}

}  // namespace lci::rt
