#include "lci/boot/meeting_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/base/strings.h"
#include "lci/io/files.h"
#include "lci/testing/job/test_job.h"

namespace lci::boot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const server_place somewhere = {{"10.0.0.1:5000", "[2001:db8::1]:5000"}, "0123abcd"};

TEST(meeting_file, is_read_as_it_was_written) {
  const std::string path = new_directory() + "/a/b/start-job";
  const base::StatusOr<server_place> none = read_meeting_file(path);
  EXPECT_TRUE(base::IsUnavailable(none.status())) << none.status();
  EXPECT_THAT(std::string(none.status().message()), HasSubstr(path));
  ASSERT_TRUE(write_meeting_file(path, somewhere).ok());
  const base::StatusOr<server_place> found = read_meeting_file(path);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->addresses, somewhere.addresses);
  EXPECT_EQ(found->token, somewhere.token);
  // Rank 0 has started anew.
  ASSERT_TRUE(write_meeting_file(path, {{"10.0.0.2:6000"}, "other"}).ok());
  EXPECT_THAT(read_meeting_file(path)->addresses, ElementsAre("10.0.0.2:6000"));
  EXPECT_TRUE(base::IsAlreadyExists(write_meeting_file(path, somewhere, io::existing_file::keep)));
  EXPECT_EQ(read_meeting_file(path)->token, "other");
}

TEST(meeting_file, is_removed_by_the_one_to_whom_it_leads) {
  const std::string path = new_directory() + "/start-job";
  ASSERT_TRUE(write_meeting_file(path, somewhere).ok());
  remove_meeting_file(path, "other");
  EXPECT_TRUE(read_meeting_file(path).ok());
  remove_meeting_file(path, somewhere.token);
  EXPECT_TRUE(base::IsUnavailable(read_meeting_file(path).status()));
}

TEST(meeting_file, is_for_its_owner_only) {
  const std::string path = new_directory() + "/own/start-job";
  ASSERT_TRUE(write_meeting_file(path, somewhere).ok());
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(path.substr(0, path.rfind('/')).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  // A user who can write the file could name another server.
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_TRUE(base::IsPermissionDenied(read_meeting_file(path).status()));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_TRUE(read_meeting_file(path).ok());
}

TEST(meeting_file, is_no_link_no_directory_and_no_other_text) {
  const std::string directory = new_directory();
  const std::string path = directory + "/start-job";
  ASSERT_TRUE(write_meeting_file(directory + "/target", somewhere).ok());
  ASSERT_EQ(::symlink("target", path.c_str()), 0);
  EXPECT_FALSE(read_meeting_file(path).ok());
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  EXPECT_FALSE(read_meeting_file(path).ok());
  ASSERT_EQ(::rmdir(path.c_str()), 0);
  for (const char* text : {"", "\n", "LCI job 1", "LCI job 1\ntoken\n", "LCI job 2\ntoken\nh:1\n",
                           "another text\nof\nthree\nlines\n"}) {
    ASSERT_TRUE(io::write_private_file(path, text));
    EXPECT_TRUE(base::IsDataLoss(read_meeting_file(path).status())) << text;
  }
}

TEST(meeting_file, says_why_it_cannot_be_written) {
  const std::string directory = new_directory();
  std::ofstream(directory + "/file").flush();
  const base::Status status = write_meeting_file(directory + "/file/start-job", somewhere);
  EXPECT_TRUE(base::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/file/start-job: Not a directory"));
}

TEST(meeting_file, what_killed_jobs_have_left_goes_with_time) {
  const std::string directory = new_directory();
  for (const char* name : {"/start-old", "/start-new", "/other"}) {
    ASSERT_TRUE(io::write_private_file(directory + name, "x"));
  }
  const timespec long_ago[] = {{1000, 0}, {1000, 0}};
  for (const char* name : {"/start-old", "/other"}) {
    ASSERT_EQ(::utimensat(AT_FDCWD, (directory + name).c_str(), long_ago, 0), 0);
  }
  ASSERT_TRUE(write_meeting_file(directory + "/start-job", somewhere).ok());
  std::vector<std::string> names = io::list_directory(directory);
  EXPECT_THAT(names, testing::UnorderedElementsAre(".", "..", "start-new", "other", "start-job"));
}

TEST(meeting_path, is_in_the_home_directory_or_where_the_user_says) {
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(meeting_path("", "job").value(), "/home/somebody/.cache/lci/start-job");
  EXPECT_EQ(meeting_path("/shared", "job").value(), "/shared/start-job");
  // The server removes the file, and has another working directory.
  const std::string here = new_directory();
  ASSERT_EQ(::chdir(here.c_str()), 0);
  char* const resolved = ::realpath(here.c_str(), nullptr);
  EXPECT_EQ(meeting_path("shared", "job").value(), base::StrCat(resolved, "/shared/start-job"));
  ::free(resolved);
  ::unsetenv("HOME");
  const base::Status status = meeting_path("", "job").status();
  EXPECT_TRUE(base::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("LCI_BOOT_DIR"));
}

}  // namespace
}  // namespace lci::boot
