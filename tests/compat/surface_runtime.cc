// Start and end of a runtime, and progress.
#include <cstddef>
#include <cstdint>
#include <string>

#include "surface.h"

using namespace surface::argument;

void surface::check_runtime_operations() {
  // The result of progress may be ignored, so that its type may be one that becomes an error_t.
  CHECK(std::is_convertible_v<decltype(lci::progress()), lci::error_t>);
  CHECK(std::is_convertible_v<decltype(lci::progress_x()()), lci::error_t>);
  CHECK(std::is_convertible_v<result_of_call<const lci::progress_x&>::type, lci::error_t>);
  CHECK(std::is_same_v<decltype(lci::progress().is_done()), bool>);
  CHECK(std::is_same_v<decltype(lci::progress().errorcode), lci::errorcode_t>);
  CHECK(std::is_copy_constructible_v<lci::progress_x>);
  SETTER(progress, lci::runtime_t, runtime);
  SETTER(progress, lci::device_t, device);
  SETTER(progress, lci::endpoint_t, endpoint);

  OPERATION(lci::error_t, test_drained, ());
  SETTER(test_drained, lci::runtime_t, runtime);
  SETTER(test_drained, lci::device_t, device);

  OPERATION(void, wait_drained, ());
  SETTER(wait_drained, lci::runtime_t, runtime);
  SETTER(wait_drained, lci::device_t, device);

  OPERATION(lci::runtime_t, alloc_runtime, ());
  SETTER(alloc_runtime, size_t, packet_return_threshold);
  SETTER(alloc_runtime, int, imm_nbits_tag);
  SETTER(alloc_runtime, int, imm_nbits_rcomp);
  SETTER(alloc_runtime, lci::attr_rdv_protocol_t, rdv_protocol);
  SETTER(alloc_runtime, bool, alloc_default_device);
  SETTER(alloc_runtime, bool, alloc_default_packet_pool);
  SETTER(alloc_runtime, bool, alloc_default_matching_engine);
  SETTER(alloc_runtime, const char*, name);
  SETTER(alloc_runtime, void*, user_context);
  SETTER(alloc_runtime, std::string, device_name);

  OPERATION(void, free_runtime, (runtime_address));
  SETTER(free_runtime, lci::runtime_t*, runtime);

  OPERATION(lci::runtime_t, g_runtime_init, ());
  SETTER(g_runtime_init, size_t, packet_return_threshold);
  SETTER(g_runtime_init, int, imm_nbits_tag);
  SETTER(g_runtime_init, int, imm_nbits_rcomp);
  SETTER(g_runtime_init, lci::attr_rdv_protocol_t, rdv_protocol);
  SETTER(g_runtime_init, bool, alloc_default_device);
  SETTER(g_runtime_init, bool, alloc_default_packet_pool);
  SETTER(g_runtime_init, bool, alloc_default_matching_engine);
  SETTER(g_runtime_init, const char*, name);
  SETTER(g_runtime_init, void*, user_context);
  SETTER(g_runtime_init, std::string, device_name);

  OPERATION(void, g_runtime_fina, ());

  OPERATION(lci::runtime_t, get_g_runtime, ());
}
