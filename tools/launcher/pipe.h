#ifndef LCI_TOOLS_LAUNCHER_PIPE_H_
#define LCI_TOOLS_LAUNCHER_PIPE_H_

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "lci/base/status.h"
#include "lci/io/unique_fd.h"

namespace lci::launcher {

struct pipe_ends {
  io::unique_fd read;
  io::unique_fd write;
};

// Makes a pipe that exec closes. The error begins with `what`.
inline base::StatusOr<pipe_ends> make_pipe(std::string_view what) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::ErrnoToStatus(errno, what);
  return pipe_ends{io::unique_fd(ends[0]), io::unique_fd(ends[1])};
}

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_PIPE_H_
