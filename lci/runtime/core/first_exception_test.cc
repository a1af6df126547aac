#include "lci/runtime/core/first_exception.h"

#include <stdexcept>
#include <string>

#include "gtest/gtest.h"
#include "lci/api/types.hpp"

namespace lci::rt {
namespace {

template <class Error>
void keep(const Error& error, std::exception_ptr* failure) {
  try {
    throw error;
  } catch (...) {
    keep_first_exception(failure);
  }
}

TEST(FirstException, IsKept) {
  std::exception_ptr failure;
  keep(std::runtime_error("one"), &failure);
  EXPECT_EQ(exception_text(failure), "one");
}

TEST(FirstException, FurtherOnesAreLogged) {
  std::exception_ptr failure;
  keep(std::runtime_error("one"), &failure);
  testing::internal::CaptureStderr();
  keep(std::logic_error("two"), &failure);
  keep(3, &failure);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(exception_text(failure), "one");
  EXPECT_NE(log.find("throws another one: two\n"), std::string::npos) << log;
  EXPECT_NE(log.find("throws another one: an exception that is no std::exception\n"),
            std::string::npos)
      << log;
}

// The program gets a peer_failure_error once, so no other exception may take its place.
TEST(FirstException, AFailedPeerComesFirst) {
  std::exception_ptr failure;
  keep(std::runtime_error("one"), &failure);
  testing::internal::CaptureStderr();
  keep(peer_failure_error(1, "rank 1 is gone"), &failure);
  keep(peer_failure_error(2, "rank 2 is gone"), &failure);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(exception_text(failure), "rank 1 is gone");
  EXPECT_NE(log.find("throws another one: one\n"), std::string::npos) << log;
  EXPECT_NE(log.find("throws another one: rank 2 is gone\n"), std::string::npos) << log;
}

}  // namespace
}  // namespace lci::rt
