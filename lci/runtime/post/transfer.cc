#include "lci/runtime/post/transfer.h"

namespace lci::rt {

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

void refuse_meaningless(const post_args_t& args) {
  if (args.form == post_form_t::am) refuse(args, "remote_comp is 0, which names nothing");
  if (args.form == post_form_t::put || args.form == post_form_t::get) refuse(args, "rmr is empty");
  refuse(args,
         "direction IN with remote_comp and no rmr means nothing (a receive has no completion "
         "object at the sender)");
}

}  // namespace lci::rt
