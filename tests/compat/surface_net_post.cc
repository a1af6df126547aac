// The network by itself.
#include <cstddef>
#include <cstdint>
#include <string>

#include "surface.h"

using namespace surface::argument;

void surface::check_net_post_operations() {
  OPERATION(size_t, net_poll_cq, (size, net_statuses));
  SETTER(net_poll_cq, size_t, max_polls);
  SETTER(net_poll_cq, lci::net_status_t*, statuses);
  SETTER(net_poll_cq, lci::runtime_t, runtime);
  SETTER(net_poll_cq, lci::device_t, device);

  OPERATION(lci::error_t, net_post_recv, (buffer, size, mr));
  SETTER(net_post_recv, void*, buffer);
  SETTER(net_post_recv, size_t, size);
  SETTER(net_post_recv, lci::mr_t, mr);
  SETTER(net_post_recv, lci::runtime_t, runtime);
  SETTER(net_post_recv, lci::device_t, device);
  SETTER(net_post_recv, void*, user_context);

  OPERATION(lci::error_t, net_post_sends, (number, buffer, size));
  SETTER(net_post_sends, int, rank);
  SETTER(net_post_sends, void*, buffer);
  SETTER(net_post_sends, size_t, size);
  SETTER(net_post_sends, lci::runtime_t, runtime);
  SETTER(net_post_sends, lci::device_t, device);
  SETTER(net_post_sends, lci::endpoint_t, endpoint);
  SETTER(net_post_sends, lci::net_imm_data_t, imm_data);
  SETTER(net_post_sends, void*, user_context);

  OPERATION(lci::error_t, net_post_send, (number, buffer, size, mr));
  SETTER(net_post_send, int, rank);
  SETTER(net_post_send, void*, buffer);
  SETTER(net_post_send, size_t, size);
  SETTER(net_post_send, lci::mr_t, mr);
  SETTER(net_post_send, lci::runtime_t, runtime);
  SETTER(net_post_send, lci::device_t, device);
  SETTER(net_post_send, lci::endpoint_t, endpoint);
  SETTER(net_post_send, lci::net_imm_data_t, imm_data);
  SETTER(net_post_send, void*, user_context);

  OPERATION(lci::error_t, net_post_puts, (number, buffer, size, disp, rmr));
  SETTER(net_post_puts, int, rank);
  SETTER(net_post_puts, void*, buffer);
  SETTER(net_post_puts, size_t, size);
  SETTER(net_post_puts, uint64_t, offset);
  SETTER(net_post_puts, lci::rmr_t, rmr);
  SETTER(net_post_puts, lci::runtime_t, runtime);
  SETTER(net_post_puts, lci::device_t, device);
  SETTER(net_post_puts, lci::endpoint_t, endpoint);
  SETTER(net_post_puts, void*, user_context);

  OPERATION(lci::error_t, net_post_put, (number, buffer, size, mr, disp, rmr));
  SETTER(net_post_put, int, rank);
  SETTER(net_post_put, void*, buffer);
  SETTER(net_post_put, size_t, size);
  SETTER(net_post_put, lci::mr_t, mr);
  SETTER(net_post_put, uint64_t, offset);
  SETTER(net_post_put, lci::rmr_t, rmr);
  SETTER(net_post_put, lci::runtime_t, runtime);
  SETTER(net_post_put, lci::device_t, device);
  SETTER(net_post_put, lci::endpoint_t, endpoint);
  SETTER(net_post_put, void*, user_context);

  OPERATION(lci::error_t, net_post_putImms, (number, buffer, size, disp, rmr));
  SETTER(net_post_putImms, int, rank);
  SETTER(net_post_putImms, void*, buffer);
  SETTER(net_post_putImms, size_t, size);
  SETTER(net_post_putImms, uint64_t, offset);
  SETTER(net_post_putImms, lci::rmr_t, rmr);
  SETTER(net_post_putImms, lci::runtime_t, runtime);
  SETTER(net_post_putImms, lci::device_t, device);
  SETTER(net_post_putImms, lci::endpoint_t, endpoint);
  SETTER(net_post_putImms, lci::net_imm_data_t, imm_data);
  SETTER(net_post_putImms, void*, user_context);

  OPERATION(lci::error_t, net_post_putImm, (number, buffer, size, mr, disp, rmr));
  SETTER(net_post_putImm, int, rank);
  SETTER(net_post_putImm, void*, buffer);
  SETTER(net_post_putImm, size_t, size);
  SETTER(net_post_putImm, lci::mr_t, mr);
  SETTER(net_post_putImm, uint64_t, offset);
  SETTER(net_post_putImm, lci::rmr_t, rmr);
  SETTER(net_post_putImm, lci::runtime_t, runtime);
  SETTER(net_post_putImm, lci::device_t, device);
  SETTER(net_post_putImm, lci::endpoint_t, endpoint);
  SETTER(net_post_putImm, lci::net_imm_data_t, imm_data);
  SETTER(net_post_putImm, void*, user_context);

  OPERATION(lci::error_t, net_post_get, (number, buffer, size, mr, disp, rmr));
  SETTER(net_post_get, int, rank);
  SETTER(net_post_get, void*, buffer);
  SETTER(net_post_get, size_t, size);
  SETTER(net_post_get, lci::mr_t, mr);
  SETTER(net_post_get, uint64_t, offset);
  SETTER(net_post_get, lci::rmr_t, rmr);
  SETTER(net_post_get, lci::runtime_t, runtime);
  SETTER(net_post_get, lci::device_t, device);
  SETTER(net_post_get, lci::endpoint_t, endpoint);
  SETTER(net_post_get, void*, user_context);
}
