// leaving HOW: a program whose rank 1 ends with exit code 0 too early.
//   early   before g_runtime_init
//   late    before g_runtime_init, when the others wait for it
//   inside  without g_runtime_fina
//   all     no rank calls g_runtime_fina
//   none    no rank uses the library
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "lci.hpp"

int main(int, char** argv) {
  const std::string how = argv[1];
  const bool is_one = std::string(std::getenv("LCI_RANK")) == "1";
  if (how == "none" || (how == "early" && is_one)) return 0;
  if (how == "late" && is_one) {
    poll(nullptr, 0, 300);  // milliseconds; the answer is the same in any order
    return 0;
  }
  lci::g_runtime_init();
  lci::barrier();
  if (how == "all" || is_one) _exit(0);
  lci::g_runtime_fina();
}
