#include "lci/testing/backend_override/backend_override.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "lci/base/check.h"

namespace lci::net {
namespace {

bool is_listed(const backend_entry& entry) {
  const auto all = list_backends();
  return std::find(all.begin(), all.end(), &entry) != all.end();
}

TEST(BackendOverride, IsFoundInsteadOfTheBackendWithItsIdUntilItEnds) {
  const backend_entry& real = *find_backend(attr_backend_t::shm, /*one_host=*/true);
  const backend_entry& other = *find_backend(attr_backend_t::sim, /*one_host=*/true);
  const backend_entry first = real;
  const backend_entry second = real;
  {
    const backend_override outer(first);
    EXPECT_EQ(find_backend(attr_backend_t::shm, /*one_host=*/true), &first);
    EXPECT_EQ(find_backend(attr_backend_t::sim, /*one_host=*/true), &other);
    EXPECT_TRUE(is_listed(first));
    EXPECT_FALSE(is_listed(real));
    {
      const backend_override inner(second);
      EXPECT_EQ(find_backend("shm"), &second);
    }
    EXPECT_EQ(find_backend("shm"), &first);
  }
  EXPECT_EQ(find_backend(attr_backend_t::shm, /*one_host=*/true), &real);
  EXPECT_TRUE(is_listed(real));
}

TEST(BackendOverride, NeedsABackendToReplace) {
  backend_entry unknown = *find_backend("shm");
  unknown.id = static_cast<attr_backend_t>(77);
  EXPECT_THROW(backend_override{unknown}, base::check_error);
}

}  // namespace
}  // namespace lci::net
