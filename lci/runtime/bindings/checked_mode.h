// The checks of LCI_CHECK=1 when objects and runtimes are freed; check/checker.h has its checks of
// operations.
#ifndef LCI_RUNTIME_BINDINGS_CHECKED_MODE_H_
#define LCI_RUNTIME_BINDINGS_CHECKED_MODE_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "lci/api/comp.hpp"
#include "lci/api/runtime.hpp"

namespace lci::rt {

class checker;

// The checker of the process; null unless the variable LCI_CHECK is 1. global_initialize sets it,
// and the last global_finalize ends it. Thread safety: any thread at any time.
inline std::atomic<checker*>& checker_of_process() {
  static std::atomic<checker*> of_process{nullptr};
  return of_process;
}
inline bool is_checked_mode() {
  return checker_of_process().load(std::memory_order_relaxed) != nullptr;
}

// As LCI_CHECK and LCI_CHECK_BYTES say: null, if nothing is to be checked. `patience`: as that of
// hang reports, in seconds. Throws std::invalid_argument if a variable has a wrong value.
std::unique_ptr<checker> make_checker_from_environment(double patience);

// Lists what the program leaves in the default matching engine of a runtime that is being freed: a
// sentence for each receive that no message has matched, and for each message that no receive has,
// such as "rank 1 leaves a receive of 8 bytes with tag 7 from rank 0, which no message has
// matched". Equal sentences are merged. Makes progress for 100 ms. To be called after all ranks
// have reached free_runtime.
std::vector<std::string> leftovers(runtime_impl_t& runtime);

// Throws std::logic_error if an operation is pending that will signal `comp`, which free_comp is
// about to free.
void check_unused(const comp_impl_t& comp);
// Of the same: warns that it had these names, by which messages may still name it.
void report_registered(const comp_impl_t& comp, const std::vector<rcomp_t>& names);

// The completion objects that the program has, in checked mode. Thread safety: any thread at any
// time.
void note_allocated(const comp_impl_t& comp);
void note_freed(const comp_impl_t& comp);
// A sentence for each place of the program that has allocated objects which have not been freed,
// such as "2 x synchronizer "results" allocated at prog(main+0x12) have not been freed"; at most
// ten. Forgets the objects.
std::vector<std::string> take_objects_left();

}  // namespace lci::rt

#endif  // LCI_RUNTIME_BINDINGS_CHECKED_MODE_H_
