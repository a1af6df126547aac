// Posting communication: one operation, post_comm, and its forms.
//
//   direction  rmr    remote_comp                                   (SC'25 paper, Table 1)
//   OUT        -      -            send: matched with a receive     post_send
//   OUT        -      given        active message                   post_am
//   OUT        given  -            put                              post_put
//   OUT        given  given        put with signal                  post_put
//   IN         -      -            receive                          post_recv
//   IN         -      given        (means nothing: an exception)
//   IN         given  -            get                              post_get
//   IN         given  given        get with signal                  post_get
//
// What a post answers (section 4.2.5)
//   done    it is complete: local_buffer is the caller's again (a receive or get has filled it),
//           local_comp will not be signalled. The status says all of it
//   posted  local_buffer belongs to the library until local_comp is signalled, once, with the
//   status
//           of this operation. That status may be `fatal`: see below
//   retry   nothing happened, for the reason that the code says; make progress and post again
// The status: rank, buffer, size, tag and user_context of this side; of a receive: rank and tag of
// the message, and its size.
//
// What goes wrong
//   std::invalid_argument, naming the argument: rank or tag out of range, a null buffer with a
//   size,
//     resources that do not belong together, a combination that means nothing. Nothing happened.
//   peer_failure_error: `rank` is known to be gone. Nothing happened.
//   a status `fatal` (for a call that waits: peer_failure_error or std::runtime_error): the peer
//   went
//     away meanwhile, has no such completion object or matching engine, has closed the memory, or
//     its receive (or ours) is smaller than the message. Its log says which.
//
// A size of 0 and a message to oneself are as good as any. Messages are not ordered: with others of
// the same key neither, except that of two eager sends of one thread through one device the first
// meets the first receive. Any thread, any time, also from a handler, where a post may not wait:
// use allow_retry(false) rather than a loop.
#ifndef LCI_API_COMM_HPP_
#define LCI_API_COMM_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

enum class post_form_t { comm, send, am, put, recv, get };

// A post as a value, with every option.
struct post_args_t {
  post_form_t form;  // what the program called
  direction_t direction;
  int rank;
  void* local_buffer;
  size_t size;
  comp_t local_comp;
  runtime_t runtime;
  device_t device;
  endpoint_t endpoint;
  packet_pool_t packet_pool;
  matching_engine_t matching_engine;
  comp_semantic_t comp_semantic = comp_semantic_t::memory;
  matching_policy_t matching_policy = matching_policy_t::rank_tag;
  bool allow_done = true;
  bool allow_posted = true;
  bool allow_retry = true;
  mr_t mr;
  uintptr_t remote_disp = 0;
  rmr_t rmr;
  tag_t tag = 0;
  rcomp_t remote_comp = 0;
  void* user_context = nullptr;
};
status_t post(const post_args_t& args);

namespace rt {
// A small message without options but these, which leaves at once, as most do: done. False: nothing
// happened, and post() knows why. `device` empty: the default one.
bool am_at_once(device_t device, int rank, void* local_buffer, size_t size, comp_t local_comp,
                tag_t tag, rcomp_t remote_comp);
bool send_at_once(device_t device, int rank, void* local_buffer, size_t size, comp_t local_comp,
                  tag_t tag);
// Likewise a put or get, and a put with a signal.
bool put_at_once(device_t device, int rank, const void* local_buffer, size_t size,
                 comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr);
bool get_at_once(device_t device, int rank, void* local_buffer, size_t size, comp_t local_comp,
                 uintptr_t remote_disp, const rmr_t& rmr);
bool put_signal_at_once(device_t device, int rank, const void* local_buffer, size_t size,
                        comp_t local_comp, uintptr_t remote_disp, const rmr_t& rmr, tag_t tag,
                        rcomp_t remote_comp);
}  // namespace rt

// The parameters that every form has. `Buffer` is `const void*` where the library only reads the
// buffer. The forms are inline, so that an object that is made only to be called costs no more than
// its post_args_t. Those that usually take the short way are always inline: the compiler then keeps
// their members in registers, and makes an object of them only for post().
template <class Op, class Buffer>
class post_options : public option::runtime_option<Op>,
                     public option::device_option<Op>,
                     public option::endpoint_option<Op>,
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
 protected:
  post_options(int rank, Buffer local_buffer, size_t size, comp_t local_comp)
      : argument::rank_argument<Op, int>(rank),
        argument::local_buffer_argument<Op, Buffer>(local_buffer),
        argument::size_argument<Op, size_t>(size),
        argument::local_comp_argument<Op, comp_t>(local_comp) {}

  // Only operations of direction IN write to the buffer.
  void* buffer() const { return const_cast<void*>(this->get_local_buffer()); }

  post_args_t args(post_form_t form, direction_t direction) const {
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

  // Whether it has no option that the short ways do not know. (The compiler mostly knows.)
  bool is_plain() const {
    return this->get_runtime().is_empty() && this->get_endpoint().is_empty() &&
           this->get_packet_pool().is_empty() && this->get_mr() == mr_t() &&
           this->get_comp_semantic() == comp_semantic_t::memory && this->get_allow_done();
  }
  bool am_at_once(tag_t tag, rcomp_t remote_comp) const {
    return is_plain() && rt::am_at_once(this->get_device(), this->get_rank(), buffer(),
                                        this->get_size(), this->get_local_comp(), tag, remote_comp);
  }
  bool send_at_once(tag_t tag) const {
    return is_plain() && rt::send_at_once(this->get_device(), this->get_rank(), buffer(),
                                          this->get_size(), this->get_local_comp(), tag);
  }
  status_t done(tag_t tag) const {
    status_t status = errorcode_t::done;
    status.rank = this->get_rank();
    status.buffer = buffer();
    status.size = this->get_size();
    status.tag = tag;
    status.user_context = this->get_user_context();
    return status;
  }
};

// Everything; see the table above.
class [[nodiscard]] post_comm_x : public post_options<post_comm_x, const void*>,
                                  public argument::direction_argument<post_comm_x, direction_t>,
                                  public option::matching_engine_option<post_comm_x>,
                                  public option::matching_policy_option<post_comm_x>,
                                  public option::remote_disp_option<post_comm_x>,
                                  public option::rmr_option<post_comm_x>,
                                  public option::tag_option<post_comm_x>,
                                  public option::remote_comp_option<post_comm_x> {
 public:
  /// `local_buffer` may point to constant memory only if the direction is OUT.
  [[nodiscard]] post_comm_x(direction_t direction, int rank, const void* local_buffer, size_t size,
                            comp_t local_comp)
      : post_options(rank, local_buffer, size, local_comp), direction_argument(direction) {}
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
inline status_t post_comm(direction_t direction, int rank, const void* local_buffer, size_t size,
                          comp_t local_comp) {
  return post_comm_x(direction, rank, local_buffer, size, local_comp)();
}

// Active message: `size` bytes travel to `rank`, whose completion object `remote_comp` is signalled
// with their copy (status: rank, buffer, size, tag). The receiver owns that buffer, which comes
// from its runtime's allocator (malloc by default); for size 0 it is null. With zero_copy_am it is
// a packet instead, to be given back with put_upacket, also for size 0. With lend_am the buffer
// stays the library's, and can be read until the object's signal() returns, thus by a handler:
// nothing is allocated, copied or freed for a small message.
class [[nodiscard]] post_am_x : public post_options<post_am_x, const void*>,
                                public option::tag_option<post_am_x>,
                                public argument::remote_comp_argument<post_am_x, rcomp_t> {
 public:
  [[nodiscard]] post_am_x(int rank, const void* local_buffer, size_t size, comp_t local_comp,
                          rcomp_t remote_comp)
      : post_options(rank, local_buffer, size, local_comp), remote_comp_argument(remote_comp) {}
  [[gnu::always_inline]] status_t operator()() const {
    if (__builtin_expect(am_at_once(get_tag(), get_remote_comp()), 1)) return done(get_tag());
    post_args_t args = this->args(post_form_t::am, direction_t::OUT);
    args.tag = get_tag();
    args.remote_comp = get_remote_comp();
    return post(args);
  }
};
inline status_t post_am(int rank, const void* local_buffer, size_t size, comp_t local_comp,
                        rcomp_t remote_comp) {
  return post_am_x(rank, local_buffer, size, local_comp, remote_comp)();
}

// What send and receive have in common.
template <class Op, class Buffer>
class post_matched_options : public post_options<Op, Buffer>,
                             public argument::tag_argument<Op, tag_t>,
                             public option::matching_engine_option<Op>,
                             public option::matching_policy_option<Op> {
 protected:
  post_matched_options(int rank, Buffer local_buffer, size_t size, tag_t tag, comp_t local_comp)
      : post_options<Op, Buffer>(rank, local_buffer, size, local_comp),
        argument::tag_argument<Op, tag_t>(tag) {}
  post_args_t args(post_form_t form, direction_t direction) const {
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
};

// Send: meets the receive that was or will be posted at `rank` with the same matching engine,
// policy and what the policy names of (this rank, tag).
class [[nodiscard]] post_send_x : public post_matched_options<post_send_x, const void*> {
 public:
  [[nodiscard]] post_send_x(int rank, const void* local_buffer, size_t size, tag_t tag,
                            comp_t local_comp)
      : post_matched_options(rank, local_buffer, size, tag, local_comp) {}
  [[gnu::always_inline]] status_t operator()() const {
    if (__builtin_expect(is_of_default_engine() && send_at_once(get_tag()), 1)) {
      return done(get_tag());
    }
    return post(args(post_form_t::send, direction_t::OUT));
  }
};
inline status_t post_send(int rank, const void* local_buffer, size_t size, tag_t tag,
                          comp_t local_comp) {
  return post_send_x(rank, local_buffer, size, tag, local_comp)();
}

// Receive of at most `size` bytes. rank may be ANY_SOURCE with a policy that does not look at it,
// tag ANY_TAG likewise. A longer message ends both this receive and, unless it was eager, the send
// with `fatal`.
class [[nodiscard]] post_recv_x : public post_matched_options<post_recv_x, void*> {
 public:
  [[nodiscard]] post_recv_x(int rank, void* local_buffer, size_t size, tag_t tag, comp_t local_comp)
      : post_matched_options(rank, local_buffer, size, tag, local_comp) {}
  status_t operator()() const { return post(args(post_form_t::recv, direction_t::IN)); }
};
inline status_t post_recv(int rank, void* local_buffer, size_t size, tag_t tag, comp_t local_comp) {
  return post_recv_x(rank, local_buffer, size, tag, local_comp)();
}

// What put and get have in common.
template <class Op, class Buffer>
class post_rma_options : public post_options<Op, Buffer>,
                         public argument::remote_disp_argument<Op, uintptr_t>,
                         public argument::rmr_argument<Op, rmr_t>,
                         public option::tag_option<Op>,
                         public option::remote_comp_option<Op> {
 protected:
  post_rma_options(int rank, Buffer local_buffer, size_t size, comp_t local_comp,
                   uintptr_t remote_disp, const rmr_t& rmr)
      : post_options<Op, Buffer>(rank, local_buffer, size, local_comp),
        argument::remote_disp_argument<Op, uintptr_t>(remote_disp),
        argument::rmr_argument<Op, rmr_t>(rmr) {}
  post_args_t args(post_form_t form, direction_t direction) const {
    post_args_t args = post_options<Op, Buffer>::args(form, direction);
    args.tag = this->get_tag();
    args.remote_comp = this->get_remote_comp();
    args.remote_disp = this->get_remote_disp();
    args.rmr = this->get_rmr();
    return args;
  }
  bool put_at_once() const {
    if (!this->is_plain()) return false;
    const rmr_t rmr = this->get_rmr();  // so that only its address is taken
    return this->get_remote_comp() == 0
               ? rt::put_at_once(this->get_device(), this->get_rank(), this->buffer(),
                                 this->get_size(), this->get_local_comp(), this->get_remote_disp(),
                                 rmr)
               : rt::put_signal_at_once(this->get_device(), this->get_rank(), this->buffer(),
                                        this->get_size(), this->get_local_comp(),
                                        this->get_remote_disp(), rmr, this->get_tag(),
                                        this->get_remote_comp());
  }
  bool get_at_once() const {
    const rmr_t rmr = this->get_rmr();
    return this->is_plain() && this->get_remote_comp() == 0 &&
           rt::get_at_once(this->get_device(), this->get_rank(), this->buffer(), this->get_size(),
                           this->get_local_comp(), this->get_remote_disp(), rmr);
  }
};

// Put: the bytes are written to `rmr`, from byte remote_disp on. Complete when they are in place.
// With remote_comp, that completion object of the target is signalled (status: rank, tag) after
// they are; its tag is at most the runtime's max_imm_tag, and remote_comp its max_imm_rcomp.
class [[nodiscard]] post_put_x : public post_rma_options<post_put_x, const void*> {
 public:
  [[nodiscard]] post_put_x(int rank, const void* local_buffer, size_t size, comp_t local_comp,
                           uintptr_t remote_disp, rmr_t rmr)
      : post_rma_options(rank, local_buffer, size, local_comp, remote_disp, rmr) {}
  [[gnu::always_inline]] status_t operator()() const {
    if (__builtin_expect(put_at_once(), 1)) return done(get_tag());
    return post(args(post_form_t::put, direction_t::OUT));
  }
};
inline status_t post_put(int rank, const void* local_buffer, size_t size, comp_t local_comp,
                         uintptr_t remote_disp, rmr_t rmr) {
  return post_put_x(rank, local_buffer, size, local_comp, remote_disp, rmr)();
}

// Get: the bytes are read from `rmr`, from byte remote_disp on, into local_buffer. With
// remote_comp, that completion object of the target is signalled (status: rank, tag) after they
// have been read.
class [[nodiscard]] post_get_x : public post_rma_options<post_get_x, void*> {
 public:
  [[nodiscard]] post_get_x(int rank, void* local_buffer, size_t size, comp_t local_comp,
                           uintptr_t remote_disp, rmr_t rmr)
      : post_rma_options(rank, local_buffer, size, local_comp, remote_disp, rmr) {}
  [[gnu::always_inline]] status_t operator()() const {
    if (__builtin_expect(get_at_once(), 1)) return done(get_tag());
    return post(args(post_form_t::get, direction_t::IN));
  }
};
inline status_t post_get(int rank, void* local_buffer, size_t size, comp_t local_comp,
                         uintptr_t remote_disp, rmr_t rmr) {
  return post_get_x(rank, local_buffer, size, local_comp, remote_disp, rmr)();
}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_COMM_HPP_
