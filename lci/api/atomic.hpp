/// @file
/// Atomic operations on the memory of other ranks.

/// @defgroup lci_atomics Remote atomics
/// Atomic operations on 32-bit and 64-bit integers in registered memory of another rank or of the
/// calling one.
///
/// @code
/// // Adds 1 to the third counter of rank 1, and waits until the counter has it.
/// static_cast<void>(
///     lci::post_atomic(1, lci::atomic_op_t::add, 1, 8, lci::COMP_NULL, 2 * 8, counters));
/// // The same, and `before` is the value that the counter had.
/// uint64_t before;
/// static_cast<void>(lci::post_fetch_atomic(1, lci::atomic_op_t::add, 1, &before, 8, lci::COMP_NULL,
///                                          2 * 8, counters));
/// @endcode
///
/// **Result.** As of the other posts (see @ref lci_operations). An atomic operation is complete
/// when the target's integer has the new value and, in a fetching form, `local_buffer` has the
/// former one. It is `done` at once where this rank maps the target's memory: on one host, memory
/// from alloc_mr, and the memory of the calling rank. Otherwise the target carries it out when it
/// makes progress.
///
/// **Coherence.** All atomic operations on one integer, by any rank, thread, device and network,
/// are atomic with respect to each other, and to those of the owner's own processor: operations of
/// `std::atomic` (where lock-free) and of the `__atomic` functions on that integer. They are
/// carried out by a processor in every case, with the order of `memory_order_acq_rel`. This holds
/// for accesses of one size: operations of 4 bytes and of 8 bytes on the same bytes are not atomic
/// with respect to each other.
///
/// Puts and gets are not atomic with respect to atomic operations: a program orders a put or get
/// and an atomic operation that access the same integer by the completion of the one that comes
/// first. An operation that is complete when an atomic operation is posted happens before it: a
/// thread that reads the new value atomically (acquire) also sees the bytes of a put that was
/// complete before.
///
/// **Order.** Like other operations, two atomic operations that are both under way may be carried
/// out in either order.
///
/// **Errors**, in addition to those of every post:
/// - std::invalid_argument: `size` is neither 4 nor 8, the integer is beyond the end of `rmr` or is
///   not aligned to its size, or `rmr` is empty. Nothing happened.
/// - A status `fatal` (std::runtime_error, if the post waits): the target has closed the memory
///   (deregister_memory, free_mr). The log of this rank states it. Nothing happened.
#ifndef LCI_API_ATOMIC_HPP_
#define LCI_API_ATOMIC_HPP_

#include <cstddef>
#include <cstdint>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_atomics
/// @{

/// The change that an atomic operation makes to the target's integer. Integers wrap around when
/// they overflow.
enum class atomic_op_t : uint8_t {
  add,           ///< Adds the operand. To subtract, add its negative.
  bit_and,       ///< Bitwise and with the operand.
  bit_or,        ///< Bitwise or with the operand.
  bit_xor,       ///< Bitwise exclusive or with the operand.
  swap,          ///< Replaces it by the operand.
  compare_swap,  ///< Replaces it by the operand if it equals another one: post_compare_swap.
};

/// The operation that the program called, for the texts of exceptions.
enum class atomic_form_t {
  atomic,        ///< post_atomic
  fetch_atomic,  ///< post_fetch_atomic
  compare_swap   ///< post_compare_swap
};

/// An atomic operation as a value, with every argument and option. The operations below fill it in.
struct atomic_args_t {
  atomic_form_t form;            ///< The operation that the program called.
  atomic_op_t op;                ///< The operation.
  int rank;                      ///< The target.
  uint64_t value;                ///< The operand.
  uint64_t compare = 0;          ///< compare_swap: the value that is replaced.
  void* local_buffer = nullptr;  ///< Receives the former value; null: nothing does.
  size_t size;                   ///< Bytes of the integer: 4 or 8.
  comp_t local_comp;             ///< Completion object of this rank.
  uintptr_t remote_disp;         ///< Offset of the integer in `rmr`, in bytes.
  rmr_t rmr;                     ///< Registered memory that holds the integer.
  runtime_t runtime;             ///< See option::runtime_option.
  device_t device;               ///< See option::device_option.
  endpoint_t endpoint;           ///< See option::endpoint_option.
  tag_t tag = 0;                 ///< The tag.
  rcomp_t remote_comp = 0;       ///< Completion object of the target; 0: none.
  void* user_context = nullptr;  ///< Value that comes back in the status.
  bool allow_done = true;        ///< See option::allow_done_option.
  bool allow_posted = true;      ///< See option::allow_posted_option.
  bool allow_retry = true;       ///< See option::allow_retry_option.
};
/// Posts the operation. See @ref lci_atomics for the result and the errors, and @ref lci_operations
/// for thread safety.
status_t post(const atomic_args_t& args);

/// The parameters that every atomic operation has.
///
/// Required:
/// - `rank`: the target, 0 to get_rank_n() - 1.
/// - `value`: the operand. Of an operation of 4 bytes, its lower 32 bits; a signed value is
///   converted.
/// - `size`: bytes of the integer, 4 or 8.
/// - `local_comp`: the completion object that is signaled if the post returns `posted`; it may be a
///   signal. With COMP_NULL the post waits, and returns `done` or throws; with COMP_NULL_RETRY it
///   may also return `retry`.
/// - `remote_disp`: offset of the integer in `rmr`, in bytes. The address that this makes is a
///   multiple of `size`.
/// - `rmr`: the registered memory of the target.
///
/// Options, with their defaults:
/// - `remote_comp`: the completion object of the target that is signaled after the operation, with
///   a status of rank and tag (0: none).
/// - `tag`: the tag with which that object is signaled (0).
/// - `runtime`, `device`, `endpoint`: the path of the operation (the default device of the global
///   runtime). Each implies those before it.
/// - `user_context`: a value that comes back in the status of this side (null).
/// - `allow_done`, `allow_posted`, `allow_retry`: the categories of statuses that the post may
///   return (all true). allow_done(false) needs a completion object.
template <class Op>
class post_atomic_options : public option::device_options<Op>,
                            public option::tag_option<Op>,
                            public option::remote_comp_option<Op>,
                            public option::user_context_option<Op>,
                            public option::allow_done_option<Op>,
                            public option::allow_posted_option<Op>,
                            public option::allow_retry_option<Op>,
                            public argument::rank_argument<Op, int>,
                            public argument::value_argument<Op, uint64_t>,
                            public argument::size_argument<Op, size_t>,
                            public argument::local_comp_argument<Op, comp_t>,
                            public argument::remote_disp_argument<Op, uintptr_t>,
                            public argument::rmr_argument<Op, rmr_t> {
  /// @cond INTERNAL
 protected:
  post_atomic_options(int rank, uint64_t value, size_t size, comp_t local_comp,
                      uintptr_t remote_disp, const rmr_t& rmr)
      : argument::rank_argument<Op, int>(rank),
        argument::value_argument<Op, uint64_t>(value),
        argument::size_argument<Op, size_t>(size),
        argument::local_comp_argument<Op, comp_t>(local_comp),
        argument::remote_disp_argument<Op, uintptr_t>(remote_disp),
        argument::rmr_argument<Op, rmr_t>(rmr) {}

  atomic_args_t args(atomic_form_t form, atomic_op_t op, void* local_buffer) const {
    atomic_args_t args;
    args.form = form;
    args.op = op;
    args.rank = this->get_rank();
    args.value = this->get_value();
    args.local_buffer = local_buffer;
    args.size = this->get_size();
    args.local_comp = this->get_local_comp();
    args.remote_disp = this->get_remote_disp();
    args.rmr = this->get_rmr();
    args.runtime = this->get_runtime();
    args.device = this->get_device();
    args.endpoint = this->get_endpoint();
    args.tag = this->get_tag();
    args.remote_comp = this->get_remote_comp();
    args.user_context = this->get_user_context();
    args.allow_done = this->get_allow_done();
    args.allow_posted = this->get_allow_posted();
    args.allow_retry = this->get_allow_retry();
    return args;
  }
  /// @endcond
};

/// Posts an atomic operation that does not fetch: the target's integer becomes the result of `op`
/// on it and `value`. The status has no buffer.
///
/// Required: `op` (any but compare_swap) and the arguments of post_atomic_options. Options: those
/// of post_atomic_options.
class [[nodiscard]] post_atomic_x : public post_atomic_options<post_atomic_x>,
                                    public argument::op_argument<post_atomic_x, atomic_op_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] post_atomic_x(int rank, atomic_op_t op, uint64_t value, size_t size,
                              comp_t local_comp, uintptr_t remote_disp, rmr_t rmr)
      : post_atomic_options(rank, value, size, local_comp, remote_disp, rmr), op_argument(op) {}
  /// Posts the operation. See @ref lci_atomics for the result and the errors.
  status_t operator()() const { return post(args(atomic_form_t::atomic, get_op(), nullptr)); }
};
/// post_atomic_x with the default of every option.
/// @relates post_atomic_x
inline status_t post_atomic(int rank, atomic_op_t op, uint64_t value, size_t size,
                            comp_t local_comp, uintptr_t remote_disp, rmr_t rmr) {
  return post_atomic_x(rank, op, value, size, local_comp, remote_disp, rmr)();
}

/// Posts an atomic operation that fetches: the target's integer becomes the result of `op` on it
/// and `value`, and `local_buffer` receives the value that it had before. An addition of 0 is an
/// atomic load.
///
/// Required: `op` (any but compare_swap), `local_buffer` (`size` bytes of any alignment, owned by
/// the library until the operation is complete) and the arguments of post_atomic_options. Options:
/// those of post_atomic_options.
class [[nodiscard]] post_fetch_atomic_x
    : public post_atomic_options<post_fetch_atomic_x>,
      public argument::op_argument<post_fetch_atomic_x, atomic_op_t>,
      public argument::local_buffer_argument<post_fetch_atomic_x, void*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] post_fetch_atomic_x(int rank, atomic_op_t op, uint64_t value, void* local_buffer,
                                    size_t size, comp_t local_comp, uintptr_t remote_disp,
                                    rmr_t rmr)
      : post_atomic_options(rank, value, size, local_comp, remote_disp, rmr),
        op_argument(op),
        local_buffer_argument(local_buffer) {}
  /// Posts the operation. See @ref lci_atomics for the result and the errors.
  status_t operator()() const {
    return post(args(atomic_form_t::fetch_atomic, get_op(), get_local_buffer()));
  }
};
/// post_fetch_atomic_x with the default of every option.
/// @relates post_fetch_atomic_x
inline status_t post_fetch_atomic(int rank, atomic_op_t op, uint64_t value, void* local_buffer,
                                  size_t size, comp_t local_comp, uintptr_t remote_disp,
                                  rmr_t rmr) {
  return post_fetch_atomic_x(rank, op, value, local_buffer, size, local_comp, remote_disp, rmr)();
}

/// Posts a compare-and-swap: the target's integer becomes `value` if it equals `compare`, and
/// `local_buffer` receives the value that it had before in both cases. The swap has taken place if
/// that equals `compare`.
///
/// Required: `compare`, `local_buffer` (`size` bytes of any alignment, owned by the library until
/// the operation is complete) and the arguments of post_atomic_options. Options: those of
/// post_atomic_options.
class [[nodiscard]] post_compare_swap_x
    : public post_atomic_options<post_compare_swap_x>,
      public argument::compare_argument<post_compare_swap_x, uint64_t>,
      public argument::local_buffer_argument<post_compare_swap_x, void*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] post_compare_swap_x(int rank, uint64_t compare, uint64_t value, void* local_buffer,
                                    size_t size, comp_t local_comp, uintptr_t remote_disp,
                                    rmr_t rmr)
      : post_atomic_options(rank, value, size, local_comp, remote_disp, rmr),
        compare_argument(compare),
        local_buffer_argument(local_buffer) {}
  /// Posts the operation. See @ref lci_atomics for the result and the errors.
  status_t operator()() const {
    atomic_args_t args =
        this->args(atomic_form_t::compare_swap, atomic_op_t::compare_swap, get_local_buffer());
    args.compare = get_compare();
    return post(args);
  }
};
/// post_compare_swap_x with the default of every option.
/// @relates post_compare_swap_x
inline status_t post_compare_swap(int rank, uint64_t compare, uint64_t value, void* local_buffer,
                                  size_t size, comp_t local_comp, uintptr_t remote_disp,
                                  rmr_t rmr) {
  return post_compare_swap_x(rank, compare, value, local_buffer, size, local_comp, remote_disp,
                             rmr)();
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_ATOMIC_HPP_
