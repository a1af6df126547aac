#include "lci/runtime/post/transfer.h"

#include <iterator>

namespace lci::rt {

const char* name_of(post_form_t form) {
  static constexpr const char* names[] = {"post_comm", "post_send", "post_am",
                                          "post_put",  "post_recv", "post_get"};
  static_assert(std::size(names) == static_cast<size_t>(post_form_t::get) + 1);
  return names[static_cast<size_t>(form)];
}

const char* name_of(atomic_form_t form) {
  static constexpr const char* names[] = {"post_atomic", "post_fetch_atomic", "post_compare_swap"};
  static_assert(std::size(names) == static_cast<size_t>(atomic_form_t::compare_swap) + 1);
  return names[static_cast<size_t>(form)];
}

void refuse_meaningless(const post_args_t& args) {
  if (args.form == post_form_t::am) refuse(args, "remote_comp is 0, which names nothing");
  if (args.form == post_form_t::put || args.form == post_form_t::get) refuse(args, "rmr is empty");
  refuse(args,
         "direction IN with remote_comp and no rmr means nothing (a receive has no completion "
         "object at the sender)");
}

}  // namespace lci::rt
