#include "lci/base/error_text.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "lci/base/strings.h"

namespace lci::base {

std::string error_text(int error_number) {
  std::string text = std::generic_category().message(error_number);
  if (error_number == EMFILE) {
    rlimit limit = {};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    StrAppend(&text, " (EMFILE: this process may open ", limit.rlim_cur,
              "; raise the limit, ulimit -n)");
  } else if (error_number == ENFILE) {
    StrAppend(&text, " (ENFILE: a limit of the whole machine, fs.file-max)");
  }
  return text;
}

std::string start_error_text(int error_number) {
  std::string text = error_text(error_number);
  if (error_number == EAGAIN) {
    StrAppend(
        &text,
        " (processes and threads have a limit: ulimit -u, and pids.max of the control group)");
  }
  return text;
}

int missing_descriptor() {
  const int descriptor = ::open("/", O_PATH | O_CLOEXEC);
  if (descriptor < 0) return errno == EMFILE || errno == ENFILE ? errno : 0;
  ::close(descriptor);
  return 0;
}

std::string descriptor_hint() {
  const int error = missing_descriptor();
  return error == 0 ? "" : StrCat("; a common cause: ", error_text(error));
}

}  // namespace lci::base
