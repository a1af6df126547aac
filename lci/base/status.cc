#include "lci/base/status.h"

#include <cerrno>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"

namespace lci::base {
namespace {

StatusCode code_of_errno(int error_number) {
  switch (error_number) {
    case 0:
      return StatusCode::kOk;
    case EINVAL:
    case ENAMETOOLONG:
    case E2BIG:
    case EDESTADDRREQ:
    case EDOM:
    case EFAULT:
    case EILSEQ:
    case ENOPROTOOPT:
    case ENOTSOCK:
    case ENOTTY:
    case EPROTOTYPE:
    case ESPIPE:
      return StatusCode::kInvalidArgument;
    case ETIMEDOUT:
      return StatusCode::kDeadlineExceeded;
    case ENODEV:
    case ENOENT:
    case ENXIO:
    case ESRCH:
      return StatusCode::kNotFound;
    case EEXIST:
    case EADDRNOTAVAIL:
    case EALREADY:
      return StatusCode::kAlreadyExists;
    case EPERM:
    case EACCES:
    case EROFS:
      return StatusCode::kPermissionDenied;
    case EMFILE:
    case EMLINK:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
      return StatusCode::kResourceExhausted;
    case EADDRINUSE:
    case EBADF:
    case EBUSY:
    case ECHILD:
    case EISCONN:
    case EISDIR:
    case ENOTCONN:
    case ENOTDIR:
    case ENOTEMPTY:
    case EPIPE:
    case ETXTBSY:
      return StatusCode::kFailedPrecondition;
    case EDEADLK:
    case ESTALE:
      return StatusCode::kAborted;
    case EAFNOSUPPORT:
    case ENOSYS:
    case EOPNOTSUPP:
    case EPFNOSUPPORT:
    case EPROTONOSUPPORT:
    case EXDEV:
      return StatusCode::kUnimplemented;
    case EAGAIN:
    case ECOMM:
    case ECONNABORTED:
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case EINTR:
    case ENETDOWN:
    case ENETRESET:
    case ENETUNREACH:
    case ENOLCK:
    case ENOLINK:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kUnknown;
  }
}

}  // namespace

std::string_view StatusCodeToString(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kUnknown:
      return "UNKNOWN";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kAborted:
      return "ABORTED";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kInternal:
      return "INTERNAL";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
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

// Defines the factory and, if it is used, the predicate of each code.
#define LCI_STATUS_FACTORY(name_) \
  Status name_##Error(std::string_view message) { return Status(StatusCode::k##name_, message); }
#define LCI_STATUS_PREDICATE(name_) \
  bool Is##name_(const Status& status) { return status.code() == StatusCode::k##name_; }

LCI_STATUS_FACTORY(InvalidArgument)
LCI_STATUS_FACTORY(DeadlineExceeded)
LCI_STATUS_FACTORY(NotFound)
LCI_STATUS_FACTORY(AlreadyExists)
LCI_STATUS_FACTORY(PermissionDenied)
LCI_STATUS_FACTORY(ResourceExhausted)
LCI_STATUS_FACTORY(FailedPrecondition)
LCI_STATUS_FACTORY(Aborted)
LCI_STATUS_FACTORY(Unimplemented)
LCI_STATUS_FACTORY(Internal)
LCI_STATUS_FACTORY(Unavailable)
LCI_STATUS_FACTORY(DataLoss)

LCI_STATUS_PREDICATE(InvalidArgument)
LCI_STATUS_PREDICATE(DeadlineExceeded)
LCI_STATUS_PREDICATE(NotFound)
LCI_STATUS_PREDICATE(AlreadyExists)
LCI_STATUS_PREDICATE(PermissionDenied)
LCI_STATUS_PREDICATE(FailedPrecondition)
LCI_STATUS_PREDICATE(Aborted)
LCI_STATUS_PREDICATE(Internal)
LCI_STATUS_PREDICATE(Unavailable)
LCI_STATUS_PREDICATE(DataLoss)

#undef LCI_STATUS_FACTORY
#undef LCI_STATUS_PREDICATE

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
