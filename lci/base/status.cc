#include "lci/base/status.h"

#include <algorithm>
#include <cerrno>
#include <initializer_list>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"

namespace lci::base {
namespace {

// The errno values that a code stands for; kUnknown stands for all others.
struct errno_values {
  StatusCode code;
  std::initializer_list<int> values;
};
constexpr errno_values values_by_code[] = {
    {StatusCode::kOk, {0}},
    {StatusCode::kInvalidArgument,
     {EINVAL, ENAMETOOLONG, E2BIG, EDESTADDRREQ, EDOM, EFAULT, EILSEQ, ENOPROTOOPT, ENOTSOCK,
      ENOTTY, EPROTOTYPE, ESPIPE}},
    {StatusCode::kDeadlineExceeded, {ETIMEDOUT}},
    {StatusCode::kNotFound, {ENODEV, ENOENT, ENXIO, ESRCH}},
    {StatusCode::kAlreadyExists, {EEXIST, EADDRNOTAVAIL, EALREADY}},
    {StatusCode::kPermissionDenied, {EPERM, EACCES, EROFS}},
    {StatusCode::kResourceExhausted, {EMFILE, EMLINK, ENFILE, ENOBUFS, ENOMEM, ENOSPC, EDQUOT}},
    {StatusCode::kFailedPrecondition,
     {EADDRINUSE, EBADF, EBUSY, ECHILD, EISCONN, EISDIR, ENOTCONN, ENOTDIR, ENOTEMPTY, EPIPE,
      ETXTBSY}},
    {StatusCode::kAborted, {EDEADLK, ESTALE}},
    {StatusCode::kUnimplemented,
     {EAFNOSUPPORT, ENOSYS, EOPNOTSUPP, EPFNOSUPPORT, EPROTONOSUPPORT, EXDEV}},
    {StatusCode::kUnavailable,
     {EAGAIN, ECOMM, ECONNABORTED, ECONNREFUSED, ECONNRESET, EHOSTDOWN, EHOSTUNREACH, EINTR,
      ENETDOWN, ENETRESET, ENETUNREACH, ENOLCK, ENOLINK}}};

StatusCode code_of_errno(int error_number) {
  for (const errno_values& each : values_by_code) {
    if (std::count(each.values.begin(), each.values.end(), error_number) > 0) return each.code;
  }
  return StatusCode::kUnknown;
}

}  // namespace

std::string_view StatusCodeToString(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
#define LCI_STATUS_CODE(name_, value_, text_) \
  case StatusCode::k##name_:                  \
    return text_;
      LCI_STATUS_CODES(LCI_STATUS_CODE)
#undef LCI_STATUS_CODE
  }
  return "UNKNOWN";
}

Status::Status(StatusCode code, std::string_view message) {
  if (code != StatusCode::kOk) {
    error_ = std::make_unique<error>(error{code, std::string(message)});
  }
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return StrCat(StatusCodeToString(code()), ": ", message());
}

std::ostream& operator<<(std::ostream& out, const Status& status) {
  return out << status.ToString();
}

Status WithPrefix(std::string_view prefix, const Status& status) {
  return Status(status.code(), StrCat(prefix, status.message()));
}

Status ErrnoToStatus(int error_number, std::string_view what) {
  return Status(code_of_errno(error_number), StrCat(what, ": ", error_text(error_number)));
}

namespace internal {

void throw_bad_access(const Status& status) {
  throw BadStatusOrAccess(StrCat("a StatusOr without a value was read: ", status.ToString()));
}

Status error_without_value(Status status) {
  if (!status.ok()) return status;
  return InternalError("an OK status was given where a value or an error belongs");
}

}  // namespace internal
}  // namespace lci::base
