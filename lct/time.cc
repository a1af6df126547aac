#include <chrono>

#include "lct/lct.h"

LCT_time_t LCT_now() {
  const auto since_origin = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_origin).count();
}

double LCT_time_to_ns(LCT_time_t time) { return static_cast<double>(time); }

double LCT_time_to_us(LCT_time_t time) { return static_cast<double>(time) / 1e3; }

double LCT_time_to_ms(LCT_time_t time) { return static_cast<double>(time) / 1e6; }

double LCT_time_to_s(LCT_time_t time) { return static_cast<double>(time) / 1e9; }
