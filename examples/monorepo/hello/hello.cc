// A program of the monorepo: one line a rank.

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "lci.hpp"

#ifndef MONOREPO_ABSEIL
#error "built with another Abseil than the one that this monorepo declares"
#endif

int main() {
  lci::g_runtime_init();
  const std::string line =
      absl::StrCat("hello from rank ", lci::get_rank_me(), " of ", lci::get_rank_n(), "\n");
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
  lci::barrier();
  lci::g_runtime_fina();
  return 0;
}
