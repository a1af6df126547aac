#include "lci/runtime/post/checked_post.h"

#include "lci/runtime/check/checker.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/post/checks.h"

namespace lci::rt {

static_assert(static_cast<int>(posted_operation::kind::get) == static_cast<int>(transfer::get),
              "a posted operation has the number of its transfer");

status_t post_checked(const post_args_t& args, transfer kind, const target& target,
                      status_t (*post)(const post_args_t& args, const struct target& target)) {
  // The post refuses wrong arguments, and nothing has happened then.
  const bool is_refused = (args.local_buffer == nullptr && args.size > 0) ||
                          (has_comp(args) && !is_live(*args.local_comp.p_impl));
  if (is_refused) return post(args, target);
  posted_operation posted;
  posted.what = static_cast<posted_operation::kind>(kind);
  posted.call = name_of(args.form);
  posted.rank = args.rank;
  posted.tag = args.tag;
  posted.rcomp = args.remote_comp;
  posted.remote_offset = args.remote_disp;
  posted.buffer = args.local_buffer;
  posted.size = args.size;
  posted.runtime = target.runtime;
  posted.device = target.device;
  // Of a post that waits, the operation does not signal the program's object.
  const bool may_be_posted = has_comp(args) && args.allow_posted;
  if (may_be_posted) posted.comp = args.local_comp.p_impl;
  posted.is_of_any_device = kind == transfer::receive;
  // A packet goes back to its pool before the completion object is signaled.
  posted.is_readable = !(args.mr == MR_UNKNOWN) && !(args.mr == MR_DEVICE) &&
                       find_packet(args, *target.device) == nullptr;
  checker::post watched(*target.runtime->checks(), posted);
  post_args_t checked = args;
  if (may_be_posted) checked.local_comp = comp_t(watched.comp());
  const status_t status = post(checked, target);
  watched.answered(status.error);
  return status;
}

}  // namespace lci::rt
