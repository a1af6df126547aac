// A rank posts sends to a device on which it never makes progress afterwards. They arrive all the
// same, though the network may keep some of them until the device is polled.

#include <cstdint>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

constexpr int messages = 20;
constexpr lci::tag_t reply_tag = 77;

void send_all(lci::device_t device) {
  for (int64_t i = 0; i < messages; ++i) {
    const auto send = lci::post_send_x(1, &i, sizeof(i), static_cast<lci::tag_t>(i), lci::COMP_NULL)
                          .device(device);
    EXPECT(send().is_done());
  }
  int64_t reply = 0;
  EXPECT(lci::post_recv(1, &reply, sizeof(reply), reply_tag, lci::COMP_NULL).is_done());
  EXPECT(reply == messages);
}

void receive_all(lci::device_t device) {
  for (int64_t i = 0; i < messages; ++i) {
    int64_t value = -1;
    const auto receive =
        lci::post_recv_x(0, &value, sizeof(value), static_cast<lci::tag_t>(i), lci::COMP_NULL)
            .device(device);
    EXPECT(receive().is_done());
    EXPECT(value == i);
  }
  int64_t reply = messages;
  EXPECT(lci::post_send(0, &reply, sizeof(reply), reply_tag, lci::COMP_NULL).is_done());
}

void run() {
  lci::g_runtime_init();
  lci::device_t device = lci::alloc_device();
  lci::barrier();
  if (lci::get_rank_n() > 1) {
    if (lci::get_rank_me() == 0) send_all(device);
    if (lci::get_rank_me() == 1) receive_all(device);
  }
  lci::barrier();
  lci::wait_drained_x().device(device)();
  lci::barrier();
  lci::free_device(&device);
  lci::g_runtime_fina();
}

}  // namespace

int main() { return run_test(run); }
