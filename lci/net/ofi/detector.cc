// What the detectors of races and leaks are told of libfabric, in tests that use it.
#include <cstdlib>
#include <cstring>

#include "lci/base/sanitizer.h"

#ifdef LCI_BASE_THREAD_SANITIZER
// libfabric moves bytes between ranks that are threads, and by threads of its own, in an order that
// it keeps by atomics which the detector does not see. To it, libfabric is an adapter; but not the
// end of libfabric, which the loader calls.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libfabric.so\nmutex:_dl_call_fini\n";
}
#endif

#ifdef LCI_BASE_ADDRESS_SANITIZER
// The provider net forgets what it knows of connections.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  const char* provider = std::getenv("LCI_TEST_PROVIDER");
  return provider != nullptr && std::strcmp(provider, "net") == 0 ? "leak:libfabric.so\n" : "";
}
#endif
