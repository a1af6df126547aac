#include "lci/runtime/core/rotating_size_class.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace lci::rt {
namespace {

TEST(RotatingSizeClass, IsEnoughAndLittleMore) {
  for (size_t size = 1; size <= 2000; ++size) {
    const size_t asked = rotating_size_class(size);
    EXPECT_GE(asked, size);
    EXPECT_LT(asked, std::max<size_t>(size, 24) + 64);
  }
  EXPECT_EQ(rotating_size_class(1024), 1024u);
  EXPECT_EQ(rotating_size_class(4096), 4096u);
}

#ifndef LCI_BASE_ADDRESS_SANITIZER
// So many that malloc keeps them, of each, are the pieces of a burst.
TEST(RotatingSizeClass, NoPieceOfABurstIsOneOfManyAlike) {
  for (const size_t size : {1, 8, 40, 256, 900}) {
    std::map<size_t, int> alike;
    std::vector<void*> burst;
    for (int i = 0; i < 28; ++i) {
      burst.push_back(std::malloc(rotating_size_class(size)));
      ++alike[malloc_usable_size(burst.back())];
    }
    for (void* piece : burst) std::free(piece);
    for (const auto& [usable, count] : alike) EXPECT_LE(count, 7) << usable << " of " << size;
  }
}
#endif

}  // namespace
}  // namespace lci::rt
