#include "lci/io/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "gtest/gtest.h"
#include "lci/io/unique_fd.h"

namespace lci::io {
namespace {

std::string new_directory() {
  std::string path = testing::TempDir() + "files-XXXXXX";
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  return path;
}

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

TEST(Files, APrivateFileIsReplacedAsAWhole) {
  const std::string path = new_directory() + "/private";
  ASSERT_TRUE(write_private_file(path, "secret"));
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const unique_fd before(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(write_private_file(path, "other"));
  EXPECT_EQ(read_file(before.get()), "secret");
  EXPECT_EQ(read_file(path), "other");
  EXPECT_FALSE(write_private_file(path, "third", existing_file::keep));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(read_file(path), "other");
  ASSERT_TRUE(write_private_file(path + "2", "third", existing_file::keep));
  EXPECT_EQ(read_file(path + "2"), "third");
  EXPECT_EQ(list_directory(path.substr(0, path.rfind('/'))).size(), 4u);  // also "." and ".."
}

TEST(Files, AFileThatCannotBeWrittenLeavesNothing) {
  EXPECT_FALSE(write_private_file(testing::TempDir() + "no/such", "x"));
  EXPECT_EQ(errno, ENOENT);
  // A directory is in the place of the file.
  const std::string directory = new_directory();
  ASSERT_EQ(::mkdir((directory + "/taken").c_str(), 0700), 0);
  EXPECT_FALSE(write_private_file(directory + "/taken", "x"));
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(list_directory(directory).size(), 3u);  // also "." and ".."
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
