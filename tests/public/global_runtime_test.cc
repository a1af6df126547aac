// The global runtime is counted, its end can be repeated where it has changed nothing, and no handler
// ends it.
#include <stdexcept>
#include <string>

#include "lci.hpp"
#include "tests/public/check.h"

namespace {

// Whether the call throws std::logic_error with this text.
template <class Call>
bool refuses(const Call& call, const char* text) {
  try {
    call();
  } catch (const std::logic_error& error) {
    return std::string(error.what()).find(text) != std::string::npos;
  }
  return false;
}

void count_and_repeat() {
  EXPECT(refuses([] { lci::g_runtime_fina(); }, "without g_runtime_init"));
  for (int round = 0; round < 2; ++round) {
    lci::g_runtime_init();
    lci::g_runtime_init();
    lci::g_runtime_fina();
    EXPECT(!lci::get_g_runtime().is_empty());
    lci::mr_t memory = lci::alloc_mr(8);
    for (int i = 0; i < 2; ++i) {
      EXPECT(refuses([] { lci::g_runtime_fina(); }, "not freed: 1 registered memory region"));
      EXPECT(!lci::get_g_runtime().is_empty());
    }
    lci::free_mr(&memory);
    lci::barrier();
    lci::g_runtime_fina();
    EXPECT(lci::get_g_runtime().is_empty());
    EXPECT(refuses([] { lci::g_runtime_fina(); }, "without g_runtime_init"));
  }
}

// The end may report a message that nothing is registered for; it is the end in both cases.
void end_with_a_dropped_message() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me();
  char byte = 1;
  static_cast<void>(lci::post_am(me, &byte, sizeof(byte), lci::COMP_NULL, 5));
  try {
    lci::g_runtime_fina();
  } catch (const std::runtime_error& error) {
    EXPECT(std::string(error.what()).find("remote completion 5") != std::string::npos);
  }
  EXPECT(lci::get_g_runtime().is_empty());
}

// The runtime is polled while a handler runs, and another one is made by all ranks together.
void refuse_in_a_handler() {
  lci::g_runtime_init();
  static bool called;
  called = false;
  lci::comp_t handler = lci::alloc_handler_x([](lci::status_t) {
                          EXPECT(refuses([] { lci::g_runtime_fina(); }, "inside a handler"));
                          if (lci::get_rank_n() > 1) {
                            EXPECT(refuses([] { lci::alloc_runtime(); }, "inside a handler"));
                          }
                          called = true;
                        }).lend_am(true)();
  const lci::rcomp_t name = lci::register_rcomp(handler);
  char byte = 1;
  static_cast<void>(lci::post_am(lci::get_rank_me(), &byte, sizeof(byte), lci::COMP_NULL, name));
  while (!called) lci::progress();
  lci::runtime_t other = lci::alloc_runtime();
  lci::free_runtime(&other);
  lci::deregister_rcomp(name);
  lci::free_comp(&handler);
  lci::g_runtime_fina();
}

}  // namespace

int main() {
  return run_test([] {
    count_and_repeat();
    end_with_a_dropped_message();
    refuse_in_a_handler();
  });
}
