/// @file
/// The network of a device by itself.

/// @defgroup lci_network Network of a device
/// The network of a device by itself, for programs with protocols of their own and for
/// measurements.
///
/// A device that is used in this way must not be used in any other: no posts, no progress() and no
/// collective operations on it. The operations return `done` or `retry`. Each completes with an
/// entry of net_poll_cq, except those whose name ends in `s` (net_post_sends, net_post_puts,
/// net_post_putImms), which are complete when they return. Any thread may call any of them at any
/// time.
#ifndef LCI_API_NET_HPP_
#define LCI_API_NET_HPP_

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_network
/// @{

/// Takes completions from the network of a device.
///
/// Required: `max_polls`, `statuses`. Options: `runtime`, `device`.
class [[nodiscard]] net_poll_cq_x
    : public option::runtime_option<net_poll_cq_x>,
      public option::device_option<net_poll_cq_x>,
      public argument::max_polls_argument<net_poll_cq_x, size_t>,
      public argument::statuses_argument<net_poll_cq_x, net_status_t*> {
 public:
  /// Takes the required arguments.
  /// @param max_polls number of entries, at most.
  /// @param statuses array of `max_polls` entries.
  [[nodiscard]] net_poll_cq_x(size_t max_polls, net_status_t* statuses)
      : max_polls_argument(max_polls), statuses_argument(statuses) {}
  /// Polls the network.
  /// @return the number of entries that it has written.
  /// @throws std::invalid_argument if `statuses` is null and `max_polls` is not 0.
  size_t operator()() const;
};
/// net_poll_cq_x with the default of every option.
/// @relates net_poll_cq_x
inline size_t net_poll_cq(size_t max_polls, net_status_t* statuses) {
  return net_poll_cq_x(max_polls, statuses)();
}

/// Posts room for one message: the oldest room takes the next message, with the entry RECV. A
/// message that is longer than the room, or finds none, is lost; its entry is ERROR. The buffer is
/// owned by the library until that entry. `mr` has no effect in this library, which copies the
/// bytes to the buffer.
///
/// Required: `buffer`, `size`, `mr`. Options: `runtime`, `device`, `user_context`.
class [[nodiscard]] net_post_recv_x : public option::runtime_option<net_post_recv_x>,
                                      public option::device_option<net_post_recv_x>,
                                      public option::user_context_option<net_post_recv_x>,
                                      public argument::buffer_argument<net_post_recv_x, void*>,
                                      public argument::size_argument<net_post_recv_x, size_t>,
                                      public argument::mr_argument<net_post_recv_x, mr_t> {
 public:
  /// Takes the required arguments.
  /// @param size bytes.
  [[nodiscard]] net_post_recv_x(void* buffer, size_t size, mr_t mr)
      : buffer_argument(buffer), size_argument(size), mr_argument(mr) {}
  /// Posts the room.
  /// @return `done`.
  /// @throws std::invalid_argument if `buffer` is null and `size` is not 0.
  error_t operator()() const;
};
/// net_post_recv_x with the default of every option.
/// @relates net_post_recv_x
inline error_t net_post_recv(void* buffer, size_t size, mr_t mr) {
  return net_post_recv_x(buffer, size, mr)();
}

/// The options of operations with another rank: `runtime`, `device` and `endpoint` (the default
/// device of the global runtime), and `user_context`, which comes back in the entry (null).
template <class Op>
class net_post_options : public option::device_options<Op>,
                         public option::user_context_option<Op> {};

/// Sends `size` bytes by copy: complete when the call returns `done`.
///
/// Required: `rank`, `buffer`, `size`. Options: `runtime`, `device`, `endpoint`, `user_context`
/// (without effect), `imm_data`.
class [[nodiscard]] net_post_sends_x
    : public net_post_options<net_post_sends_x>,
      public option::imm_data_option<net_post_sends_x>,
      public argument::rank_argument<net_post_sends_x, int>,
      public argument::buffer_argument<net_post_sends_x, const void*>,
      public argument::size_argument<net_post_sends_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param size bytes, at most get_max_bcopy_size().
  [[nodiscard]] net_post_sends_x(int rank, const void* buffer, size_t size)
      : rank_argument(rank), buffer_argument(buffer), size_argument(size) {}
  /// Sends the bytes.
  /// @return `done` or `retry`.
  /// @throws std::invalid_argument if an argument is out of its range.
  /// @throws std::runtime_error if the peer has failed.
  error_t operator()() const;
};
/// net_post_sends_x with the default of every option.
/// @relates net_post_sends_x
inline error_t net_post_sends(int rank, const void* buffer, size_t size) {
  return net_post_sends_x(rank, buffer, size)();
}

/// Sends `size` bytes. The buffer is owned by the library until the entry SEND.
///
/// Required: `rank`, `buffer`, `size`, `mr`. Options: `runtime`, `device`, `endpoint`,
/// `user_context`, `imm_data`.
class [[nodiscard]] net_post_send_x
    : public net_post_options<net_post_send_x>,
      public option::imm_data_option<net_post_send_x>,
      public argument::rank_argument<net_post_send_x, int>,
      public argument::buffer_argument<net_post_send_x, const void*>,
      public argument::size_argument<net_post_send_x, size_t>,
      public argument::mr_argument<net_post_send_x, mr_t> {
 public:
  /// Takes the required arguments.
  /// @param mr registration of the buffer; a network that needs none does not use it.
  [[nodiscard]] net_post_send_x(int rank, const void* buffer, size_t size, mr_t mr)
      : rank_argument(rank), buffer_argument(buffer), size_argument(size), mr_argument(mr) {}
  /// Starts the send.
  /// @return `done` or `retry`.
  /// @throws std::invalid_argument if an argument is out of its range, or the network needs `mr`.
  /// @throws std::runtime_error if the peer has failed.
  error_t operator()() const;
};
/// net_post_send_x with the default of every option.
/// @relates net_post_send_x
inline error_t net_post_send(int rank, const void* buffer, size_t size, mr_t mr) {
  return net_post_send_x(rank, buffer, size, mr)();
}

// Puts and gets: the class of the operation is documented where it is declared.
// clang-format off
#define LCI_DECLARE_NET_PUTS(name_, BASES_)                                                        \
  class [[nodiscard]] name_##_x : public net_post_options<name_##_x>,                              \
                                  public argument::rank_argument<name_##_x, int>,                  \
                                  public argument::buffer_argument<name_##_x, const void*>,        \
                                  public argument::size_argument<name_##_x, size_t>,               \
                                  public argument::offset_argument<name_##_x, uint64_t>,           \
                                  public argument::rmr_argument<name_##_x, rmr_t>                  \
                                      BASES_ {                                                     \
   public:                                                                                         \
    /** Takes the required arguments.                                                              \
        \param size bytes, at most the packet_size of the packet pool of the device.               \
        \param offset bytes from the start of rmr. */                                              \
    [[nodiscard]] name_##_x(int rank, const void* buffer, size_t size, uint64_t offset, rmr_t rmr) \
        : argument::rank_argument<name_##_x, int>(rank),                                           \
          argument::buffer_argument<name_##_x, const void*>(buffer),                               \
          argument::size_argument<name_##_x, size_t>(size),                                        \
          argument::offset_argument<name_##_x, uint64_t>(offset),                                  \
          argument::rmr_argument<name_##_x, rmr_t>(rmr) {}                                         \
    /** Puts the bytes.                                                                            \
        \return done or retry.                                                                     \
        \throws std::invalid_argument if an argument is out of its range.                          \
        \throws std::runtime_error if the peer has failed or has closed the memory. */             \
    error_t operator()() const;                                                                    \
  };                                                                                               \
  /** name_##_x with the default of every option.                                                  \
      \relates name_##_x */                                                                        \
  inline error_t name_(int rank, const void* buffer, size_t size, uint64_t offset, rmr_t rmr) {    \
    return name_##_x(rank, buffer, size, offset, rmr)();                                           \
  }

#define LCI_DECLARE_NET_PUT(name_, BUFFER_, BASES_)                                                \
  class [[nodiscard]] name_##_x : public net_post_options<name_##_x>,                              \
                                  public argument::rank_argument<name_##_x, int>,                  \
                                  public argument::buffer_argument<name_##_x, BUFFER_>,            \
                                  public argument::size_argument<name_##_x, size_t>,               \
                                  public argument::mr_argument<name_##_x, mr_t>,                   \
                                  public argument::offset_argument<name_##_x, uint64_t>,           \
                                  public argument::rmr_argument<name_##_x, rmr_t>                  \
                                      BASES_ {                                                     \
   public:                                                                                         \
    /** Takes the required arguments.                                                              \
        \param size bytes.                                                                         \
        \param mr registration of the buffer; a network that needs none does not use it.           \
        \param offset bytes from the start of rmr. */                                              \
    [[nodiscard]] name_##_x(int rank, BUFFER_ buffer, size_t size, mr_t mr, uint64_t offset,       \
                            rmr_t rmr)                                                             \
        : argument::rank_argument<name_##_x, int>(rank),                                           \
          argument::buffer_argument<name_##_x, BUFFER_>(buffer),                                   \
          argument::size_argument<name_##_x, size_t>(size),                                        \
          argument::mr_argument<name_##_x, mr_t>(mr),                                              \
          argument::offset_argument<name_##_x, uint64_t>(offset),                                  \
          argument::rmr_argument<name_##_x, rmr_t>(rmr) {}                                         \
    /** Starts the operation.                                                                      \
        \return done or retry.                                                                     \
        \throws std::invalid_argument if an argument is out of its range, or the network           \
          needs mr.                                                                                \
        \throws std::runtime_error if the peer has failed or has closed the memory. */             \
    error_t operator()() const;                                                                    \
  };                                                                                               \
  /** name_##_x with the default of every option.                                                  \
      \relates name_##_x */                                                                        \
  inline error_t name_(int rank, BUFFER_ buffer, size_t size, mr_t mr, uint64_t offset,            \
                       rmr_t rmr) {                                                                \
    return name_##_x(rank, buffer, size, mr, offset, rmr)();                                       \
  }
// clang-format on

#define LCI_WITH_IMM(name_) , public option::imm_data_option<name_>
#define LCI_WITHOUT_IMM

/// Puts `size` bytes by copy to the memory `rmr` of `rank`, from byte `offset` on: complete when
/// the call returns `done`.
///
/// Required: `rank`, `buffer`, `size`, `offset`, `rmr`. Options: `runtime`, `device`, `endpoint`,
/// `user_context` (without effect).
LCI_DECLARE_NET_PUTS(net_post_puts, LCI_WITHOUT_IMM)
/// Puts `size` bytes to the memory `rmr` of `rank`, from byte `offset` on. The buffer is owned by
/// the library until the entry WRITE.
///
/// Required: `rank`, `buffer`, `size`, `mr`, `offset`, `rmr`. Options: `runtime`, `device`,
/// `endpoint`, `user_context`.
LCI_DECLARE_NET_PUT(net_post_put, const void*, LCI_WITHOUT_IMM)
/// Puts `size` bytes by copy to the memory `rmr` of `rank`, from byte `offset` on, and gives the
/// target an entry REMOTE_WRITE with `imm_data`: complete when the call returns `done`.
///
/// Required: `rank`, `buffer`, `size`, `offset`, `rmr`. Options: `runtime`, `device`, `endpoint`,
/// `user_context` (without effect), `imm_data`.
LCI_DECLARE_NET_PUTS(net_post_putImms, LCI_WITH_IMM(net_post_putImms_x))
/// Puts `size` bytes to the memory `rmr` of `rank`, from byte `offset` on, and gives the target an
/// entry REMOTE_WRITE with `imm_data`. The buffer is owned by the library until the entry WRITE.
///
/// Required: `rank`, `buffer`, `size`, `mr`, `offset`, `rmr`. Options: `runtime`, `device`,
/// `endpoint`, `user_context`, `imm_data`.
LCI_DECLARE_NET_PUT(net_post_putImm, const void*, LCI_WITH_IMM(net_post_putImm_x))
/// Gets `size` bytes from the memory `rmr` of `rank`, from byte `offset` on. The buffer is owned by
/// the library until the entry READ.
///
/// Required: `rank`, `buffer`, `size`, `mr`, `offset`, `rmr`. Options: `runtime`, `device`,
/// `endpoint`, `user_context`.
LCI_DECLARE_NET_PUT(net_post_get, void*, LCI_WITHOUT_IMM)

#undef LCI_DECLARE_NET_PUTS
#undef LCI_DECLARE_NET_PUT
#undef LCI_WITH_IMM
#undef LCI_WITHOUT_IMM

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_NET_HPP_
