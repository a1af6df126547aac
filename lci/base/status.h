// The result of an operation that can fail for reasons outside of the library: Status, and
// StatusOr<T> where success carries a value.
//
//   base::StatusOr<int> parse(std::string_view text);
//
//   const base::StatusOr<int> parsed = parse(text);
//   if (!parsed.ok()) return parsed.status();
//   use(*parsed);
//
// Names and meanings are those of absl::Status. The library has its own implementation so that it
// links into shared libraries: distributions build Abseil's archives without position-independent
// code.
//
// Thread safety: as for int.
#ifndef LCI_BASE_STATUS_H_
#define LCI_BASE_STATUS_H_

#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace lci::base {

// The values are the canonical ones of absl::StatusCode and gRPC.
enum class StatusCode : int {
  kOk = 0,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

// "INVALID_ARGUMENT" for kInvalidArgument, and so on.
std::string_view StatusCodeToString(StatusCode code);

// Success, or an error code with a message. A success is one null pointer.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // Drops the message if `code` is kOk.
  Status(StatusCode code, std::string_view message);
  Status(const Status& other) : error_(copy(other)) {}
  Status(Status&& other) noexcept = default;
  Status& operator=(const Status& other) {
    if (this != &other) error_ = copy(other);
    return *this;
  }
  Status& operator=(Status&& other) noexcept = default;
  ~Status() = default;

  [[nodiscard]] bool ok() const { return error_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : error_->code; }
  // Empty for a success. Valid until this status changes.
  std::string_view message() const { return ok() ? std::string_view() : error_->message; }

  // "OK", or "CODE: message".
  std::string ToString() const;

  // Keeps the first error: does nothing unless this status is a success.
  void Update(Status next) {
    if (ok()) *this = std::move(next);
  }

  friend bool operator==(const Status& a, const Status& b) {
    return a.code() == b.code() && a.message() == b.message();
  }
  friend bool operator!=(const Status& a, const Status& b) { return !(a == b); }

 private:
  struct error {
    StatusCode code;
    std::string message;
  };

  static std::unique_ptr<error> copy(const Status& other) {
    return other.ok() ? nullptr : std::make_unique<error>(*other.error_);
  }

  std::unique_ptr<error> error_;
};

std::ostream& operator<<(std::ostream& out, const Status& status);

inline Status OkStatus() { return Status(); }

Status InvalidArgumentError(std::string_view message);
Status DeadlineExceededError(std::string_view message);
Status NotFoundError(std::string_view message);
Status AlreadyExistsError(std::string_view message);
Status PermissionDeniedError(std::string_view message);
Status ResourceExhaustedError(std::string_view message);
Status FailedPreconditionError(std::string_view message);
Status AbortedError(std::string_view message);
Status UnimplementedError(std::string_view message);
Status InternalError(std::string_view message);
Status UnavailableError(std::string_view message);
Status DataLossError(std::string_view message);

// Makes the error of a failed system call, with the message "what: description of errno". The code
// follows from the errno; kUnknown if no code fits.
Status ErrnoToStatus(int error_number, std::string_view what);

[[nodiscard]] bool IsInvalidArgument(const Status& status);
[[nodiscard]] bool IsDeadlineExceeded(const Status& status);
[[nodiscard]] bool IsNotFound(const Status& status);
[[nodiscard]] bool IsAlreadyExists(const Status& status);
[[nodiscard]] bool IsPermissionDenied(const Status& status);
[[nodiscard]] bool IsFailedPrecondition(const Status& status);
[[nodiscard]] bool IsAborted(const Status& status);
[[nodiscard]] bool IsInternal(const Status& status);
[[nodiscard]] bool IsUnavailable(const Status& status);
[[nodiscard]] bool IsDataLoss(const Status& status);

// Thrown when the value of a StatusOr without one is read. what() is the text of its status.
class BadStatusOrAccess : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace internal {
[[noreturn]] void throw_bad_access(const Status& status);
// Returns the status, or an internal error in place of a success, as a success provides no value.
Status error_without_value(Status status);
}  // namespace internal

// A value, or an error in its place.
template <class T>
class [[nodiscard]] StatusOr {
 public:
  using value_type = T;

  // Has no value until it is assigned.
  StatusOr() : status_(StatusCode::kUnknown, "no value was assigned") {}
  // Implicit, so that functions can return a value or a status. An OK status becomes an internal
  // error.
  StatusOr(Status status) : status_(internal::error_without_value(std::move(status))) {}
  template <class U = T, class = std::enable_if_t<std::is_convertible_v<U&&, T> &&
                                                  !std::is_same_v<std::decay_t<U>, StatusOr> &&
                                                  !std::is_same_v<std::decay_t<U>, Status>>>
  StatusOr(U&& value) : value_(std::in_place, std::forward<U>(value)) {}

  [[nodiscard]] bool ok() const { return status_.ok(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  // The functions below throw BadStatusOrAccess if there is no value.
  const T& value() const& { return *checked(*this); }
  T& value() & { return *checked(*this); }
  T&& value() && { return *std::move(checked(*this)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  template <class U>
  T value_or(U&& fallback) const& {
    return ok() ? *value_ : static_cast<T>(std::forward<U>(fallback));
  }
  template <class U>
  T value_or(U&& fallback) && {
    return ok() ? *std::move(value_) : static_cast<T>(std::forward<U>(fallback));
  }

 private:
  template <class Self>
  static auto& checked(Self& self) {
    if (!self.ok()) internal::throw_bad_access(self.status_);
    return self.value_;
  }

  Status status_;
  std::optional<T> value_;
};

}  // namespace lci::base

#endif  // LCI_BASE_STATUS_H_
