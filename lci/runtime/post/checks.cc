#include "lci/runtime/post/checks.h"

namespace lci::rt {

void check_odd_rank(const post_args_t& args, transfer kind, const runtime_impl_t& runtime) {
  if (kind == transfer::receive && args.rank == ANY_SOURCE) return;
  refuse(args, "rank is ", args.rank, ", not 0 to ", runtime.size() - 1,
         kind == transfer::receive ? ", and not ANY_SOURCE" : "");
}

void check_odd_matching(const post_args_t& args, transfer kind) {
  const auto policy = static_cast<int>(args.matching_policy);
  if (policy < 0 || policy >= static_cast<int>(matching_policy_t::max)) {
    refuse(args, "matching_policy is ", policy, ", which is none");
  }
  if (args.tag == ANY_TAG && kind != transfer::receive) {
    refuse(args, "tag is ANY_TAG; at most the runtime's max_tag can be sent");
  }
}

void check_odd_mr(const post_args_t& args, const device_impl_t& device) {
  if (args.mr == MR_UNKNOWN) return;
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
  if (args.size > 0 && !is_within(offset, args.size, mr.size)) {
    refuse(args, "mr does not cover the local buffer of ", args.size, " bytes");
  }
}

}  // namespace lci::rt
