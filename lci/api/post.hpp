/// @file
/// The common part of the forms of post_comm: the operation as a value, and the options of all
/// forms.
#ifndef LCI_API_POST_HPP_
#define LCI_API_POST_HPP_

#include <cstddef>
#include <cstdint>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_operations
/// @{

/// The operation that the program called, for the texts of exceptions.
enum class post_form_t {
  comm,  ///< post_comm
  send,  ///< post_send
  am,    ///< post_am
  put,   ///< post_put
  recv,  ///< post_recv
  get    ///< post_get
};

/// A post as a value, with every argument and option. The operations below fill it in.
struct post_args_t {
  post_form_t form;                   ///< The operation that the program called.
  direction_t direction;              ///< Direction in which bytes move.
  int rank;                           ///< The other rank.
  void* local_buffer;                 ///< The buffer of this rank.
  size_t size;                        ///< Number of bytes.
  comp_t local_comp;                  ///< Completion object of this rank.
  runtime_t runtime;                  ///< See option::runtime_option.
  device_t device;                    ///< See option::device_option.
  endpoint_t endpoint;                ///< See option::endpoint_option.
  packet_pool_t packet_pool;          ///< See option::packet_pool_option.
  matching_engine_t matching_engine;  ///< See option::matching_engine_option.
  comp_semantic_t comp_semantic = comp_semantic_t::memory;  ///< See option::comp_semantic_option.
  /// See option::matching_policy_option.
  matching_policy_t matching_policy = matching_policy_t::rank_tag;
  bool allow_done = true;        ///< See option::allow_done_option.
  bool allow_posted = true;      ///< See option::allow_posted_option.
  bool allow_retry = true;       ///< See option::allow_retry_option.
  mr_t mr;                       ///< See option::mr_option.
  uintptr_t remote_disp = 0;     ///< Offset of the remote buffer in `rmr`, in bytes.
  rmr_t rmr;                     ///< Registered memory that holds the remote buffer.
  tag_t tag = 0;                 ///< The tag.
  rcomp_t remote_comp = 0;       ///< Completion object of the other rank; 0: none.
  void* user_context = nullptr;  ///< Value that comes back in the status.
};
/// Posts the operation. See @ref lci_operations for the result, errors and thread safety.
status_t post(const post_args_t& args);

/// @cond INTERNAL
namespace rt {
// The short path of a small operation with no options but these, as most are: true if it is
// complete. False: nothing happened, and post() determines why. An empty `device` means the default
// one. The forms that end with `mr` are of a post that names its registration, not MR_HOST.
// (Not a function template: the names of those begin with what they return, and the list of
// exported names is of names in lci.)
template <post_form_t>
struct form {};
bool post_short(form<post_form_t::am>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, tag_t tag, rcomp_t remote_comp);
bool post_short(form<post_form_t::send>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, tag_t tag);
bool post_short(form<post_form_t::put>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr);
bool post_short(form<post_form_t::put>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr, tag_t tag,
                rcomp_t remote_comp);
bool post_short(form<post_form_t::get>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr);
bool post_short(form<post_form_t::am>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, tag_t tag, rcomp_t remote_comp, mr_t mr);
bool post_short(form<post_form_t::send>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, tag_t tag, mr_t mr);
bool post_short(form<post_form_t::put>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr, tag_t tag,
                rcomp_t remote_comp, mr_t mr);
bool post_short(form<post_form_t::get>, device_t device, int rank, void* local_buffer, size_t size,
                comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr, mr_t mr);
// The short path of a receive with no options but these: true if it waits. False: nothing happened,
// and post() determines why.
bool post_receive(device_t device, int rank, void* local_buffer, size_t size, tag_t tag,
                  comp_t local_comp, void* user_context);
// Signals the object that an operation is complete whose post may not return `done`. (The values of
// the status one by one, in registers: the copy that the object takes is read in words of 16 bytes,
// and what is written in smaller ones would have to wait for all stores before it, those of the
// message among them.)
void signal_done(comp_t local_comp, int rank, void* buffer, size_t size, tag_t tag,
                 void* user_context);
}  // namespace rt
/// @endcond

/// The parameters that every form has.
///
/// Required:
/// - `rank`: the other rank, 0 to get_rank_n() - 1.
/// - `local_buffer`: the buffer of this rank; may be null if `size` is 0. The library owns it from
///   the post until the operation is locally complete, and only reads a buffer of type
///   `const void*`.
/// - `size`: bytes.
/// - `local_comp`: the completion object that is signaled if the post returns `posted`. With
///   COMP_NULL the post waits, and returns `done` or throws. With COMP_NULL_RETRY it may also
///   return `retry`; once the operation has begun, the post waits for its end.
///
/// Options, with their defaults:
/// - `runtime`, `device`, `endpoint`: the path of the operation (the default device of the global
///   runtime). Each implies those before it.
/// - `mr`: the registration of the local buffer (MR_HOST: none).
/// - `packet_pool`: the pool in which the local buffer is looked up as a packet (the device's).
/// - `comp_semantic`: when a send is locally complete (`memory`).
/// - `user_context`: a value that comes back in the status of this side (null).
/// - `allow_done`, `allow_posted`, `allow_retry`: the categories of statuses that the post may
///   return (all true). allow_done(false) needs a completion object.
template <class Op, class Buffer>
class post_options : public option::device_options<Op>,
                     public option::packet_pool_option<Op>,
                     public option::comp_semantic_option<Op>,
                     public option::mr_option<Op>,
                     public option::user_context_option<Op>,
                     public option::allow_done_option<Op>,
                     public option::allow_posted_option<Op>,
                     public option::allow_retry_option<Op>,
                     public argument::rank_argument<Op, int>,
                     public argument::local_buffer_argument<Op, Buffer>,
                     public argument::size_argument<Op, size_t>,
                     public argument::local_comp_argument<Op, comp_t> {
  /// @cond INTERNAL
 protected:
  post_options(int rank, Buffer local_buffer, size_t size, comp_t local_comp)
      : argument::rank_argument<Op, int>(rank),
        argument::local_buffer_argument<Op, Buffer>(local_buffer),
        argument::size_argument<Op, size_t>(size),
        argument::local_comp_argument<Op, comp_t>(local_comp) {}

  // Only operations of direction IN write to the buffer.
  void* buffer() const { return const_cast<void*>(this->get_local_buffer()); }

  // (Always inline, since a call would need this object in memory.)
  [[gnu::always_inline]] post_args_t args(post_form_t form, direction_t direction) const {
    post_args_t args;
    args.form = form;
    args.direction = direction;
    args.rank = this->get_rank();
    args.local_buffer = buffer();
    args.size = this->get_size();
    args.local_comp = this->get_local_comp();
    args.runtime = this->get_runtime();
    args.device = this->get_device();
    args.endpoint = this->get_endpoint();
    args.packet_pool = this->get_packet_pool();
    args.comp_semantic = this->get_comp_semantic();
    args.mr = this->get_mr();
    args.user_context = this->get_user_context();
    args.allow_done = this->get_allow_done();
    args.allow_posted = this->get_allow_posted();
    args.allow_retry = this->get_allow_retry();
    return args;
  }

  // Whether every option but `mr` is one that the short paths support. (Mostly known to the
  // compiler.)
  bool is_plain() const {
    return this->get_runtime().is_empty() && this->get_endpoint().is_empty() &&
           this->get_packet_pool().is_empty() &&
           this->get_comp_semantic() == comp_semantic_t::memory &&
           (this->get_allow_done() || !this->get_local_comp().is_empty());
  }
  template <post_form_t Form, class... Rest>
  [[gnu::always_inline]] bool post_short(const Rest&... rest) const {
    return is_plain() && this->get_mr() == mr_t() &&
           rt::post_short(rt::form<Form>(), this->get_device(), this->get_rank(), buffer(),
                          this->get_size(), this->get_local_comp(), rest...);
  }
  // For forms whose short path takes a registration.
  template <post_form_t Form, class... Rest>
  [[gnu::always_inline]] bool post_short_registered(const Rest&... rest) const {
    return is_plain() && !(this->get_mr() == mr_t()) &&
           rt::post_short(rt::form<Form>(), this->get_device(), this->get_rank(), buffer(),
                          this->get_size(), this->get_local_comp(), rest..., this->get_mr());
  }
  // The answer of a short post.
  status_t answer(errorcode_t code, tag_t tag) const {
    status_t status = code;
    status.rank = this->get_rank();
    status.buffer = buffer();
    status.size = this->get_size();
    status.tag = tag;
    status.user_context = this->get_user_context();
    return status;
  }
  status_t done(tag_t tag) const {
    const bool may_be_done = this->get_allow_done();
    if (__builtin_expect(!may_be_done, 0)) {
      rt::signal_done(this->get_local_comp(), this->get_rank(), buffer(), this->get_size(), tag,
                      this->get_user_context());
    }
    return answer(may_be_done ? errorcode_t::done : errorcode_t::posted, tag);
  }
  /// @endcond
};

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_POST_HPP_
