// Output file of a log or a dump, as named by the environment.
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
  // first % is replaced by the rank. If a file cannot be opened, an error that begins with `user`
  // is printed to stderr, and stderr is used instead.
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
