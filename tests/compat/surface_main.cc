// Makes every check of the interface, and says how many.
#include <cstdio>
#include <exception>

#include "surface.h"

namespace {
int checks = 0;
int failures = 0;

int run() {
  surface::check_types();
  surface::check_enumerators();
  surface::check_statuses();
  surface::check_macros();
  surface::check_handles();
  surface::check_attributes();
  surface::check_global_attributes();
  surface::check_runtime_operations();
  surface::check_resource_operations();
  surface::check_completion_operations();
  surface::check_graph_operations();
  surface::check_post_operations();
  surface::check_send_buffers();
  surface::check_network_operations();
  surface::check_net_post_operations();
  surface::check_collective_operations();

  lci::g_runtime_init_x().name("surface")();
  surface::check_live_attributes();
  surface::check_live_handles();
  surface::check_live_setters();
  lci::g_runtime_fina_x()();
  CHECK(lci::get_g_runtime().is_empty());

  std::printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 && checks > 0 ? 0 : 1;
}
}  // namespace

void surface::check(bool holds, const char* subject, const char* what) {
  ++checks;
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s%s\n", subject, what);
}

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exception after %d checks: %s\n", checks, error.what());
    return 1;
  }
}
