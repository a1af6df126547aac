// A message that this rank sends, or a receive that it has posted, as a value.
#ifndef LCI_RUNTIME_MESSAGE_H_
#define LCI_RUNTIME_MESSAGE_H_

#include "lci/api/comp.hpp"
#include "lci/api/types.hpp"

namespace lci::rt {

struct message {
  int rank = -1;  // the other side
  void* buffer = nullptr;
  size_t size = 0;  // bytes; of a receive: the most it can take
  tag_t tag = 0;
  rcomp_t rcomp = 0;            // the receiver's completion object; 0: matched by tag
  comp_impl_t* comp = nullptr;  // ours, signalled when it completes later; null: nobody asks
  void* user_context = nullptr;

  status_t status(errorcode_t code) const {
    status_t result(code);
    result.rank = rank;
    result.buffer = buffer;
    result.size = size;
    result.tag = tag;
    result.user_context = user_context;
    return result;
  }
  void signal(errorcode_t code) const {
    if (comp != nullptr) comp->signal(status(code));
  }
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_MESSAGE_H_
