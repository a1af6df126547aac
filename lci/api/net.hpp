// The network of a device by itself, for programs that bring their own protocols and for measuring.
//
// A device that is used this way is not used in any other: no posts, no progress(), no collectives
// go through it. Operations answer `done` or `retry`; all complete with an entry of net_poll_cq,
// those with an s at the end excepted, which are complete when they return. Any thread.
#ifndef LCI_API_NET_HPP_
#define LCI_API_NET_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

// Writes at most max_polls completions to `statuses`, and returns how many.
class [[nodiscard]] net_poll_cq_x
    : public option::runtime_option<net_poll_cq_x>,
      public option::device_option<net_poll_cq_x>,
      public argument::max_polls_argument<net_poll_cq_x, size_t>,
      public argument::statuses_argument<net_poll_cq_x, net_status_t*> {
 public:
  [[nodiscard]] net_poll_cq_x(size_t max_polls, net_status_t* statuses)
      : max_polls_argument(max_polls), statuses_argument(statuses) {}
  size_t operator()() const;
};
inline size_t net_poll_cq(size_t max_polls, net_status_t* statuses) {
  return net_poll_cq_x(max_polls, statuses)();
}

// Room for one message: the oldest one takes the next. A longer message is an ERROR entry.
class [[nodiscard]] net_post_recv_x : public option::runtime_option<net_post_recv_x>,
                                      public option::device_option<net_post_recv_x>,
                                      public option::user_context_option<net_post_recv_x>,
                                      public argument::buffer_argument<net_post_recv_x, void*>,
                                      public argument::size_argument<net_post_recv_x, size_t>,
                                      public argument::mr_argument<net_post_recv_x, mr_t> {
 public:
  [[nodiscard]] net_post_recv_x(void* buffer, size_t size, mr_t mr)
      : buffer_argument(buffer), size_argument(size), mr_argument(mr) {}
  error_t operator()() const;
};
inline error_t net_post_recv(void* buffer, size_t size, mr_t mr) {
  return net_post_recv_x(buffer, size, mr)();
}

// The options of what goes to another rank.
template <class Op>
class net_post_options : public option::runtime_option<Op>,
                         public option::device_option<Op>,
                         public option::endpoint_option<Op>,
                         public option::user_context_option<Op> {};

// Sends of at most get_max_bcopy_size() bytes.
class [[nodiscard]] net_post_sends_x
    : public net_post_options<net_post_sends_x>,
      public option::imm_data_option<net_post_sends_x>,
      public argument::rank_argument<net_post_sends_x, int>,
      public argument::buffer_argument<net_post_sends_x, const void*>,
      public argument::size_argument<net_post_sends_x, size_t> {
 public:
  [[nodiscard]] net_post_sends_x(int rank, const void* buffer, size_t size)
      : rank_argument(rank), buffer_argument(buffer), size_argument(size) {}
  error_t operator()() const;
};
inline error_t net_post_sends(int rank, const void* buffer, size_t size) {
  return net_post_sends_x(rank, buffer, size)();
}

class [[nodiscard]] net_post_send_x
    : public net_post_options<net_post_send_x>,
      public option::imm_data_option<net_post_send_x>,
      public argument::rank_argument<net_post_send_x, int>,
      public argument::buffer_argument<net_post_send_x, const void*>,
      public argument::size_argument<net_post_send_x, size_t>,
      public argument::mr_argument<net_post_send_x, mr_t> {
 public:
  [[nodiscard]] net_post_send_x(int rank, const void* buffer, size_t size, mr_t mr)
      : rank_argument(rank), buffer_argument(buffer), size_argument(size), mr_argument(mr) {}
  error_t operator()() const;
};
inline error_t net_post_send(int rank, const void* buffer, size_t size, mr_t mr) {
  return net_post_send_x(rank, buffer, size, mr)();
}

// Puts and gets: between `buffer` and `rmr` from byte `offset` on. With an Imm, the target sees a
// REMOTE_WRITE with imm_data.
#define LCI_DECLARE_NET_PUTS(name_, BASES_)                                                        \
  class [[nodiscard]] name_##_x : public net_post_options<name_##_x>,                              \
                                  public argument::rank_argument<name_##_x, int>,                  \
                                  public argument::buffer_argument<name_##_x, const void*>,        \
                                  public argument::size_argument<name_##_x, size_t>,               \
                                  public argument::offset_argument<name_##_x, uint64_t>,           \
                                  public argument::rmr_argument<name_##_x, rmr_t>                  \
                                      BASES_ {                                                     \
   public:                                                                                         \
    [[nodiscard]] name_##_x(int rank, const void* buffer, size_t size, uint64_t offset, rmr_t rmr) \
        : argument::rank_argument<name_##_x, int>(rank),                                           \
          argument::buffer_argument<name_##_x, const void*>(buffer),                               \
          argument::size_argument<name_##_x, size_t>(size),                                        \
          argument::offset_argument<name_##_x, uint64_t>(offset),                                  \
          argument::rmr_argument<name_##_x, rmr_t>(rmr) {}                                         \
    error_t operator()() const;                                                                    \
  };                                                                                               \
  inline error_t name_(int rank, const void* buffer, size_t size, uint64_t offset, rmr_t rmr) {    \
    return name_##_x(rank, buffer, size, offset, rmr)();                                           \
  }
#define LCI_DECLARE_NET_PUT(name_, BUFFER_, BASES_)                                          \
  class [[nodiscard]] name_##_x : public net_post_options<name_##_x>,                        \
                                  public argument::rank_argument<name_##_x, int>,            \
                                  public argument::buffer_argument<name_##_x, BUFFER_>,      \
                                  public argument::size_argument<name_##_x, size_t>,         \
                                  public argument::mr_argument<name_##_x, mr_t>,             \
                                  public argument::offset_argument<name_##_x, uint64_t>,     \
                                  public argument::rmr_argument<name_##_x, rmr_t>            \
                                      BASES_ {                                               \
   public:                                                                                   \
    [[nodiscard]] name_##_x(int rank, BUFFER_ buffer, size_t size, mr_t mr, uint64_t offset, \
                            rmr_t rmr)                                                       \
        : argument::rank_argument<name_##_x, int>(rank),                                     \
          argument::buffer_argument<name_##_x, BUFFER_>(buffer),                             \
          argument::size_argument<name_##_x, size_t>(size),                                  \
          argument::mr_argument<name_##_x, mr_t>(mr),                                        \
          argument::offset_argument<name_##_x, uint64_t>(offset),                            \
          argument::rmr_argument<name_##_x, rmr_t>(rmr) {}                                   \
    error_t operator()() const;                                                              \
  };                                                                                         \
  inline error_t name_(int rank, BUFFER_ buffer, size_t size, mr_t mr, uint64_t offset,      \
                       rmr_t rmr) {                                                          \
    return name_##_x(rank, buffer, size, mr, offset, rmr)();                                 \
  }
#define LCI_WITH_IMM(name_) , public option::imm_data_option<name_>
#define LCI_WITHOUT_IMM

LCI_DECLARE_NET_PUTS(net_post_puts, LCI_WITHOUT_IMM)
LCI_DECLARE_NET_PUT(net_post_put, const void*, LCI_WITHOUT_IMM)
LCI_DECLARE_NET_PUTS(net_post_putImms, LCI_WITH_IMM(net_post_putImms_x))
LCI_DECLARE_NET_PUT(net_post_putImm, const void*, LCI_WITH_IMM(net_post_putImm_x))
LCI_DECLARE_NET_PUT(net_post_get, void*, LCI_WITHOUT_IMM)

#undef LCI_DECLARE_NET_PUTS
#undef LCI_DECLARE_NET_PUT
#undef LCI_WITH_IMM
#undef LCI_WITHOUT_IMM

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_NET_HPP_
