// Posting.
#include <cstddef>
#include <cstdint>
#include <string>

#include "surface.h"

using namespace surface::argument;

void surface::check_post_operations() {
  OPERATION(lci::status_t, post_comm, (direction, number, buffer, size, comp));
  SETTER(post_comm, lci::direction_t, direction);
  SETTER(post_comm, int, rank);
  SETTER(post_comm, void*, local_buffer);
  SETTER(post_comm, size_t, size);
  SETTER(post_comm, lci::comp_t, local_comp);
  SETTER(post_comm, lci::runtime_t, runtime);
  SETTER(post_comm, lci::device_t, device);
  SETTER(post_comm, lci::endpoint_t, endpoint);
  SETTER(post_comm, lci::packet_pool_t, packet_pool);
  SETTER(post_comm, lci::matching_engine_t, matching_engine);
  SETTER(post_comm, lci::comp_semantic_t, comp_semantic);
  SETTER(post_comm, lci::mr_t, mr);
  SETTER(post_comm, uintptr_t, remote_disp);
  SETTER(post_comm, lci::rmr_t, rmr);
  SETTER(post_comm, lci::tag_t, tag);
  SETTER(post_comm, lci::rcomp_t, remote_comp);
  SETTER(post_comm, void*, user_context);
  SETTER(post_comm, lci::matching_policy_t, matching_policy);
  SETTER(post_comm, bool, allow_done);
  SETTER(post_comm, bool, allow_posted);
  SETTER(post_comm, bool, allow_retry);

  OPERATION(lci::status_t, post_am, (number, buffer, size, comp, rcomp));
  SETTER(post_am, int, rank);
  SETTER(post_am, void*, local_buffer);
  SETTER(post_am, size_t, size);
  SETTER(post_am, lci::comp_t, local_comp);
  SETTER(post_am, lci::rcomp_t, remote_comp);
  SETTER(post_am, lci::runtime_t, runtime);
  SETTER(post_am, lci::device_t, device);
  SETTER(post_am, lci::endpoint_t, endpoint);
  SETTER(post_am, lci::packet_pool_t, packet_pool);
  SETTER(post_am, lci::comp_semantic_t, comp_semantic);
  SETTER(post_am, lci::mr_t, mr);
  SETTER(post_am, lci::tag_t, tag);
  SETTER(post_am, void*, user_context);
  SETTER(post_am, bool, allow_done);
  SETTER(post_am, bool, allow_posted);
  SETTER(post_am, bool, allow_retry);

  OPERATION(lci::status_t, post_send, (number, buffer, size, tag, comp));
  SETTER(post_send, int, rank);
  SETTER(post_send, void*, local_buffer);
  SETTER(post_send, size_t, size);
  SETTER(post_send, lci::tag_t, tag);
  SETTER(post_send, lci::comp_t, local_comp);
  SETTER(post_send, lci::runtime_t, runtime);
  SETTER(post_send, lci::device_t, device);
  SETTER(post_send, lci::endpoint_t, endpoint);
  SETTER(post_send, lci::packet_pool_t, packet_pool);
  SETTER(post_send, lci::matching_engine_t, matching_engine);
  SETTER(post_send, lci::comp_semantic_t, comp_semantic);
  SETTER(post_send, lci::mr_t, mr);
  SETTER(post_send, void*, user_context);
  SETTER(post_send, lci::matching_policy_t, matching_policy);
  SETTER(post_send, bool, allow_done);
  SETTER(post_send, bool, allow_posted);
  SETTER(post_send, bool, allow_retry);

  OPERATION(lci::status_t, post_recv, (number, buffer, size, tag, comp));
  SETTER(post_recv, int, rank);
  SETTER(post_recv, void*, local_buffer);
  SETTER(post_recv, size_t, size);
  SETTER(post_recv, lci::tag_t, tag);
  SETTER(post_recv, lci::comp_t, local_comp);
  SETTER(post_recv, lci::runtime_t, runtime);
  SETTER(post_recv, lci::device_t, device);
  SETTER(post_recv, lci::endpoint_t, endpoint);
  SETTER(post_recv, lci::packet_pool_t, packet_pool);
  SETTER(post_recv, lci::matching_engine_t, matching_engine);
  SETTER(post_recv, lci::comp_semantic_t, comp_semantic);
  SETTER(post_recv, lci::mr_t, mr);
  SETTER(post_recv, void*, user_context);
  SETTER(post_recv, lci::matching_policy_t, matching_policy);
  SETTER(post_recv, bool, allow_done);
  SETTER(post_recv, bool, allow_posted);
  SETTER(post_recv, bool, allow_retry);

  OPERATION(lci::status_t, post_put, (number, buffer, size, comp, disp, rmr));
  SETTER(post_put, int, rank);
  SETTER(post_put, void*, local_buffer);
  SETTER(post_put, size_t, size);
  SETTER(post_put, lci::comp_t, local_comp);
  SETTER(post_put, uintptr_t, remote_disp);
  SETTER(post_put, lci::rmr_t, rmr);
  SETTER(post_put, lci::runtime_t, runtime);
  SETTER(post_put, lci::device_t, device);
  SETTER(post_put, lci::endpoint_t, endpoint);
  SETTER(post_put, lci::packet_pool_t, packet_pool);
  SETTER(post_put, lci::comp_semantic_t, comp_semantic);
  SETTER(post_put, lci::mr_t, mr);
  SETTER(post_put, lci::tag_t, tag);
  SETTER(post_put, lci::rcomp_t, remote_comp);
  SETTER(post_put, void*, user_context);
  SETTER(post_put, bool, allow_done);
  SETTER(post_put, bool, allow_posted);
  SETTER(post_put, bool, allow_retry);

  OPERATION(lci::status_t, post_get, (number, buffer, size, comp, disp, rmr));
  SETTER(post_get, int, rank);
  SETTER(post_get, void*, local_buffer);
  SETTER(post_get, size_t, size);
  SETTER(post_get, lci::comp_t, local_comp);
  SETTER(post_get, uintptr_t, remote_disp);
  SETTER(post_get, lci::rmr_t, rmr);
  SETTER(post_get, lci::runtime_t, runtime);
  SETTER(post_get, lci::device_t, device);
  SETTER(post_get, lci::endpoint_t, endpoint);
  SETTER(post_get, lci::packet_pool_t, packet_pool);
  SETTER(post_get, lci::comp_semantic_t, comp_semantic);
  SETTER(post_get, lci::mr_t, mr);
  SETTER(post_get, lci::tag_t, tag);
  SETTER(post_get, lci::rcomp_t, remote_comp);
  SETTER(post_get, void*, user_context);
  SETTER(post_get, bool, allow_done);
  SETTER(post_get, bool, allow_posted);
  SETTER(post_get, bool, allow_retry);
}

// Memory that is only read may be const.
void surface::check_send_buffers() {
  CHECK(std::is_same_v<decltype(lci::post_am(number, const_buffer, size, comp, rcomp)),
                       lci::status_t>);
  CHECK(std::is_same_v<decltype(lci::post_send(number, const_buffer, size, tag, comp)),
                       lci::status_t>);
  CHECK(std::is_same_v<decltype(lci::post_put(number, const_buffer, size, comp, disp, rmr)),
                       lci::status_t>);
  CHECK(std::is_same_v<decltype(lci::post_am_x(number, const_buffer, size, comp, rcomp)()),
                       lci::status_t>);
  CHECK(std::is_same_v<decltype(lci::post_send_x(number, const_buffer, size, tag, comp)()),
                       lci::status_t>);
  CHECK(std::is_same_v<decltype(lci::post_put_x(number, const_buffer, size, comp, disp, rmr)()),
                       lci::status_t>);
  SETTER(post_am, const void*, local_buffer);
  SETTER(post_send, const void*, local_buffer);
  SETTER(post_put, const void*, local_buffer);
  // Memory that is written may not.
  CHECK(!std::is_constructible_v<lci::post_recv_x, int, const void*, size_t, lci::tag_t,
                                 lci::comp_t>);
  CHECK(!std::is_constructible_v<lci::post_get_x, int, const void*, size_t, lci::comp_t, uintptr_t,
                                 lci::rmr_t>);
}
