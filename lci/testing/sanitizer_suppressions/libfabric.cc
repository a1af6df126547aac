// Suppressions for the thread and address sanitizers in programs that load libfabric.
#include "lci/base/sanitizer.h"

#ifdef LCI_BASE_THREAD_SANITIZER
// libfabric moves bytes between ranks that are threads, and by its own threads, ordered by atomics
// that the thread sanitizer does not see: the sanitizer treats libfabric like hardware. The second
// line covers the finalizer of libfabric, which the loader calls.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libfabric.so\nmutex:_dl_call_fini\n";
}
#endif

#ifdef LCI_BASE_ADDRESS_SANITIZER
// The provider net, which is the default over TCP, leaks the state of its connections.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfabric.so\n"; }
#endif
