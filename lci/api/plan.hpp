/// @file
/// Plans: puts and gets between blocks that are recorded once and started many times; and the usual
/// patterns of sends and receives turned into plans. See @ref lci_blocks.
#ifndef LCI_API_PLAN_HPP_
#define LCI_API_PLAN_HPP_

#include <cstddef>

#include "lci/api/block.hpp"
#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_blocks
/// @{

/// Allocates an empty plan. Local.
///
/// Options: `runtime`; `comp`, a completion object that is signaled each time all operations of the
/// plan are locally complete (none); `name`, `user_context`.
class [[nodiscard]] alloc_plan_x : public option::runtime_option<alloc_plan_x>,
                                   public option::comp_option<alloc_plan_x>,
                                   public option::plan_attr_options<alloc_plan_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_plan_x() = default;
  /// Allocates the plan.
  /// @return the plan. The program frees it by free_plan.
  /// @throws std::invalid_argument if `comp` has been freed.
  plan_t operator()() const;
};
/// alloc_plan_x with the default of every option.
/// @relates alloc_plan_x
inline plan_t alloc_plan() { return alloc_plan_x()(); }

/// Frees a plan that does not run, and empties the handle.
///
/// Required: `plan`. Options: `runtime`.
class [[nodiscard]] free_plan_x : public option::runtime_option<free_plan_x>,
                                  public argument::plan_argument<free_plan_x, plan_t*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit free_plan_x(plan_t* plan) : plan_argument(plan) {}
  /// Frees the plan.
  /// @throws std::logic_error if the plan is running.
  /// @throws std::invalid_argument if the plan is empty or freed.
  void operator()() const;
};
/// free_plan_x with the default of every option.
/// @relates free_plan_x
inline void free_plan(plan_t* plan) { free_plan_x{plan}(); }

/// Records a put (direction OUT) or get (IN) in a plan, with the options of post_block. The call
/// checks what post_block checks; each start checks the memory of the local blocks again. Without a
/// signal of the local block or `local_comp`, the operation reports its end only to the plan. The
/// devices must not be freed before the plan. One thread at a time may add to a plan, while the
/// plan does not run.
/// @throws std::logic_error if the plan is running.
/// @throws std::invalid_argument if the plan is empty or freed, or as post_block.
void plan_add(plan_t plan, direction_t direction, const block_t& local, const block_t& remote,
              const block_options_t& options);

/// Records a put from the block `local` of this rank to the block `remote`. See plan_add.
///
/// Required: `plan`, `local`, `remote`. Options: `runtime`, `device`, `rails`, `rail_min_chunk`,
/// `local_comp`, `remote_signal`; see block_transfer_options.
class [[nodiscard]] plan_put_x : public block_transfer_options<plan_put_x>,
                                 public argument::plan_argument<plan_put_x, plan_t>,
                                 public argument::local_argument<plan_put_x, block_t>,
                                 public argument::remote_argument<plan_put_x, block_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] plan_put_x(plan_t plan, const block_t& local, const block_t& remote)
      : plan_argument(plan), local_argument(local), remote_argument(remote) {}
  /// Records the put. See plan_add for the errors.
  void operator()() const {
    plan_add(get_plan(), direction_t::OUT, get_local(), get_remote(), options_);
  }
};
/// plan_put_x with the default of every option.
/// @relates plan_put_x
inline void plan_put(plan_t plan, const block_t& local, const block_t& remote) {
  plan_add(plan, direction_t::OUT, local, remote, block_options_t());
}

/// Records a get from the block `remote` to the block `local` of this rank. See plan_add.
///
/// Required: `plan`, `local`, `remote`. Options: `runtime`, `device`, `rails`, `rail_min_chunk`,
/// `local_comp`, `remote_signal`; see block_transfer_options.
class [[nodiscard]] plan_get_x : public block_transfer_options<plan_get_x>,
                                 public argument::plan_argument<plan_get_x, plan_t>,
                                 public argument::local_argument<plan_get_x, block_t>,
                                 public argument::remote_argument<plan_get_x, block_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] plan_get_x(plan_t plan, const block_t& local, const block_t& remote)
      : plan_argument(plan), local_argument(local), remote_argument(remote) {}
  /// Records the get. See plan_add for the errors.
  void operator()() const {
    plan_add(get_plan(), direction_t::IN, get_local(), get_remote(), options_);
  }
};
/// plan_get_x with the default of every option.
/// @relates plan_get_x
inline void plan_get(plan_t plan, const block_t& local, const block_t& remote) {
  plan_add(plan, direction_t::IN, local, remote, block_options_t());
}

/// Starts all operations of a plan. The call allocates nothing and waits for nothing. The memory of
/// the local blocks is owned by the library until the plan is complete. A peer that has failed, or
/// has closed its memory, ends its operations and the plan with `fatal`.
///
/// Required: `plan`. Options: `runtime`.
class [[nodiscard]] plan_start_x : public option::runtime_option<plan_start_x>,
                                   public argument::plan_argument<plan_start_x, plan_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit plan_start_x(plan_t plan) : plan_argument(plan) {}
  /// Starts the plan.
  /// @throws std::logic_error if the plan is running.
  /// @throws std::invalid_argument if the plan is empty or freed, or the memory of a local block
  ///   has been deregistered. Nothing happened then.
  void operator()() const;
};
/// plan_start_x with the default of every option.
/// @relates plan_start_x
inline void plan_start(plan_t plan) { plan_start_x{plan}(); }

/// Tests whether all operations that a plan has started are locally complete. Thread-safe. The call
/// does not make progress.
///
/// Required: `plan`. Options: `runtime`.
class [[nodiscard]] plan_test_x : public option::runtime_option<plan_test_x>,
                                  public argument::plan_argument<plan_test_x, plan_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit plan_test_x(plan_t plan) : plan_argument(plan) {}
  /// Tests the plan.
  /// @return whether all operations are locally complete.
  /// @throws peer_failure_error if an operation has ended with `fatal`, since its peer has failed.
  /// @throws std::runtime_error if an operation has ended with `fatal` for another reason.
  /// @throws std::invalid_argument if the plan is empty or freed.
  bool operator()() const;
};
/// plan_test_x with the default of every option.
/// @relates plan_test_x
inline bool plan_test(plan_t plan) { return plan_test_x(plan)(); }

/// Declares the receiver's side of a message that a plan of `rank` puts each time it is started:
/// sends that rank, with `tag`, the place for its bytes. Each such message is one event of
/// `recv_signal`, however many pieces it has, and even if it has 0 bytes. Pairs with equal ranks
/// and tags match in the order of the calls.
///
/// Required: `mr`, `layout`, `rank`, `tag`, `recv_signal`. Options: `runtime`.
class [[nodiscard]] convert_recv_x : public option::runtime_option<convert_recv_x>,
                                     public argument::mr_argument<convert_recv_x, mr_t>,
                                     public argument::layout_argument<convert_recv_x, layout_t>,
                                     public argument::rank_argument<convert_recv_x, int>,
                                     public argument::tag_argument<convert_recv_x, tag_t>,
                                     public argument::recv_signal_argument<convert_recv_x, comp_t> {
 public:
  /// Takes the required arguments.
  /// @param rank the sender.
  [[nodiscard]] convert_recv_x(mr_t mr, const layout_t& layout, int rank, tag_t tag,
                               comp_t recv_signal)
      : mr_argument(mr),
        layout_argument(layout),
        rank_argument(rank),
        tag_argument(tag),
        recv_signal_argument(recv_signal) {}
  /// Sends the place. Throws as make_block, get_rsignal and post_send do.
  void operator()() const;
};
/// convert_recv_x with the default of every option.
/// @relates convert_recv_x
inline void convert_recv(mr_t mr, const layout_t& layout, int rank, tag_t tag, comp_t recv_signal) {
  convert_recv_x(mr, layout, rank, tag, recv_signal)();
}

/// Records the sender's side of a message: waits until the receiver has called convert_recv, makes
/// progress meanwhile, and records the puts in `plan`. Each start of the plan is one event of
/// `send_signal`, when the program may write to all of the bytes again. The sizes of both layouts
/// must be equal; their pieces need not be. Not for use inside a handler.
///
/// Required: `plan`, `mr`, `layout`, `rank`, `tag`, `send_signal`. Options: `runtime`, `device`,
/// `rails`, `rail_min_chunk`, `local_comp`, `remote_signal`; see block_transfer_options.
class [[nodiscard]] convert_send_x : public block_transfer_options<convert_send_x>,
                                     public argument::plan_argument<convert_send_x, plan_t>,
                                     public argument::mr_argument<convert_send_x, mr_t>,
                                     public argument::layout_argument<convert_send_x, layout_t>,
                                     public argument::rank_argument<convert_send_x, int>,
                                     public argument::tag_argument<convert_send_x, tag_t>,
                                     public argument::send_signal_argument<convert_send_x, comp_t> {
 public:
  /// Takes the required arguments.
  /// @param rank the receiver.
  /// @param send_signal a signal, or an empty handle.
  [[nodiscard]] convert_send_x(plan_t plan, mr_t mr, const layout_t& layout, int rank, tag_t tag,
                               comp_t send_signal)
      : plan_argument(plan),
        mr_argument(mr),
        layout_argument(layout),
        rank_argument(rank),
        tag_argument(tag),
        send_signal_argument(send_signal) {}
  /// Waits for the receiver and records the puts.
  /// @throws std::invalid_argument if the plan is empty or freed, or the sizes of the layouts
  ///   differ. Throws as make_block, get_rsignal, post_recv and plan_add do, too.
  void operator()() const;
};
/// convert_send_x with the default of every option.
/// @relates convert_send_x
inline void convert_send(plan_t plan, mr_t mr, const layout_t& layout, int rank, tag_t tag,
                         comp_t send_signal) {
  convert_send_x(plan, mr, layout, rank, tag, send_signal)();
}

/// Calls convert_recv for a message from rank `from` and convert_send for a message to rank `to`,
/// both with `tag`.
void convert_sendrecv(plan_t plan, mr_t send_mr, const layout_t& send_layout, int to, mr_t recv_mr,
                      const layout_t& recv_layout, int from, tag_t tag, comp_t send_signal,
                      comp_t recv_signal);

/// Records an exchange of every rank with every rank, itself included: the bytes of
/// `send_layouts[r]` go to rank r, and the bytes from rank r to `recv_layouts[r]`. Collective over
/// the runtime of the plan. Each start is as many events of `send_signal` and of `recv_signal` as
/// there are ranks.
/// @param send_layouts array of as many layouts as there are ranks.
/// @param recv_layouts array of as many layouts as there are ranks.
void convert_alltoallv(plan_t plan, mr_t send_mr, const layout_t* send_layouts, mr_t recv_mr,
                       const layout_t* recv_layouts, comp_t send_signal, comp_t recv_signal);

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_PLAN_HPP_
