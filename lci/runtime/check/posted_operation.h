#ifndef LCI_RUNTIME_CHECK_POSTED_OPERATION_H_
#define LCI_RUNTIME_CHECK_POSTED_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "lci/api/comp.hpp"
#include "lci/api/types.hpp"

namespace lci::rt {

// An operation as the program has posted it. Plain data.
struct posted_operation {
  // In the order of `transfer` (post/transfer.h).
  enum class kind { send, am, put, receive, get, collective };

  kind what = kind::send;
  const char* call = "";  // "post_send", or of a collective operation its name; a literal
  int rank = -1;          // below 0 in a receive: any rank
  tag_t tag = 0;
  rcomp_t rcomp = 0;
  uint64_t remote_offset = 0;  // of a put or get
  void* buffer = nullptr;
  size_t size = 0;  // bytes
  comp_impl_t* comp = nullptr;
  uint32_t part = 0;  // not 0: part of an event of `comp`, which is a signal
  // Whether `buffer` may be read by the checker: it is memory of the host, and no packet.
  bool is_readable = true;
  const void* runtime = nullptr;
  const void* device = nullptr;
  // Whether it completes by progress on any device of the runtime, as a receive does.
  bool is_of_any_device = false;

  bool reads_buffer() const { return what == kind::send || what == kind::am || what == kind::put; }
  bool writes_buffer() const { return what == kind::receive || what == kind::get; }
};

// As "a send of 8 bytes to rank 1 with tag 7".
std::string describe(const posted_operation& operation);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CHECK_POSTED_OPERATION_H_
