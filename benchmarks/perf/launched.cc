#include "benchmarks/perf/launched.h"

#include <sys/wait.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "gtest/gtest.h"

namespace perf {

outcome run_command(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  outcome result;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    result.text.append(buffer, n);
  }
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

outcome run_launched(int ranks, const std::string& program, const std::string& arguments) {
  // Without lcrun's warning of more ranks than processors, which would be among the lines.
  return run_command("tools/launcher/lcrun --oversubscribe -n " + std::to_string(ranks) +
                     " --timeout 100 " + program + " " + arguments);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

json_object::json_object(const std::string& text) : text_(text) {
  expect('{');
  while (good_) {
    const std::string key = read_text();
    expect(':');
    skip_spaces();
    EXPECT_EQ(values_.count(key), 0U) << key << " twice in " << text_;
    values_[key] = peek() == '"' ? read_text() : peek() == '[' ? read_list() : read_plain();
    skip_spaces();
    if (peek() != ',') break;
    ++at_;
  }
  expect('}');
  skip_spaces();
  if (at_ != text_.size()) fail();
}

const std::string& json_object::text(const std::string& key) const {
  static const std::string none;
  const auto found = values_.find(key);
  EXPECT_NE(found, values_.end()) << "no " << key << " in " << text_;
  return found == values_.end() ? none : found->second;
}

double json_object::number(const std::string& key) const {
  const std::string& written = text(key);
  char* end = nullptr;
  const double value = std::strtod(written.c_str(), &end);
  EXPECT_TRUE(!written.empty() && *end == 0) << key << " is no number in " << text_;
  return value;
}

void json_object::skip_spaces() {
  while (peek() == ' ') ++at_;
}

void json_object::fail() {
  if (good_) ADD_FAILURE() << "not JSON from character " << at_ << " on: " << text_;
  good_ = false;
}

void json_object::expect(char wanted) {
  skip_spaces();
  if (peek() == wanted) {
    ++at_;
  } else {
    fail();
  }
}

std::string json_object::read_text() {
  std::string result;
  expect('"');
  for (; good_ && peek() != '"'; ++at_) {
    if (at_ >= text_.size()) fail();
    if (peek() == '\\') ++at_;
    result += peek();
  }
  expect('"');
  return result;
}

std::string json_object::read_plain() {
  const size_t from = at_;
  while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '.' || peek() == '-' ||
         peek() == '+') {
    ++at_;
  }
  if (at_ == from) fail();
  return text_.substr(from, at_ - from);
}

std::string json_object::read_list() {
  const size_t from = at_;
  expect('[');
  while (good_ && peek() != ']') {
    skip_spaces();
    read_plain();
    skip_spaces();
    if (peek() != ',') break;
    ++at_;
  }
  expect(']');
  return text_.substr(from, at_ - from);
}

std::vector<double> json_object::numbers(const std::string& key) const {
  std::vector<double> result;
  std::string written = text(key);
  for (char& c : written) {
    if (c == '[' || c == ']' || c == ',') c = ' ';
  }
  std::istringstream stream(written);
  for (double value; stream >> value;) result.push_back(value);
  return result;
}

}  // namespace perf
