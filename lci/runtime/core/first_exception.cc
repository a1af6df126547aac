#include "lci/runtime/core/first_exception.h"

#include <utility>

#include "lci/api/types.hpp"
#include "lci/base/log.h"

namespace lci::rt {
namespace {

bool is_peer_failure(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const peer_failure_error&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void keep_first_exception(std::exception_ptr* failure) {
  std::exception_ptr further = std::current_exception();
  if (*failure == nullptr) {
    *failure = std::move(further);
    return;
  }
  if (is_peer_failure(further) && !is_peer_failure(*failure)) std::swap(*failure, further);
  LCI_LOG(error, "one more exception in the same call of progress(), which throws another one: ",
          exception_text(further));
}

std::string exception_text(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace lci::rt
