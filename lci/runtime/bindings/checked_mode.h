// What LCI_CHECK=1 looks for. Nothing of it is on the way of a message.
#ifndef LCI_RUNTIME_BINDINGS_CHECKED_MODE_H_
#define LCI_RUNTIME_BINDINGS_CHECKED_MODE_H_

#include <atomic>
#include <string>
#include <vector>

#include "lci/api/comp.hpp"
#include "lci/api/runtime.hpp"

namespace lci::rt {

// Whether the variable LCI_CHECK is 1. global_initialize sets it. Thread safety: any thread at any
// time.
inline std::atomic<bool>& is_checked_mode() {
  static std::atomic<bool> is_checked{false};
  return is_checked;
}

// What the program leaves in the default matching engine of a runtime that is being freed: a
// sentence for each receive that no message has matched, and for each message that no receive has,
// such as "rank 1 leaves a receive of 8 bytes with tag 7 from rank 0, which no message has
// matched". Those that are alike are one sentence. Makes progress for 100 ms. After the ranks have
// come to free_runtime.
std::vector<std::string> leftovers(runtime_impl_t& runtime);

// Throws std::logic_error if a receive that waits in an engine of the runtime signals `comp`, which
// free_comp is about to free. Reads every receive that waits.
void check_unused(runtime_impl_t& runtime, const comp_impl_t& comp);

// The completion objects that the program has, in checked mode. Thread safety: any thread at any
// time.
void note_allocated(const comp_impl_t& comp);
void note_freed(const comp_impl_t& comp);
// A sentence for each place of the program that has allocated objects which have not been freed,
// such as "2 x synchronizer "results" allocated at prog(main+0x12) have not been freed"; at most ten.
// Forgets the objects.
std::vector<std::string> take_objects_left();

}  // namespace lci::rt

#endif  // LCI_RUNTIME_BINDINGS_CHECKED_MODE_H_
