// A file that LCT writes in a test, and environment variables with a scope.
#ifndef LCT_TESTING_TEST_FILE_H_
#define LCT_TESTING_TEST_FILE_H_

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lct {

// A path in the test's own directory. The file does not exist at first.
class test_file {
 public:
  explicit test_file(const std::string& name) : path_(testing::TempDir() + name) {
    std::remove(path_.c_str());
  }
  ~test_file() { std::remove(path_.c_str()); }
  test_file(const test_file&) = delete;
  test_file& operator=(const test_file&) = delete;

  const std::string& path() const { return path_; }

  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  const std::string path_;
};

// Sets an unset variable during its lifetime.
class test_env {
 public:
  test_env(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~test_env() { ::unsetenv(name_); }
  test_env(const test_env&) = delete;
  test_env& operator=(const test_env&) = delete;

 private:
  const char* const name_;
};

}  // namespace lct

#endif  // LCT_TESTING_TEST_FILE_H_
