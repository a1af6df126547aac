#ifndef LCI_RUNTIME_DEVICE_H_
#define LCI_RUNTIME_DEVICE_H_

#include <atomic>
#include <memory>

#include "lci/api/attr.hpp"
#include "lci/api/types.hpp"
#include "lci/net/backend.h"
#include "lci/runtime/backlog.h"
#include "lci/runtime/protocol/eager.h"
#include "lci/runtime/protocol/rendezvous.h"

namespace lci {

class runtime_impl_t;

// What stands behind a device_t: a device of the network, and what the runtime keeps for it. All
// conversations that begin on a device stay on it, so threads on different devices share nothing
// here.
//
// Thread safety: every member by any thread at any time; none blocks.
class device_impl_t {
 public:
  device_impl_t(runtime_impl_t& runtime, const device_attr_t& attributes,
                std::unique_ptr<net::device> network);
  device_impl_t(const device_impl_t&) = delete;
  device_impl_t& operator=(const device_impl_t&) = delete;

  // One post. When it is over at once (done, fatal), `then` (may be null) has been called on
  // return; after posted it will be; after retry nothing happened.
  error_t try_submit(net::op operation, rt::continuation* then);

  // The same for who cannot retry: what the network refuses goes to the backlog.
  void submit(const net::op& operation, rt::continuation* then);

  // See progress_x.
  error_t progress();

  // No operation of this rank and no conversation with a peer is under way.
  bool drained();

  // The most bytes, header included, that leave by copy.
  size_t max_eager() const { return max_eager_; }

  runtime_impl_t& runtime;
  const device_attr_t attr;
  const std::unique_ptr<net::device> net;
  rt::backlog backlog;
  rt::eager eager;
  rt::rendezvous rendezvous;

 private:
  void handle(const net::completion& completion);
  void handle_message(const net::completion& received);

  const size_t max_eager_;
};

namespace rt {

// True while this thread is inside progress(): a handler is running, and waiting would be for ever.
bool inside_progress();

}  // namespace rt
}  // namespace lci

#endif  // LCI_RUNTIME_DEVICE_H_
