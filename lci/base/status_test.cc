#include "lci/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace lci::base {
namespace {

TEST(status, a_success_says_nothing) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.ToString(), "OK");
  EXPECT_EQ(status, OkStatus());
  EXPECT_EQ(Status(StatusCode::kOk, "dropped"), OkStatus());
}

TEST(status, an_error_has_a_code_and_a_message) {
  const Status status = NotFoundError("no such key");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "no such key");
  EXPECT_EQ(status.ToString(), "NOT_FOUND: no such key");
  std::ostringstream shown;
  shown << status;
  EXPECT_EQ(shown.str(), status.ToString());
  EXPECT_NE(status, NotFoundError("another"));
  EXPECT_NE(status, DataLossError("no such key"));
  EXPECT_NE(status, OkStatus());
}

TEST(status, factories_and_predicates_agree) {
  EXPECT_TRUE(IsInvalidArgument(InvalidArgumentError("")));
  EXPECT_TRUE(IsDeadlineExceeded(DeadlineExceededError("")));
  EXPECT_TRUE(IsNotFound(NotFoundError("")));
  EXPECT_TRUE(IsAlreadyExists(AlreadyExistsError("")));
  EXPECT_TRUE(IsPermissionDenied(PermissionDeniedError("")));
  EXPECT_TRUE(IsFailedPrecondition(FailedPreconditionError("")));
  EXPECT_TRUE(IsAborted(AbortedError("")));
  EXPECT_TRUE(IsInternal(InternalError("")));
  EXPECT_TRUE(IsUnavailable(UnavailableError("")));
  EXPECT_TRUE(IsDataLoss(DataLossError("")));
  EXPECT_FALSE(IsInternal(OkStatus()));
  EXPECT_EQ(ResourceExhaustedError("").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(UnimplementedError("").code(), StatusCode::kUnimplemented);
}

TEST(status, copies_and_moves) {
  Status first = AbortedError("first");
  Status second = first;
  EXPECT_EQ(second, first);
  first = InternalError("changed");
  EXPECT_EQ(second, AbortedError("first"));
  const Status moved = std::move(second);
  EXPECT_EQ(moved, AbortedError("first"));
  first = moved;
  EXPECT_EQ(first, moved);
  first = OkStatus();
  EXPECT_TRUE(first.ok());
}

TEST(status, update_keeps_the_first_error) {
  Status status;
  status.Update(OkStatus());
  EXPECT_TRUE(status.ok());
  status.Update(AbortedError("first"));
  status.Update(InternalError("second"));
  EXPECT_EQ(status, AbortedError("first"));
}

TEST(status, names_the_failure_of_a_system_call) {
  EXPECT_EQ(ErrnoToStatus(ENOENT, "open a"), NotFoundError("open a: No such file or directory"));
  EXPECT_TRUE(IsPermissionDenied(ErrnoToStatus(EACCES, "open")));
  EXPECT_TRUE(IsUnavailable(ErrnoToStatus(EAGAIN, "fork")));
  EXPECT_EQ(ErrnoToStatus(ENOMEM, "mmap").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoToStatus(EIO, "read").code(), StatusCode::kUnknown);
}

TEST(status, gets_a_prefix_before_its_message) {
  EXPECT_EQ(WithPrefix("rank 3: ", NotFoundError("no port")), NotFoundError("rank 3: no port"));
  EXPECT_TRUE(WithPrefix("rank 3: ", OkStatus()).ok());
}

StatusOr<std::unique_ptr<int>> make(int number) {
  if (number < 0) return InvalidArgumentError("negative");
  return std::make_unique<int>(number);
}

TEST(status_or, holds_a_value_that_only_moves) {
  StatusOr<std::unique_ptr<int>> made = make(3);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made.status().ok());
  EXPECT_EQ(**made, 3);
  EXPECT_EQ(*made->get(), 3);
  const std::unique_ptr<int> taken = *std::move(made);
  EXPECT_EQ(*taken, 3);
}

TEST(status_or, holds_an_error) {
  const StatusOr<std::unique_ptr<int>> refused = make(-1);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(refused.status(), InvalidArgumentError("negative"));
}

TEST(status_or, reading_what_is_not_there_throws_the_reason) {
  StatusOr<std::string> none = NotFoundError("no such key");
  EXPECT_THROW((void)none.value(), BadStatusOrAccess);
  EXPECT_THROW((void)*none, BadStatusOrAccess);
  EXPECT_THROW((void)none->size(), BadStatusOrAccess);
  try {
    (void)*std::move(none);
    FAIL();
  } catch (const BadStatusOrAccess& error) {
    EXPECT_EQ(std::string(error.what()),
              "a StatusOr without a value was read: NOT_FOUND: no such key");
  }
}

TEST(status_or, is_an_error_unless_there_is_a_value) {
  EXPECT_FALSE(StatusOr<int>().ok());
  EXPECT_TRUE(IsInternal(StatusOr<int>(OkStatus()).status()));
}

TEST(status_or, converts_to_its_value_type) {
  const StatusOr<std::string> text = "text";
  EXPECT_EQ(*text, "text");
  // An empty optional is a value.
  StatusOr<std::optional<std::string>> nothing = std::nullopt;
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->has_value());
  *nothing = "something";
  const StatusOr<std::optional<std::string>> copied = nothing;
  ASSERT_TRUE(copied->has_value());
  EXPECT_EQ(**copied, "something");
  const StatusOr<std::pair<int, int>> pair = {{1, 2}};
  EXPECT_EQ(pair->second, 2);
}

TEST(status_or, assigns_and_falls_back) {
  StatusOr<int> number = InternalError("none");
  EXPECT_EQ(number.value_or(7), 7);
  number = 3;
  EXPECT_EQ(number.value_or(7), 3);
  number = AbortedError("gone");
  EXPECT_FALSE(number.ok());
}

}  // namespace
}  // namespace lci::base
