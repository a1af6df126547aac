// A block of another rank, with any bytes: a put to it, or a get from it, is refused, fails, or
// reaches memory that this rank has opened. (The only rank is the target, too.)
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "lci.hpp"

namespace {

constexpr size_t bytes = 256;

struct rank {
  rank() {
    lci::g_runtime_init();
    mr = lci::alloc_mr(2 * bytes);
    sent = lci::alloc_signal(1);
  }
  lci::mr_t mr;
  lci::comp_t sent;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static rank* const own = new rank;
  const lci::block_t local = lci::make_block_x(own->mr, 0, bytes)();
  // Fields that are not given are those of a valid block; its pointer is not dereferenced.
  lci::block_t remote = lci::make_block_x(own->mr, bytes, bytes)();
  auto* const to = reinterpret_cast<unsigned char*>(&remote);
  for (size_t i = 0; i < size && i < sizeof(remote); ++i)
    to[i] = static_cast<uint8_t>(to[i] ^ data[i]);
  for (const bool is_put : {true, false}) {
    try {
      const lci::status_t status =
          is_put ? lci::post_put(local, remote) : lci::post_get(local, remote);
      static_cast<void>(status);
    } catch (const std::exception&) {
    }
    for (int i = 0; i < 10; ++i) {
      try {
        lci::progress();
      } catch (const std::exception&) {
      }
    }
  }
  return 0;
}
