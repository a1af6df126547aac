/// @file
/// Posting communication: one operation, post_comm, and its forms.

/// @defgroup lci_operations Posting communication
/// One operation, post_comm, and its forms. The direction and two options determine the form (SC'25
/// paper, section 4.2.4 and Table 1):
///
/// @code{.unparsed}
/// direction  rmr    remote_comp  form                          operation
/// OUT        none   none         send, matched with a receive  post_send
/// OUT        none   given        active message                post_am
/// OUT        given  none         put                           post_put
/// OUT        given  given        put with signal               post_put
/// IN         none   none         receive                       post_recv
/// IN         none   given        without meaning: std::invalid_argument
/// IN         given  none         get                           post_get
/// IN         given  given        get with signal               post_get
/// @endcode
///
/// **Result.** A post returns a status in one of three categories (SC'25 paper, section 4.2.5):
/// - `done`: the operation is complete. The local buffer belongs to the caller again (a receive or
///   get has filled it), the local completion object will not be signaled, and the status describes
///   the operation.
/// - `posted`: the local buffer is owned by the library until the local completion object is
///   signaled, once, with the status of this operation. That status may be `fatal`; see below.
/// - `retry`: nothing happened, for the reason that the code states. Make progress and post again.
///
/// The status holds rank, buffer, size, tag and user_context of this side; for a receive, the rank,
/// tag and size of the message.
///
/// **Errors.**
/// - std::invalid_argument, which names the argument: rank or tag out of range, a null buffer with
///   a size, resources that do not belong together, a combination without meaning. Nothing
///   happened.
/// - std::logic_error: there is no runtime, or no default resource and none is given; or the call
///   would have to wait inside a handler.
/// - peer_failure_error: `rank` is known to have failed. Nothing happened. A receive that is posted
///   with a completion object ends with the status `fatal` instead.
/// - A status `fatal` (a call that waits throws peer_failure_error or std::runtime_error instead):
///   the peer has failed meanwhile, has no such completion object or matching engine, has closed
///   the memory, or its receive, or the receive of this rank, is smaller than the message. The log
///   of that rank or of this one states which.
///
/// A size of 0 and a message to the calling rank are valid. Messages are not ordered, not even with
/// others of the same key, with one exception: of two eager sends of one thread through one device,
/// the first matches the first receive, as long as one thread at a time makes progress on the
/// device of the receiver.
///
/// A receive cannot be canceled: it ends with its message, or with `fatal` when its peer fails.
/// g_runtime_fina and free_runtime end those that are left without a signal; their completion
/// objects may be freed after that.
///
/// **Thread safety.** Any thread may post at any time, also inside a handler. A post inside a
/// handler must not wait: use allow_retry(false) rather than a loop.
#ifndef LCI_API_COMM_HPP_
#define LCI_API_COMM_HPP_

#include "lci/api/option.hpp"
#include "lci/api/post.hpp"  // IWYU pragma: export
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_operations
/// @{

// The forms are inline, so that an object that is made only to be called costs no more than its
// post_args_t. The forms that usually take a short path are always inline: the compiler then keeps
// their members in registers, and makes an object of them only for post().

/// Posts any form of communication; see the table in @ref lci_operations.
///
/// Required: `direction` and the arguments of post_options. Options: those of post_options;
/// `remote_comp` (0: none), `rmr` (RMR_NULL: none), `remote_disp` (0 bytes), `tag` (0),
/// `matching_engine` (the default one of the runtime), `matching_policy` (`rank_tag`).
class [[nodiscard]] post_comm_x : public post_options<post_comm_x, const void*>,
                                  public argument::direction_argument<post_comm_x, direction_t>,
                                  public option::matching_engine_option<post_comm_x>,
                                  public option::matching_policy_option<post_comm_x>,
                                  public option::remote_disp_option<post_comm_x>,
                                  public option::rmr_option<post_comm_x>,
                                  public option::tag_option<post_comm_x>,
                                  public option::remote_comp_option<post_comm_x> {
 public:
  /// Takes the required arguments.
  /// @param local_buffer may point to constant memory only if the direction is OUT.
  [[nodiscard]] post_comm_x(direction_t direction, int rank, const void* local_buffer, size_t size,
                            comp_t local_comp)
      : post_options(rank, local_buffer, size, local_comp), direction_argument(direction) {}
  /// Posts the operation. See @ref lci_operations for the result and the errors.
  status_t operator()() const {
    post_args_t args = this->args(post_form_t::comm, get_direction());
    args.matching_engine = get_matching_engine();
    args.matching_policy = get_matching_policy();
    args.remote_disp = get_remote_disp();
    args.rmr = get_rmr();
    args.tag = get_tag();
    args.remote_comp = get_remote_comp();
    return post(args);
  }
};
/// post_comm_x with the default of every option.
/// @relates post_comm_x
inline status_t post_comm(direction_t direction, int rank, const void* local_buffer, size_t size,
                          comp_t local_comp) {
  return post_comm_x(direction, rank, local_buffer, size, local_comp)();
}

/// Posts an active message: `size` bytes travel to `rank`, whose completion object `remote_comp` is
/// signaled with a status of rank, buffer, size and tag.
///
/// The receiver owns the buffer in that status, which comes from the allocator of its runtime (by
/// default: free it with std::free); for size 0 it is null. If that completion object has
/// `zero_copy_am`, the buffer is a packet, also for size 0, and the receiver returns it by
/// put_upacket. If it has `lend_am`, the buffer is owned by the library and is readable until
/// signal() of the object returns, thus in a handler; nothing is allocated, copied or freed for a
/// small message.
///
/// Required: the arguments of post_options, and `remote_comp`. Options: those of post_options, and
/// `tag` (0). Throws std::invalid_argument if `remote_comp` is 0.
class [[nodiscard]] post_am_x : public post_options<post_am_x, const void*>,
                                public option::tag_option<post_am_x>,
                                public argument::remote_comp_argument<post_am_x, rcomp_t> {
 public:
  /// Takes the required arguments.
  /// @param remote_comp the completion object of `rank`, as register_rcomp returned it there.
  [[nodiscard]] post_am_x(int rank, const void* local_buffer, size_t size, comp_t local_comp,
                          rcomp_t remote_comp)
      : post_options(rank, local_buffer, size, local_comp), remote_comp_argument(remote_comp) {}
  /// Posts the operation. See @ref lci_operations for the result and the errors.
  [[gnu::always_inline]] status_t operator()() const {
    if (__builtin_expect(post_short<post_form_t::am>(get_tag(), get_remote_comp()), 1) ||
        post_short_registered<post_form_t::am>(get_tag(), get_remote_comp())) {
      return done(get_tag());
    }
    post_args_t args = this->args(post_form_t::am, direction_t::OUT);
    args.tag = get_tag();
    args.remote_comp = get_remote_comp();
    return post(args);
  }
};
/// post_am_x with the default of every option.
/// @relates post_am_x
[[gnu::always_inline]] inline status_t post_am(int rank, const void* local_buffer, size_t size,
                                               comp_t local_comp, rcomp_t remote_comp) {
  return post_am_x(rank, local_buffer, size, local_comp, remote_comp)();
}

/// The parameters of send and receive. In addition to those of post_options:
/// - `tag` (required): at most the attribute `max_tag` of the runtime.
/// - `matching_engine`: where the send and the receive match (the default one of the runtime).
/// - `matching_policy`: what they must have in common (`rank_tag`).
template <class Op, class Buffer>
class post_matched_options : public post_options<Op, Buffer>,
                             public argument::tag_argument<Op, tag_t>,
                             public option::matching_engine_option<Op>,
                             public option::matching_policy_option<Op> {
  /// @cond INTERNAL
 protected:
  post_matched_options(int rank, Buffer local_buffer, size_t size, tag_t tag, comp_t local_comp)
      : post_options<Op, Buffer>(rank, local_buffer, size, local_comp),
        argument::tag_argument<Op, tag_t>(tag) {}
  [[gnu::always_inline]] post_args_t args(post_form_t form, direction_t direction) const {
    post_args_t args = post_options<Op, Buffer>::args(form, direction);
    args.matching_engine = this->get_matching_engine();
    args.matching_policy = this->get_matching_policy();
    args.tag = this->get_tag();
    return args;
  }
  bool is_of_default_engine() const {
    return this->get_matching_engine().is_empty() &&
           this->get_matching_policy() == matching_policy_t::rank_tag;
  }
  /// @endcond
};

/// Posts a send. It matches a receive that was or will be posted at `rank` with the same matching
/// engine and the same policy, and with what the policy names of this rank and the tag.
///
/// Required: the arguments of post_options, and `tag`. Options: those of post_options,
/// `matching_engine` and `matching_policy`; see post_matched_options.
class [[nodiscard]] post_send_x : public post_matched_options<post_send_x, const void*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] post_send_x(int rank, const void* local_buffer, size_t size, tag_t tag,
                            comp_t local_comp)
      : post_matched_options(rank, local_buffer, size, tag, local_comp) {}
  /// Posts the operation. See @ref lci_operations for the result and the errors.
  [[gnu::always_inline]] status_t operator()() const {
    if (__builtin_expect(is_of_default_engine(), 1) &&
        (__builtin_expect(post_short<post_form_t::send>(get_tag()), 1) ||
         post_short_registered<post_form_t::send>(get_tag()))) {
      return done(get_tag());
    }
    return post(args(post_form_t::send, direction_t::OUT));
  }
};
/// post_send_x with the default of every option.
/// @relates post_send_x
[[gnu::always_inline]] inline status_t post_send(int rank, const void* local_buffer, size_t size,
                                                 tag_t tag, comp_t local_comp) {
  return post_send_x(rank, local_buffer, size, tag, local_comp)();
}

/// Posts a receive of at most `size` bytes. A longer message ends this receive with `fatal` and,
/// unless it was eager, the send, too.
///
/// `rank` may be ANY_SOURCE, and `tag` ANY_TAG: the policy of the receive then does not include the
/// rank, or the tag, and the sender must name the policy that remains (SC'25 paper, section 4.3.2).
/// The status has the rank, the tag and the size of the message.
///
/// Required: the arguments of post_options, and `tag`. Options: those of post_options,
/// `matching_engine` and `matching_policy`; see post_matched_options.
class [[nodiscard]] post_recv_x : public post_matched_options<post_recv_x, void*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] post_recv_x(int rank, void* local_buffer, size_t size, tag_t tag, comp_t local_comp)
      : post_matched_options(rank, local_buffer, size, tag, local_comp) {}
  /// Posts the operation. See @ref lci_operations for the result and the errors.
  [[gnu::always_inline]] status_t operator()() const {
    if (__builtin_expect(is_plain() && get_allow_posted() && get_mr() == mr_t() &&
                             is_of_default_engine() &&
                             rt::post_receive(get_device(), get_rank(), buffer(), get_size(),
                                              get_tag(), get_local_comp(), get_user_context()),
                         1)) {
      return answer(errorcode_t::posted, get_tag());
    }
    return post(args(post_form_t::recv, direction_t::IN));
  }
};
/// post_recv_x with the default of every option.
/// @relates post_recv_x
[[gnu::always_inline]] inline status_t post_recv(int rank, void* local_buffer, size_t size,
                                                 tag_t tag, comp_t local_comp) {
  return post_recv_x(rank, local_buffer, size, tag, local_comp)();
}

/// The parameters of put and get. In addition to those of post_options:
/// - `remote_disp` (required): offset of the remote buffer in `rmr`, in bytes.
/// - `rmr` (required): the registered memory of the other rank.
/// - `remote_comp`: the completion object of the target that is signaled (0: none).
/// - `tag`: the tag with which that object is signaled (0).
template <class Op, class Buffer>
class post_rma_options : public post_options<Op, Buffer>,
                         public argument::remote_disp_argument<Op, uintptr_t>,
                         public argument::rmr_argument<Op, rmr_t>,
                         public option::tag_option<Op>,
                         public option::remote_comp_option<Op> {
  /// @cond INTERNAL
 protected:
  post_rma_options(int rank, Buffer local_buffer, size_t size, comp_t local_comp,
                   uintptr_t remote_disp, const rmr_t& rmr)
      : post_options<Op, Buffer>(rank, local_buffer, size, local_comp),
        argument::remote_disp_argument<Op, uintptr_t>(remote_disp),
        argument::rmr_argument<Op, rmr_t>(rmr) {}
  // `rmr`: a copy of that of this object, which the compiler need not keep then.
  [[gnu::always_inline]] post_args_t args(post_form_t form, direction_t direction,
                                          const rmr_t& rmr) const {
    post_args_t args = post_options<Op, Buffer>::args(form, direction);
    args.tag = this->get_tag();
    args.remote_comp = this->get_remote_comp();
    args.remote_disp = this->get_remote_disp();
    args.rmr = rmr;
    return args;
  }
  /// @endcond
};

/// Posts a put: `size` bytes are written to the memory `rmr` of `rank`, from byte `remote_disp` on.
/// The put is complete when they are in place.
///
/// With `remote_comp`, that completion object of the target is signaled after that, with a status
/// of rank and tag. With a `tag` of at most the attribute `max_imm_tag` of the runtime and a
/// `remote_comp` of at most `max_imm_rcomp`, both travel with the put. Larger ones need a message
/// behind it.
///
/// Required: the arguments of post_options, `remote_disp` and `rmr`. Options: those of
/// post_options, `remote_comp` and `tag`; see post_rma_options. Throws std::invalid_argument if
/// `rmr` is empty or the bytes are beyond its end, and std::runtime_error if the target has closed
/// the memory.
class [[nodiscard]] post_put_x : public post_rma_options<post_put_x, const void*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] post_put_x(int rank, const void* local_buffer, size_t size, comp_t local_comp,
                           uintptr_t remote_disp, rmr_t rmr)
      : post_rma_options(rank, local_buffer, size, local_comp, remote_disp, rmr) {}
  /// Posts the operation. See @ref lci_operations for the result and the errors.
  [[gnu::always_inline]] status_t operator()() const {
    const rmr_t rmr = get_rmr();  // a copy, so that the address of this object is not taken
    const bool is_done =
        get_remote_comp() == 0
            ? post_short<post_form_t::put>(get_remote_disp(), rmr)
            : post_short<post_form_t::put>(get_remote_disp(), rmr, get_tag(), get_remote_comp());
    if (__builtin_expect(is_done, 1) || post_short_registered<post_form_t::put>(
                                            get_remote_disp(), rmr, get_tag(), get_remote_comp())) {
      return done(get_tag());
    }
    return post(args(post_form_t::put, direction_t::OUT, rmr));
  }
};
/// post_put_x with the default of every option.
/// @relates post_put_x
[[gnu::always_inline]] inline status_t post_put(int rank, const void* local_buffer, size_t size,
                                                comp_t local_comp, uintptr_t remote_disp,
                                                rmr_t rmr) {
  return post_put_x(rank, local_buffer, size, local_comp, remote_disp, rmr)();
}

/// Posts a get: `size` bytes are read from the memory `rmr` of `rank`, from byte `remote_disp` on,
/// into `local_buffer`.
///
/// With `remote_comp`, that completion object of the target is signaled after the bytes have been
/// read, with a status of rank and tag.
///
/// Required: the arguments of post_options, `remote_disp` and `rmr`. Options: those of
/// post_options, `remote_comp` and `tag`; see post_rma_options. Throws std::invalid_argument if
/// `rmr` is empty or the bytes are beyond its end, and std::runtime_error if the target has closed
/// the memory.
class [[nodiscard]] post_get_x : public post_rma_options<post_get_x, void*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] post_get_x(int rank, void* local_buffer, size_t size, comp_t local_comp,
                           uintptr_t remote_disp, rmr_t rmr)
      : post_rma_options(rank, local_buffer, size, local_comp, remote_disp, rmr) {}
  /// Posts the operation. See @ref lci_operations for the result and the errors.
  [[gnu::always_inline]] status_t operator()() const {
    const rmr_t rmr = get_rmr();
    if (get_remote_comp() == 0 &&
        (__builtin_expect(post_short<post_form_t::get>(get_remote_disp(), rmr), 1) ||
         post_short_registered<post_form_t::get>(get_remote_disp(), rmr))) {
      return done(get_tag());
    }
    return post(args(post_form_t::get, direction_t::IN, rmr));
  }
};
/// post_get_x with the default of every option.
/// @relates post_get_x
[[gnu::always_inline]] inline status_t post_get(int rank, void* local_buffer, size_t size,
                                                comp_t local_comp, uintptr_t remote_disp,
                                                rmr_t rmr) {
  return post_get_x(rank, local_buffer, size, local_comp, remote_disp, rmr)();
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_COMM_HPP_
