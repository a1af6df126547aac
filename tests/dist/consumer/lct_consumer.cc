// A program that uses the companion library and not LCI.
#include <cstdio>

#include "lct.h"

int main() {
  LCT_init();
  const LCT_time_t start = LCT_now();
  const bool moved_on = LCT_now() >= start;
  LCT_fina();
  std::printf("time moves on: %d\n", moved_on);
  return moved_on ? 0 : 1;
}
