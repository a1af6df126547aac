#include "lct/output_file.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "lct/lct.h"

namespace lct {
namespace {

FILE* open_stream(const char* name, const char* user) {
  if (name == nullptr || *name == '\0' || std::strcmp(name, "stderr") == 0) return stderr;
  if (std::strcmp(name, "stdout") == 0) return stdout;
  std::string path = name;
  const size_t rank = path.find('%');
  if (rank != std::string::npos) path.replace(rank, 1, std::to_string(LCT_get_rank()));
  FILE* const file = std::fopen(path.c_str(), "ae");
  if (file != nullptr) return file;
  std::fprintf(stderr, "%s: cannot open the output file %s: %s; the output goes to stderr\n", user,
               path.c_str(), std::strerror(errno));
  return stderr;
}

}  // namespace

output_file::output_file(const char* name, const char* user) : stream_(open_stream(name, user)) {}

output_file::~output_file() {
  if (stream_ == stderr || stream_ == stdout) {
    std::fflush(stream_);
  } else {
    std::fclose(stream_);
  }
}

}  // namespace lct
