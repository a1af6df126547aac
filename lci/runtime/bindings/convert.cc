// Patterns of sends and receives turned into plans (UNR paper, Code 3).
#include <algorithm>
#include <memory>
#include <vector>

#include "lci/api/comm.hpp"
#include "lci/api/comp.hpp"
#include "lci/api/plan.hpp"
#include "lci/runtime/blocks/block.h"
#include "lci/runtime/blocks/plan.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace {

// The message of the receiver to the sender.
struct destination {
  block_t block;  // around all pieces, with the receiver's signal
  layout_t layout;
};

// The same until it has left, which may be after the call: where not even small messages are eager,
// it leaves when the sender has posted its receive, and ranks may be both to each other.
class leaving_destination final : public comp_impl_t {
 public:
  explicit leaving_destination(const destination& of) : value(of) {}
  void signal(status_t /*status*/) override { delete this; }

  const destination value;
};

// Bytes from the first to behind the last.
size_t extent(const layout_t& layout) {
  if (layout.size() == 0) return 0;
  return layout.length + (layout.count - 1) * layout.stride + (layout.count2 - 1) * layout.stride2;
}

block_t block_around(const char* call, mr_t mr, const layout_t& layout) {
  const mr_impl_t* const impl = rt::registered(mr, call);
  return make_block_x(mr, layout.offset, extent(layout)).runtime(&impl->context.runtime)();
}

// Goes through the bytes of a layout in their order.
class walk {
 public:
  explicit walk(const layout_t& layout) : layout_(layout) {}
  // From the start of the block around them.
  size_t offset() const { return group_ * layout_.stride2 + piece_ * layout_.stride + in_piece_; }
  // Bytes from there that are of the same piece.
  size_t room() const { return layout_.length - in_piece_; }
  void go(size_t bytes) {
    in_piece_ += bytes;
    if (in_piece_ < layout_.length) return;
    in_piece_ = 0;
    if (++piece_ < layout_.count) return;
    piece_ = 0;
    ++group_;
  }

 private:
  const layout_t layout_;
  size_t group_ = 0;
  size_t piece_ = 0;
  size_t in_piece_ = 0;
};

}  // namespace

void convert_recv_x::operator()() const {
  const char* const call = "convert_recv";
  mr_impl_t* const mr = rt::registered(get_mr(), call);
  runtime_impl_t& runtime = mr->context.runtime;
  destination target;
  target.block = block_around(call, get_mr(), get_layout());
  target.block.recv_signal = get_rsignal_x(get_recv_signal()).runtime(&runtime)();
  target.layout = get_layout();
  auto message = std::make_unique<leaving_destination>(target);
  const status_t sent =
      post_send_x(get_rank(), &message->value, sizeof(target), get_tag(), comp_t(message.get()))
          .runtime(&runtime)
          .matching_engine(runtime.address_engine())
          .allow_retry(false)();
  if (sent.is_posted()) static_cast<void>(message.release());
}

void convert_send_x::operator()() const {
  const char* const call = "convert_send";
  plan_impl_t& plan = rt::checked_plan(get_plan(), call);
  runtime_impl_t& runtime = plan.runtime;
  block_t from = block_around(call, get_mr(), get_layout());
  if (!(get_send_signal() == COMP_NULL)) {
    from.send_signal = get_rsignal_x(get_send_signal()).runtime(&runtime)();
  }
  destination to;
  static_cast<void>(post_recv_x(get_rank(), &to, sizeof(to), get_tag(), COMP_NULL)
                        .runtime(&runtime)
                        .matching_engine(runtime.address_engine())());
  if (to.layout.size() != get_layout().size()) {
    rt::throw_invalid_argument(call, ": the layout has ", get_layout().size(),
                               " bytes, and that of rank ", get_rank(), ", tag ", get_tag(), ", ",
                               to.layout.size());
  }
  block_options_t options = options_;
  if (options.runtime.is_empty() && options.device.is_empty() && options.rails == nullptr) {
    options.runtime = &runtime;
  }
  std::vector<rt::block_operation> operations;
  const auto put = [&](size_t here, size_t there, size_t size) {
    operations.emplace_back(call, direction_t::OUT,
                            sub_block_x(from, here, size).runtime(&runtime)(),
                            sub_block_x(to.block, there, size).runtime(&runtime)(), options);
  };
  walk local(get_layout());
  walk remote(to.layout);
  if (get_layout().size() == 0) put(0, 0, 0);
  for (size_t left = get_layout().size(); left > 0;) {
    const size_t here = local.offset();
    const size_t there = remote.offset();
    size_t size = 0;
    // Pieces that follow each other on both sides are one.
    do {
      const size_t more = std::min(local.room(), remote.room());
      local.go(more);
      remote.go(more);
      size += more;
      left -= more;
    } while (left > 0 && local.offset() == here + size && remote.offset() == there + size);
    put(here, there, size);
  }
  plan.add(operations, operations.front().comp());
}

void convert_sendrecv(plan_t plan, mr_t send_mr, const layout_t& send_layout, int to, mr_t recv_mr,
                      const layout_t& recv_layout, int from, tag_t tag, comp_t send_signal,
                      comp_t recv_signal) {
  convert_recv(recv_mr, recv_layout, from, tag, recv_signal);
  convert_send(plan, send_mr, send_layout, to, tag, send_signal);
}

void convert_alltoallv(plan_t plan, mr_t send_mr, const layout_t* send_layouts, mr_t recv_mr,
                       const layout_t* recv_layouts, comp_t send_signal, comp_t recv_signal) {
  const runtime_impl_t& runtime = rt::checked_plan(plan, "convert_alltoallv").runtime;
  // A tag of its own: nothing else of the program is under way in this collective call.
  constexpr tag_t tag = ANY_TAG - 1;
  for (int r = 0; r < runtime.size(); ++r) {
    const int to = (runtime.rank() + r) % runtime.size();
    convert_recv(recv_mr, recv_layouts[to], to, tag, recv_signal);
  }
  for (int r = 0; r < runtime.size(); ++r) {
    const int to = (runtime.rank() + r) % runtime.size();
    convert_send(plan, send_mr, send_layouts[to], to, tag, send_signal);
  }
}

}  // namespace lci
