// Where a log or a dump goes, as the environment names it.
#ifndef LCT_OUTPUT_FILE_H_
#define LCT_OUTPUT_FILE_H_

#include <cstdio>

namespace lct {

// An open file, or one of the standard streams. Not copyable.
//
// Thread safety: construction and destruction by one thread; the stream locks itself.
class output_file {
 public:
  // `name` is "stderr" (also if null or empty), "stdout", or a path to append to, in which the
  // first % stands for the rank. A file that cannot be opened is reported on stderr in the name of
  // `user`, and stderr takes its place.
  output_file(const char* name, const char* user);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  FILE* stream() const { return stream_; }

 private:
  FILE* stream_;
};

}  // namespace lct

#endif  // LCT_OUTPUT_FILE_H_
