// checked: two ranks whose program makes mistakes that LCI_CHECK=1 names.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "lci.hpp"

namespace {

char bytes[100];

// True if the library refuses to free what a receive will signal.
bool is_refused(lci::comp_t* comp) {
  try {
    lci::free_comp(comp);
    return false;
  } catch (const std::logic_error& error) {
    std::printf("%s\n", error.what());
    return true;
  }
}

}  // namespace

int main() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  const int other = 1 - me;
  // A receive that waits, until the message that both send after it.
  lci::comp_t sync = lci::alloc_sync_x().name("results")();
  static_cast<void>(lci::post_recv(other, bytes, 8, 5, sync));
  lci::comp_t pending = sync;
  if (is_refused(&pending)) {
    lci::barrier();
    static_cast<void>(lci::post_send_x(other, bytes, 8, 5, lci::COMP_NULL).allow_retry(false)());
    lci::sync_wait(sync, nullptr);
    lci::free_comp(&sync);
  }
  // A message that no rank receives.
  lci::comp_t never = lci::alloc_sync_x().name("never")();
  if (me == 0) {
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(lci::post_send_x(1, bytes, 80, 9, lci::COMP_NULL).allow_retry(false)());
    }
  } else {
    static_cast<void>(lci::post_recv(0, bytes, 1, 6, never));
    static_cast<void>(lci::post_recv(lci::ANY_SOURCE, bytes, 100, 7, never));
  }
  lci::g_runtime_fina();
}
