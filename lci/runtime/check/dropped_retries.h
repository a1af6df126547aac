#ifndef LCI_RUNTIME_CHECK_DROPPED_RETRIES_H_
#define LCI_RUNTIME_CHECK_DROPPED_RETRIES_H_

#include <cstdint>
#include <map>
#include <tuple>

#include "lci/observe/call_site.h"
#include "lci/runtime/check/posted_operation.h"

namespace lci::rt {

// Posts that have answered retry and have not been repeated.
//
// A post repeats another one of its runtime if kind, rank, tag, remote completion, remote offset,
// buffer and size are the same; the device, the completion object, the options and the thread may
// differ: a fiber that posts again may have moved to another thread. So posts of several threads
// with equal arguments count as one, and the first of them that is accepted ends it.
//
// Thread safety: none.
class dropped_retries {
 public:
  // The post has answered retry. `thread`: as gettid(2).
  void retried(const posted_operation& posted, int64_t thread);
  // The post has answered otherwise, or has thrown.
  void accepted(const posted_operation& posted) { open_.erase(key_of(posted)); }
  bool empty() const { return open_.empty(); }
  // Those of the runtime. Forgets them.
  struct dropped {
    uint64_t posts = 0;
    // Of the first one.
    posted_operation first;
    int64_t thread = 0;
    observe::call_stack stack;
  };
  dropped take(const void* runtime);

 private:
  using key = std::tuple<const void*, posted_operation::kind, int, tag_t, rcomp_t, uint64_t,
                         const void*, size_t>;
  struct open_post {
    posted_operation posted;
    int64_t thread;   // of the first retry
    uint64_t number;  // in the order of the posts
    observe::call_stack stack;
  };
  static key key_of(const posted_operation& posted) {
    return {posted.runtime, posted.what,          posted.rank,   posted.tag,
            posted.rcomp,   posted.remote_offset, posted.buffer, posted.size};
  }

  std::map<key, open_post> open_;
  uint64_t next_number_ = 0;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CHECK_DROPPED_RETRIES_H_
