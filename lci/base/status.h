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

// Every error code: its name, its value, and its text. Name and value are the canonical ones of
// absl::StatusCode and gRPC.
// clang-format off
#define LCI_STATUS_CODES(code_)                       \
  code_(Unknown, 2, "UNKNOWN")                        \
  code_(InvalidArgument, 3, "INVALID_ARGUMENT")       \
  code_(DeadlineExceeded, 4, "DEADLINE_EXCEEDED")     \
  code_(NotFound, 5, "NOT_FOUND")                     \
  code_(AlreadyExists, 6, "ALREADY_EXISTS")           \
  code_(PermissionDenied, 7, "PERMISSION_DENIED")     \
  code_(ResourceExhausted, 8, "RESOURCE_EXHAUSTED")   \
  code_(FailedPrecondition, 9, "FAILED_PRECONDITION") \
  code_(Aborted, 10, "ABORTED")                       \
  code_(Unimplemented, 12, "UNIMPLEMENTED")           \
  code_(Internal, 13, "INTERNAL")                     \
  code_(Unavailable, 14, "UNAVAILABLE")               \
  code_(DataLoss, 15, "DATA_LOSS")
// clang-format on

// kOk, kInvalidArgument, and so on.
enum class StatusCode : int {
  kOk = 0,
#define LCI_STATUS_CODE(name_, value_, text_) k##name_ = value_,
  LCI_STATUS_CODES(LCI_STATUS_CODE)
#undef LCI_STATUS_CODE
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

// For each code, InvalidArgumentError(message) makes an error with that code, and
// IsInvalidArgument(status) returns whether a status has it.
#define LCI_STATUS_CODE(name_, value_, text_)                 \
  inline Status name_##Error(std::string_view message) {      \
    return Status(StatusCode::k##name_, message);             \
  }                                                           \
  [[nodiscard]] inline bool Is##name_(const Status& status) { \
    return status.code() == StatusCode::k##name_;             \
  }
LCI_STATUS_CODES(LCI_STATUS_CODE)
#undef LCI_STATUS_CODE

// The same error with a message that begins with `prefix`. A success stays one.
Status WithPrefix(std::string_view prefix, const Status& status);

// Makes the error of a failed system call, with the message "what: description of errno". The code
// follows from the errno; kUnknown if no code fits.
Status ErrnoToStatus(int error_number, std::string_view what);

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
  T value_or(U&& fallback) const {
    return ok() ? *value_ : static_cast<T>(std::forward<U>(fallback));
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
