#include "lci/runtime/post.h"

#include <atomic>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "lci/api/comm.hpp"
#include "lci/runtime/protocol/choose.h"
#include "lci/runtime/resolve.h"
#include "lci/runtime/runtime.h"
#include "lci/runtime/wait.h"

namespace lci {
namespace rt {

error_t post_message(device_impl_t& device, const message& outgoing, bool may_wait) {
  error_t result;
  switch (choose_protocol(device.eager.header_size(outgoing), outgoing.size, device.max_eager())) {
    case protocol::eager:
      result = may_wait ? device.eager.send_or_wait(outgoing) : device.eager.send(outgoing);
      break;
    case protocol::rendezvous:
      result = device.rendezvous.start(outgoing, may_wait);
      break;
  }
  if (__builtin_expect(result.errorcode == errorcode_t::fatal, 0)) {
    throw peer_failure_error(outgoing.rank,
                             absl::StrCat("lci: can't send to rank ", outgoing.rank,
                                          ": it is gone (rank ", device.runtime.rank(), ")"));
  }
  return result;
}

namespace {

// The completion object of an operation whose caller waits for it.
class flag final : public comp_impl_t {
 public:
  void signal(status_t status) override {
    code_ = status.error.errorcode;
    set_.store(true, std::memory_order_release);
  }
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  errorcode_t code() const { return code_; }

 private:
  errorcode_t code_ = errorcode_t::retry_init;
  std::atomic<bool> set_{false};
};

void check_arguments(const post_am_x& args, const runtime_impl_t& runtime) {
  if (args.rank() < 0 || args.rank() >= runtime.size()) {
    throw std::invalid_argument(
        absl::StrCat("lci: post_am: rank is ", args.rank(), ", not 0 to ", runtime.size() - 1));
  }
  if (args.local_buffer() == nullptr && args.size() > 0) {
    throw std::invalid_argument(
        absl::StrCat("lci: post_am: local_buffer is null and size is ", args.size()));
  }
  if (args.remote_comp() == 0) {
    throw std::invalid_argument("lci: post_am: remote_comp is 0, which names nothing");
  }
}

// Sends and returns when the sender's buffer is free. With `may_retry`, a retry code comes back
// instead if it can't leave now.
error_t send_and_wait(device_impl_t& device, message outgoing, bool may_retry) {
  flag sent;
  outgoing.comp = &sent;
  error_t result = post_message(device, outgoing, false);
  if (result.is_retry()) {
    if (may_retry) return result;
    wait_until(&device, "post_am that may not be posted", [&] {
      result = post_message(device, outgoing, false);
      return !result.is_retry();
    });
  }
  if (result.is_done()) return result;
  wait_until(&device, "post_am that may not be posted", [&] { return sent.is_set(); });
  if (sent.code() == errorcode_t::fatal) {
    throw peer_failure_error(
        outgoing.rank, absl::StrCat("lci: rank ", outgoing.rank, " did not take a message of ",
                                    outgoing.size, " bytes"));
  }
  return errorcode_t::done;
}

}  // namespace
}  // namespace rt

status_t post_am_x::operator()() const {
  const rt::target target = rt::resolve(get_runtime(), get_device());
  rt::check_arguments(*this, *target.runtime);

  const bool null_comp = local_comp_ == COMP_NULL;
  const bool has_comp = !null_comp && local_comp_ != COMP_NULL_RETRY;
  if (!has_comp && !get_allow_done()) {
    throw std::invalid_argument("lci: post_am: allow_done(false) needs a completion object");
  }
  const bool may_post = get_allow_posted() && has_comp;
  const bool may_retry = get_allow_retry() && !null_comp;

  rt::message outgoing;
  outgoing.rank = rank_;
  outgoing.buffer = local_buffer_;
  outgoing.size = size_;
  outgoing.tag = get_tag();
  outgoing.rcomp = remote_comp_;
  outgoing.comp = has_comp ? local_comp_.get_impl() : nullptr;
  outgoing.user_context = get_user_context();

  const error_t result = may_post ? rt::post_message(*target.device, outgoing, !may_retry)
                                  : rt::send_and_wait(*target.device, outgoing, may_retry);
  if (result.is_done() && !get_allow_done()) {
    outgoing.signal(errorcode_t::done);
    return outgoing.status(errorcode_t::posted);
  }
  return outgoing.status(result.errorcode);
}

}  // namespace lci
