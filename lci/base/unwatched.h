// Memory accesses that ThreadSanitizer shall not look at.
#ifndef LCI_BASE_UNWATCHED_H_
#define LCI_BASE_UNWATCHED_H_

#include "lci/base/sanitizer.h"

#ifdef LCI_BASE_THREAD_SANITIZER
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace lci::base {

// While it lives, accesses of this thread are as unseen as those of a network adapter or of the
// kernel. For what is done to a program's memory on behalf of another process: that it is not used
// meanwhile is ordered by messages through that process, which the detector does not see.
class unwatched {
 public:
#ifdef LCI_BASE_THREAD_SANITIZER
  unwatched() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~unwatched() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  unwatched() {}
  ~unwatched() {}
#endif
  unwatched(const unwatched&) = delete;
  unwatched& operator=(const unwatched&) = delete;
};

}  // namespace lci::base

#endif  // LCI_BASE_UNWATCHED_H_
