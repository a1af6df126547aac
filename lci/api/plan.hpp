// Plans: puts and gets between blocks that are recorded once and started many times; and the usual
// patterns of sends and receives turned into plans. ("UNR: Unified Notifiable RMA Library for HPC",
// SC'24, section IV-D, and Code 3.)
//
//   lci::plan_t plan = lci::alloc_plan_x().comp(sent)();       // `sent`: a signal of one event
//   lci::plan_put(plan, mine[0], theirs[0]);                   // ... as many as there are
//   for each iteration:
//     lci::plan_start(plan);
//     lci::signal_wait(sent);                                  // the local blocks may be written
//     lci::signal_reset(sent);
//
// A start allocates nothing and waits for nothing. Each operation signals the signals of its blocks
// as post_put and post_get do; the plan's own completion object is signalled once when all are
// locally complete, and then the plan may be started again. (Likewise when all local signals of its
// operations have had all their events.)
#ifndef LCI_API_PLAN_HPP_
#define LCI_API_PLAN_HPP_

#include <cstddef>

#include "lci/api/block.hpp"
#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

// An empty plan. Local. comp: see above.
class [[nodiscard]] alloc_plan_x : public option::runtime_option<alloc_plan_x>,
                                   public option::comp_option<alloc_plan_x>,
                                   public option::plan_attr_options<alloc_plan_x> {
 public:
  [[nodiscard]] alloc_plan_x() = default;
  plan_t operator()() const;
};
inline plan_t alloc_plan() { return alloc_plan_x()(); }

// Throws std::logic_error if the plan is running.
class [[nodiscard]] free_plan_x : public option::runtime_option<free_plan_x>,
                                  public argument::plan_argument<free_plan_x, plan_t*> {
 public:
  [[nodiscard]] explicit free_plan_x(plan_t* plan) : plan_argument(plan) {}
  void operator()() const;
};
inline void free_plan(plan_t* plan) { free_plan_x{plan}(); }

// Record a put or get, with the options of post_put and post_get; what these check is checked here,
// and the memory of the local blocks again at each start. The device must not be freed before the
// plan. By one thread, while the plan does not run (else std::logic_error). Without a local signal
// nobody but the plan is told of its end.
void plan_add(plan_t plan, direction_t direction, const block_t& local, const block_t& remote,
              const block_options_t& options);
class [[nodiscard]] plan_put_x : public block_transfer_options<plan_put_x>,
                                 public argument::plan_argument<plan_put_x, plan_t>,
                                 public argument::local_argument<plan_put_x, block_t>,
                                 public argument::remote_argument<plan_put_x, block_t> {
 public:
  [[nodiscard]] plan_put_x(plan_t plan, const block_t& local, const block_t& remote)
      : plan_argument(plan), local_argument(local), remote_argument(remote) {}
  void operator()() const {
    plan_add(get_plan(), direction_t::OUT, get_local(), get_remote(), options_);
  }
};
inline void plan_put(plan_t plan, const block_t& local, const block_t& remote) {
  plan_add(plan, direction_t::OUT, local, remote, block_options_t());
}
class [[nodiscard]] plan_get_x : public block_transfer_options<plan_get_x>,
                                 public argument::plan_argument<plan_get_x, plan_t>,
                                 public argument::local_argument<plan_get_x, block_t>,
                                 public argument::remote_argument<plan_get_x, block_t> {
 public:
  [[nodiscard]] plan_get_x(plan_t plan, const block_t& local, const block_t& remote)
      : plan_argument(plan), local_argument(local), remote_argument(remote) {}
  void operator()() const {
    plan_add(get_plan(), direction_t::IN, get_local(), get_remote(), options_);
  }
};
inline void plan_get(plan_t plan, const block_t& local, const block_t& remote) {
  plan_add(plan, direction_t::IN, local, remote, block_options_t());
}

// Starts all that was recorded. Throws std::logic_error if the plan is running, and
// std::invalid_argument if memory of a local block has been deregistered; then nothing happened. A
// peer that is gone, or has closed its memory, ends its operations and the plan with `fatal`.
class [[nodiscard]] plan_start_x : public option::runtime_option<plan_start_x>,
                                   public argument::plan_argument<plan_start_x, plan_t> {
 public:
  [[nodiscard]] explicit plan_start_x(plan_t plan) : plan_argument(plan) {}
  void operator()() const;
};
inline void plan_start(plan_t plan) { plan_start_x{plan}(); }

// True if all that was started is locally complete. The caller makes progress. Throws
// peer_failure_error or std::runtime_error if an operation has ended with `fatal`.
class [[nodiscard]] plan_test_x : public option::runtime_option<plan_test_x>,
                                  public argument::plan_argument<plan_test_x, plan_t> {
 public:
  [[nodiscard]] explicit plan_test_x(plan_t plan) : plan_argument(plan) {}
  bool operator()() const;
};
inline bool plan_test(plan_t plan) { return plan_test_x(plan)(); }

// ---- patterns
// -------------------------------------------------------------------------------------

// Bytes of registered memory that a message is made of: `count2` groups, `stride2` bytes from one
// group's start to the next, of `count` pieces, `stride` bytes apart, of `length` bytes each. The
// faces of a three-dimensional array are such.
struct layout_t {
  size_t offset = 0;  // of the first byte
  size_t length = 0;
  size_t count = 1;
  size_t stride = 0;
  size_t count2 = 1;
  size_t stride2 = 0;

  constexpr size_t size() const { return length * count * count2; }  // bytes
};

// The receiver's side of a message that a plan of `rank` puts each time it is started: tells that
// rank, by `tag`, where its bytes go. Each such message is one event of recv_signal, however many
// pieces it has, also with 0 bytes. Pairs of equal ranks and tags meet in the order of the calls.
class [[nodiscard]] convert_recv_x : public option::runtime_option<convert_recv_x>,
                                     public argument::mr_argument<convert_recv_x, mr_t>,
                                     public argument::layout_argument<convert_recv_x, layout_t>,
                                     public argument::rank_argument<convert_recv_x, int>,
                                     public argument::tag_argument<convert_recv_x, tag_t>,
                                     public argument::recv_signal_argument<convert_recv_x, comp_t> {
 public:
  [[nodiscard]] convert_recv_x(mr_t mr, const layout_t& layout, int rank, tag_t tag,
                               comp_t recv_signal)
      : mr_argument(mr),
        layout_argument(layout),
        rank_argument(rank),
        tag_argument(tag),
        recv_signal_argument(recv_signal) {}
  void operator()() const;
};
inline void convert_recv(mr_t mr, const layout_t& layout, int rank, tag_t tag, comp_t recv_signal) {
  convert_recv_x(mr, layout, rank, tag, recv_signal)();
}

// The sender's side: waits until the receiver has called convert_recv, making progress meanwhile,
// and records the puts. Each start is one event of send_signal (may be empty), when all its bytes
// may be written again. The sizes of both layouts must be equal (else std::invalid_argument), their
// pieces need not.
class [[nodiscard]] convert_send_x : public block_transfer_options<convert_send_x>,
                                     public argument::plan_argument<convert_send_x, plan_t>,
                                     public argument::mr_argument<convert_send_x, mr_t>,
                                     public argument::layout_argument<convert_send_x, layout_t>,
                                     public argument::rank_argument<convert_send_x, int>,
                                     public argument::tag_argument<convert_send_x, tag_t>,
                                     public argument::send_signal_argument<convert_send_x, comp_t> {
 public:
  [[nodiscard]] convert_send_x(plan_t plan, mr_t mr, const layout_t& layout, int rank, tag_t tag,
                               comp_t send_signal)
      : plan_argument(plan),
        mr_argument(mr),
        layout_argument(layout),
        rank_argument(rank),
        tag_argument(tag),
        send_signal_argument(send_signal) {}
  void operator()() const;
};
inline void convert_send(plan_t plan, mr_t mr, const layout_t& layout, int rank, tag_t tag,
                         comp_t send_signal) {
  convert_send_x(plan, mr, layout, rank, tag, send_signal)();
}

// Both: sends to `to`, and receives from `from`.
void convert_sendrecv(plan_t plan, mr_t send_mr, const layout_t& send_layout, int to, mr_t recv_mr,
                      const layout_t& recv_layout, int from, tag_t tag, comp_t send_signal,
                      comp_t recv_signal);

// Every rank with every rank, itself included: send_layouts[r] goes to rank r, and what it sends
// here to recv_layouts[r]. Collective over the plan's runtime. Each start is as many events of
// send_signal and of recv_signal as there are ranks.
void convert_alltoallv(plan_t plan, mr_t send_mr, const layout_t* send_layouts, mr_t recv_mr,
                       const layout_t* recv_layouts, comp_t send_signal, comp_t recv_signal);

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_PLAN_HPP_
