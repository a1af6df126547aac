// One put or get of any size, in pieces that the network takes.
#ifndef LCI_RUNTIME_PROTOCOL_PIECES_H_
#define LCI_RUNTIME_PROTOCOL_PIECES_H_

#include <cstddef>
#include <cstdint>

#include "lci/api/types.hpp"
#include "lci/net/op.h"
#include "lci/runtime/protocol/backlog.h"
#include "lci/runtime/protocol/operation.h"

namespace lci::rt {

class protocol_host;

// Or of many runs of bytes, one after the other, each in pieces.
//
// The next piece is posted when the one before is complete: so the last one, which may notify the
// target, does not rely on any order of the network.
class pieces : public continuation {
 public:
  // Before start(): the put or get. Its `imm` and `imm_high` are those of the last piece, if that
  // notifies.
  operation whole;
  bool notifies = false;  // the last piece is a put_imm
  // If not null: what to move instead of `buffer`, `size` and `remote_offset` of `whole`, which
  // then are those of the run that is under way. At least one; stays until it is finished.
  struct run {
    void* buffer;
    size_t size;
    uint64_t remote_offset;
  };
  const run* runs = nullptr;
  size_t run_count = 0;

  // Posts the first piece, and those after it for as long as they complete at once.
  //   done    all is over
  //   posted  finished() will be called, possibly before this returns
  //   retry   nothing happened; only if not may_wait
  //   fatal   the peer is gone, or its memory is not accessible
  error_t start(protocol_host& host, bool may_wait);

 protected:
  ~pieces() = default;
  // All is over, with done or fatal. The object may end its own life.
  virtual void finished(protocol_host& host, errorcode_t code) = 0;

 private:
  void completed(protocol_host& host, errorcode_t code) final;
  error_t post_rest(protocol_host& host, bool may_wait);

  bool is_last_run() const { return runs == nullptr || run_ + 1 == run_count; }
  void take_run(size_t i);

  size_t posted_ = 0;  // bytes of the run
  size_t run_ = 0;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_PIECES_H_
