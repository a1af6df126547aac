#include <time.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lct.h"
#include "lct/testing/test_file.h"

namespace lct {
namespace {

using testing::HasSubstr;

TEST(text, replaces_one_or_all) {
  EXPECT_STREQ(LCT_str_replace_one("a-b-c", "-", "+"), "a+b-c");
  EXPECT_STREQ(LCT_str_replace_one("abc", "-", "+"), "abc");
  EXPECT_STREQ(LCT_str_replace_all("a-b-c", "-", "--"), "a--b--c");
  EXPECT_STREQ(LCT_str_replace_all("aaa", "aa", "b"), "ba");
  EXPECT_STREQ(LCT_str_replace_all("abc", "", "x"), "abc");
  EXPECT_THROW(LCT_str_replace_one("abc", "b", nullptr), std::runtime_error);
}

TEST(text, results_belong_to_their_thread) {
  const char* const mine = LCT_str_replace_one("a", "a", "mine");
  std::thread([] { LCT_str_replace_one("a", "a", "theirs"); }).join();
  EXPECT_STREQ(mine, "mine");
}

TEST(text, a_dictionary_is_searched) {
  LCT_dict_str_int_t dict[] = {{nullptr, 1}, {"send", 2}, {"recv", 3}};
  const int count = static_cast<int>(std::size(dict));
  int value = 0;
  EXPECT_EQ(LCT_str_int_search(dict, count, "recv", 9, &value), 1);
  EXPECT_EQ(value, 3);
  EXPECT_EQ(LCT_str_int_search(dict, count, nullptr, 9, &value), 1);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(LCT_str_int_search(dict, count, "put", 9, &value), 0);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(LCT_str_int_search(dict + 1, count - 1, nullptr, 8, &value), 0);
  EXPECT_EQ(value, 8);
}

TEST(text, words_are_combined_and_unknown_ones_named) {
  LCT_dict_str_int_t dict[] = {{"send", 1}, {"recv", 2}, {"poll", 4}};
  EXPECT_EQ(LCT_parse_arg(dict, 3, "send,poll", ","), 5u);
  EXPECT_EQ(LCT_parse_arg(dict, 3, "send::recv::poll", "::"), 7u);
  EXPECT_EQ(LCT_parse_arg(dict, 3, "recv", ""), 2u);
  EXPECT_EQ(LCT_parse_arg(dict, 3, "recv", nullptr), 2u);
  EXPECT_EQ(LCT_parse_arg(dict, 3, nullptr, ","), 0u);
  testing::internal::CaptureStderr();
  EXPECT_EQ(LCT_parse_arg(dict, 3, "recv,put", ","), 2u);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("'put' of 'recv,put'"));
}

TEST(time, goes_forward_in_nanoseconds) {
  const auto clock = [] {
    struct timespec now {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return LCT_time_t{now.tv_sec} * 1000000000 + now.tv_nsec;
  };
  const LCT_time_t begin = clock();
  const LCT_time_t now = LCT_now();
  EXPECT_GE(now, begin);
  EXPECT_LE(now, clock());
  EXPECT_EQ(LCT_time_to_ns(1500000), 1500000);
  EXPECT_EQ(LCT_time_to_us(1500000), 1500);
  EXPECT_EQ(LCT_time_to_ms(1500000), 1.5);
  EXPECT_EQ(LCT_time_to_s(1500000), 0.0015);
}

TEST(thread_id, is_counted_up) {
  const int mine = LCT_get_thread_id();
  EXPECT_EQ(LCT_get_thread_id(), mine);
  const int threads = LCT_get_nthreads();
  EXPECT_GT(threads, mine);
  int theirs = -1;
  std::thread([&] { theirs = LCT_get_thread_id(); }).join();
  EXPECT_EQ(theirs, threads);
  EXPECT_EQ(LCT_get_nthreads(), threads + 1);
}

TEST(rank, is_what_was_set) {
  EXPECT_EQ(LCT_get_rank(), -1);
  LCT_set_rank(5);
  EXPECT_EQ(LCT_get_rank(), 5);
  EXPECT_EQ(LCT_rank, 5);
  LCT_set_rank(-1);
}

TEST(read_file, gives_the_beginning) {
  const test_file file("file7");
  std::ofstream(file.path()) << "some text";
  char buffer[16];
  std::fill(std::begin(buffer), std::end(buffer), 'x');
  EXPECT_EQ(LCT_read_file(buffer, sizeof(buffer), "%s%s%d", testing::TempDir().c_str(), "file", 7),
            9);
  EXPECT_EQ(std::string(buffer, sizeof(buffer)), std::string("some text") + std::string(7, '\0'));
  EXPECT_EQ(LCT_read_file(buffer, 5, "%s", file.path().c_str()), 4);
  EXPECT_STREQ(buffer, "some");
}

TEST(read_file, says_why_not) {
  char buffer[4];
  errno = 0;
  EXPECT_EQ(LCT_read_file(buffer, sizeof(buffer), "%s/none", testing::TempDir().c_str()), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(LCT_read_file(buffer, 0, "%s", "/dev/null"), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(LCT_read_file(buffer, sizeof(buffer), "%s", std::string(PATH_MAX, 'x').c_str()), -1);
  EXPECT_EQ(errno, ENAMETOOLONG);
  EXPECT_EQ(LCT_read_file(buffer, sizeof(buffer), "%s", "/"), -1);
  EXPECT_EQ(errno, EISDIR);
}

}  // namespace
}  // namespace lct
