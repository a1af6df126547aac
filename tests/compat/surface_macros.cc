// Macros. Programs use some of them in #if.
#include <cstring>
#include <string>

#include "surface.h"

// A #if wants numbers that the preprocessor can read.
#if LCI_VERSION_MAJOR < 2
#error "LCI_VERSION_MAJOR is less than the level of the interface"
#endif
#if LCI_VERSION_HEX < 0x020000
#error "LCI_VERSION_HEX is less than the level of the interface"
#endif
#if LCI_VERSION_HEX != ((LCI_VERSION_MAJOR << 16) | (LCI_VERSION_MINOR << 8) | LCI_VERSION_PATCH)
#error "LCI_VERSION_HEX does not agree with the other macros"
#endif
#if LCI_WITH_SHM != 1
#error "LCI_WITH_SHM is not 1, though shared memory is part of the library"
#endif
#if LCI_CACHE_LINE < 64 || LCI_PACKET_SIZE_DEFAULT < 1 || LCI_BACKEND_MAX_POLLS < 1
#error "a size is too small"
#endif

void surface::check_macros() {
  CHECK(LCI_VERSION_MAJOR == 2);
  CHECK(LCI_VERSION_MINOR >= 0);
  CHECK(LCI_VERSION_PATCH >= 0);
  CHECK(LCI_VERSION_HEX >= 0x020000);
  CHECK(std::string(LCI_VERSION_STRING) == std::to_string(LCI_VERSION_MAJOR) + "." +
                                               std::to_string(LCI_VERSION_MINOR) + "." +
                                               std::to_string(LCI_VERSION_PATCH));
  CHECK((LCI_CACHE_LINE & (LCI_CACHE_LINE - 1)) == 0);
  CHECK(LCI_WITH_SHM == 1);
  // The names of the backends, with ';' between them.
  const std::string backends = ";" + std::string(LCI_NETWORK_BACKENDS_ENABLED) + ";";
  CHECK(backends.find(";shm;") != std::string::npos || backends.find(";ofi;") != std::string::npos);
  CHECK(std::strchr(LCI_NETWORK_BACKENDS_ENABLED, ' ') == nullptr);
  // An array of so many results can be asked for, as a poll of the network does.
  lci::net_status_t polled[LCI_BACKEND_MAX_POLLS];
  CHECK(sizeof(polled) / sizeof(polled[0]) == LCI_BACKEND_MAX_POLLS);
  struct alignas(LCI_CACHE_LINE) line {
    char byte;
  };
  CHECK(sizeof(line) == LCI_CACHE_LINE);
}
