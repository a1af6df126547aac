#include "lci/io/files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "gtest/gtest.h"
#include "lci/io/unique_fd.h"

namespace lci::io {
namespace {

TEST(Files, AFileIsReadWhole) {
  const std::string path = testing::TempDir() + "whole";
  std::string bytes(10000, 'x');
  bytes[5000] = '\0';
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(read_file(path), bytes);
  // Its size is not known in advance.
  EXPECT_NE(read_file("/proc/self/stat").value_or(""), "");
}

TEST(Files, TheBeginningOfAFileIsReadIntoABuffer) {
  const std::string path = testing::TempDir() + "beginning";
  std::ofstream(path, std::ios::binary) << "0123456789";
  char buffer[16];
  EXPECT_EQ(read_file(path.c_str(), buffer, sizeof buffer), "0123456789");
  EXPECT_EQ(read_file(path.c_str(), buffer, 10), "0123456789");
  EXPECT_EQ(read_file(path.c_str(), buffer, 4), "0123");
  EXPECT_EQ(read_file((path + "/no").c_str(), buffer, 4), std::nullopt);
  EXPECT_EQ(errno, ENOTDIR);
}

TEST(Files, ErrnoSaysWhyAFileIsNotRead) {
  EXPECT_EQ(read_file(testing::TempDir() + "no/such"), std::nullopt);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(read_file(testing::TempDir()), std::nullopt);
  EXPECT_EQ(errno, EISDIR);
}

TEST(Files, ADirectoryIsListedByPathAndByDescriptor) {
  const std::string path = testing::TempDir() + "listed";
  std::ofstream(path).flush();
  const unique_fd directory(::open(testing::TempDir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const auto& names : {list_directory(testing::TempDir()), list_directory(directory.get()),
                            list_directory(directory.get())}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), "listed"), 1);
  }
  EXPECT_TRUE(list_directory(path).empty());
  EXPECT_EQ(errno, ENOTDIR);
}

}  // namespace
}  // namespace lci::io
