// Messages that are matched with receives by (source rank, tag), in any order across keys.
#ifndef LCI_RUNTIME_MATCHING_H_
#define LCI_RUNTIME_MATCHING_H_

#include <cstdint>

#include "lci/api/types.hpp"
#include "lci/ds/matching_table.h"
#include "lci/ds/object_pool.h"
#include "lci/runtime/message.h"
#include "lci/runtime/protocol/rendezvous.h"

namespace lci {
class device_impl_t;
}

namespace lci::rt {

// Thread safety: every member by any thread at any time.
class matching_engine {
 public:
  matching_engine() = default;
  ~matching_engine();
  matching_engine(const matching_engine&) = delete;
  matching_engine& operator=(const matching_engine&) = delete;

  // Tags go up to this: key = rank * 2^32 + tag.
  static constexpr tag_t max_tag = 0xffffffff;

  // Posts a receive. incoming.comp is always signalled, possibly before the call returns, with the
  // size that came; with `fatal` if that is more than incoming.size, or the peer failed meanwhile.
  void post_recv(const message& incoming);

  // What progress found on `device`. `bytes` is read before the call returns.
  void on_eager(device_impl_t& device, int rank, tag_t tag, const void* bytes, size_t size);
  void on_announced(device_impl_t& device, const announcement& announced);

 private:
  // A message that is here, or announced, and has no receive yet.
  struct unexpected {
    device_impl_t* device = nullptr;  // the conversation stays on the device that it began on
    announcement announced;
    void* bytes =
        nullptr;  // malloc'ed copy of an eager message; null if size is 0 or it is only announced
    bool eager = false;
  };

  static uint64_t key(int rank, tag_t tag) {
    return static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32 | tag;
  }
  static void deliver(const message& incoming, const void* bytes, size_t size);
  static void accept(device_impl_t& device, const message& incoming, const announcement& announced);

  // Collectives have few messages waiting at a time: a small table.
  ds::matching_table table_{
      1024};  // entries: message* from receives_, unexpected* from unexpected_
  ds::object_pool<message> receives_;
  ds::object_pool<unexpected> unexpected_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_MATCHING_H_
