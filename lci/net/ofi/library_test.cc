#include "lci/net/ofi/library.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/boot/in_process.h"
#include "lci/net/backend.h"

namespace lci::net::ofi {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string mapped_files() {
  std::ifstream maps("/proc/self/maps");
  return {std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>()};
}

// This test must run before libfabric is loaded, so it comes first in the program.
TEST(Library, IsNotLoadedBeforeItsBackendIsUsed) {
  ASSERT_THAT(mapped_files(), HasSubstr("libc"));
  const backend_entry* chosen = find_backend(attr_backend_t::none, /*one_host=*/true);
  ASSERT_NE(chosen, nullptr);
  EXPECT_STREQ(chosen->name, "shm");
  const backend_entry* ofi = find_backend(attr_backend_t::ofi, /*one_host=*/true);
  ASSERT_NE(ofi, nullptr);
  EXPECT_LT(ofi->preference, chosen->preference);
  EXPECT_EQ(find_backend("ofi"), ofi);
  EXPECT_EQ(find_backend("OFI"), nullptr);
  // The backend for several hosts does not load libfabric for a job on one host either.
  const backend_entry* joining = find_backend(attr_backend_t::none, /*one_host=*/false);
  ASSERT_NE(joining, nullptr);
  EXPECT_STREQ(joining->name, "mixed");
  for (const backend_entry* each : {chosen, joining}) {
    auto boots = boot::make_in_process_job(1, std::chrono::seconds(60));
    const auto network = each->make(*boots[0], {});
    ASSERT_TRUE(network.ok()) << network.status();
    EXPECT_STREQ((*network)->name(), "shm");
  }
  EXPECT_THAT(mapped_files(), Not(HasSubstr("libfabric")));
  ASSERT_TRUE(ofi->available());
  EXPECT_THAT(mapped_files(), HasSubstr("libfabric"));
}

TEST(Library, WithoutItTheErrorSaysWhatToInstall) {
  const auto missing = load_library_from("libnonesuch.so.1");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(std::string(missing.status().message()),
              testing::AllOf(HasSubstr("libnonesuch.so.1"), HasSubstr("libfabric1")));
}

TEST(Library, ALibraryWithoutTheFunctionsIsRefused) {
  const auto wrong = load_library_from("libc.so.6");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("fi_getinfo"));
}

}  // namespace
}  // namespace lci::net::ofi
