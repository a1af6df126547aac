// A rank of a job that hangs. usage: hang CASE
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "lci.hpp"
#include "tests/hangs/hang_cases.h"

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "late" && std::string(std::getenv("LCI_RANK")) != "0") {  // joins only on rank 0
    for (;;) pause();
  }
  lci::g_runtime_init();
  if (!hangs::run_case(name, {lci::get_g_runtime(), lci::get_rank_me(), lci::get_rank_n()})) {
    std::fprintf(stderr, "hang: there is no case \"%s\"\n", name.c_str());
    return 2;
  }
  lci::g_runtime_fina();
  return 0;
}
