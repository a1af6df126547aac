#ifndef LCI_RUNTIME_POST_TRANSFER_H_
#define LCI_RUNTIME_POST_TRANSFER_H_

#include "lci/api/atomic.hpp"
#include "lci/api/comm.hpp"
#include "lci/runtime/core/throw.h"

namespace lci::rt {

// The kind of a post: a row of SC'25's Table 1.
enum class transfer { send, am, put, receive, get };

// `Args` is post_args_t or atomic_args_t here and below.
template <class Args>
inline bool has_comp(const Args& args) {
  return !(args.local_comp == COMP_NULL) && !(args.local_comp == COMP_NULL_RETRY);
}

// Whether a post may answer retry.
template <class Args>
bool may_retry(const Args& args) {
  return args.allow_retry && !(args.local_comp == COMP_NULL);
}

// "post_am", for texts.
const char* name_of(post_form_t form);
const char* name_of(atomic_form_t form);

// Throws std::invalid_argument. Off the fast path.
template <class Args, class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void refuse(const Args& args, const Parts&... parts) {
  throw_invalid_argument(name_of(args.form), ": ", parts...);
}
[[noreturn, gnu::noinline, gnu::cold]] void refuse_meaningless(const post_args_t& args);

// Throws std::invalid_argument for a combination of arguments that means nothing.
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

}  // namespace lci::rt

#endif  // LCI_RUNTIME_POST_TRANSFER_H_
