#include "lci/runtime/protocol/choose.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

TEST(ChooseProtocol, AtTheBoundaries) {
  struct row {
    size_t header;
    size_t size;
    size_t max;
    protocol expected;
  };
  constexpr row rows[] = {
      {0, 0, 64, protocol::eager},
      {0, 63, 64, protocol::eager},
      {0, 64, 64, protocol::eager},
      {0, 65, 64, protocol::rendezvous},
      {16, 47, 64, protocol::eager},
      {16, 48, 64, protocol::eager},
      {16, 49, 64, protocol::rendezvous},
      {16, 64, 64, protocol::rendezvous},
      {0, SIZE_MAX, 8192, protocol::rendezvous},
      {16, SIZE_MAX, 8192, protocol::rendezvous},
  };
  for (const row& r : rows) {
    EXPECT_EQ(choose_protocol(r.header, r.size, r.max), r.expected)
        << "header " << r.header << ", size " << r.size << ", max " << r.max;
  }
}

}  // namespace
}  // namespace lci::rt
