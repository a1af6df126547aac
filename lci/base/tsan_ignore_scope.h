// Hides memory accesses from ThreadSanitizer.
#ifndef LCI_BASE_TSAN_IGNORE_SCOPE_H_
#define LCI_BASE_TSAN_IGNORE_SCOPE_H_

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

// During its lifetime, ThreadSanitizer ignores the accesses of this thread, as it ignores those of
// a network adapter or of the kernel. For accesses to a program's memory on behalf of another
// process: messages through that process keep the program from using the memory meanwhile, but
// ThreadSanitizer does not see them.
class tsan_ignore_scope {
 public:
#ifdef LCI_BASE_THREAD_SANITIZER
  tsan_ignore_scope() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~tsan_ignore_scope() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  tsan_ignore_scope() {}
  ~tsan_ignore_scope() {}
#endif
  tsan_ignore_scope(const tsan_ignore_scope&) = delete;
  tsan_ignore_scope& operator=(const tsan_ignore_scope&) = delete;
};

}  // namespace lci::base

#endif  // LCI_BASE_TSAN_IGNORE_SCOPE_H_
