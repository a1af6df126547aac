// A program that is compiled without exceptions and without run-time type information.
#include "lci.hpp"

int main() {
  lci::g_runtime_init();
  lci::comp_t object = lci::alloc_cq();
  const bool is_there = object.get_impl() != nullptr;
  lci::free_comp(&object);
  lci::g_runtime_fina();
  return is_there ? 0 : 1;
}
