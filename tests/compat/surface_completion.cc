// Completion objects, and the numbers other ranks know them by.
#include <cstddef>
#include <cstdint>
#include <string>

#include "surface.h"

using namespace surface::argument;

void surface::check_completion_operations() {
  OPERATION(void, free_comp, (comp_address));
  SETTER(free_comp, lci::comp_t*, comp);
  SETTER(free_comp, lci::runtime_t, runtime);

  OPERATION(void, comp_signal, (comp, status));
  SETTER(comp_signal, lci::comp_t, comp);
  SETTER(comp_signal, lci::status_t, status);
  SETTER(comp_signal, lci::runtime_t, runtime);

  OPERATION(lci::rcomp_t, reserve_rcomps, (rcomp));
  SETTER(reserve_rcomps, lci::rcomp_t, n);
  SETTER(reserve_rcomps, lci::runtime_t, runtime);

  OPERATION(lci::rcomp_t, register_rcomp, (comp));
  SETTER(register_rcomp, lci::comp_t, comp);
  SETTER(register_rcomp, lci::runtime_t, runtime);
  SETTER(register_rcomp, lci::rcomp_t, rcomp);

  OPERATION(void, deregister_rcomp, (rcomp));
  SETTER(deregister_rcomp, lci::rcomp_t, rcomp);
  SETTER(deregister_rcomp, lci::runtime_t, runtime);

  OPERATION(lci::comp_t, alloc_sync, ());
  SETTER(alloc_sync, lci::runtime_t, runtime);
  SETTER(alloc_sync, int, threshold);
  SETTER(alloc_sync, bool, zero_copy_am);
  SETTER(alloc_sync, const char*, name);
  SETTER(alloc_sync, void*, user_context);

  OPERATION(bool, sync_test, (comp, statuses));
  SETTER(sync_test, lci::comp_t, comp);
  SETTER(sync_test, lci::status_t*, p_out);
  SETTER(sync_test, lci::runtime_t, runtime);

  OPERATION(void, sync_wait, (comp, statuses));
  SETTER(sync_wait, lci::comp_t, comp);
  SETTER(sync_wait, lci::status_t*, p_out);
  SETTER(sync_wait, lci::runtime_t, runtime);
  SETTER(sync_wait, bool, do_progress);
  SETTER(sync_wait, lci::device_t, device);

  OPERATION(lci::comp_t, alloc_counter, ());
  SETTER(alloc_counter, lci::runtime_t, runtime);
  SETTER(alloc_counter, const char*, name);
  SETTER(alloc_counter, void*, user_context);

  OPERATION(int64_t, counter_get, (comp));
  SETTER(counter_get, lci::comp_t, comp);
  SETTER(counter_get, lci::runtime_t, runtime);

  OPERATION(void, counter_set, (comp, count));
  SETTER(counter_set, lci::comp_t, comp);
  SETTER(counter_set, int64_t, value);
  SETTER(counter_set, lci::runtime_t, runtime);

  OPERATION(lci::comp_t, alloc_cq, ());
  SETTER(alloc_cq, lci::runtime_t, runtime);
  SETTER(alloc_cq, int, default_length);
  SETTER(alloc_cq, bool, zero_copy_am);
  SETTER(alloc_cq, lci::attr_cq_type_t, cq_type);
  SETTER(alloc_cq, const char*, name);
  SETTER(alloc_cq, void*, user_context);

  OPERATION(lci::status_t, cq_pop, (comp));
  SETTER(cq_pop, lci::comp_t, comp);
  SETTER(cq_pop, lci::runtime_t, runtime);

  OPERATION(lci::comp_t, alloc_handler, (handler));
  SETTER(alloc_handler, lci::comp_handler_t, handler);
  SETTER(alloc_handler, lci::runtime_t, runtime);
  SETTER(alloc_handler, bool, zero_copy_am);
  SETTER(alloc_handler, const char*, name);
  SETTER(alloc_handler, void*, user_context);
}
