// A library that is loaded while a test runs, and writes to memory.
#include <cstddef>
#include <cstring>

extern "C" void write_from_library(unsigned char* to);
extern "C" void copy_from_library(unsigned char* to, const unsigned char* from, size_t size);
extern "C" void call_from_library(void (*called)());

void write_from_library(unsigned char* to) { *static_cast<volatile unsigned char*>(to) = 1; }

void copy_from_library(unsigned char* to, const unsigned char* from, size_t size) {
  std::memcpy(to, from, size);
  asm volatile("" ::: "memory");  // no tail call, which would leave no caller
}

void call_from_library(void (*called)()) {
  called();
  asm volatile("" ::: "memory");
}
