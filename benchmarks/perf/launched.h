// Programs that ranks run, as their users meet them: for tests.
#ifndef BENCHMARKS_PERF_LAUNCHED_H_
#define BENCHMARKS_PERF_LAUNCHED_H_

#include <map>
#include <string>
#include <vector>

namespace perf {

struct outcome {
  int code = -1;
  std::string text;  // what it printed, errors included
};

// By the shell.
outcome run_command(const std::string& command);
// Starts it with lcrun, which must be among the test's data.
outcome run_launched(int ranks, const std::string& program, const std::string& arguments);

std::vector<std::string> lines_of(const std::string& text);

// A JSON object of texts, numbers, truth values and lists of numbers, which are kept as they are
// written (texts without their quotes). Strict: anything else fails the test.
class json_object {
 public:
  explicit json_object(const std::string& text);

  const std::string& text(const std::string& key) const;
  double number(const std::string& key) const;
  std::vector<double> numbers(const std::string& key) const;

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces();
  void fail();
  void expect(char wanted);
  std::string read_text();
  std::string read_plain();
  std::string read_list();

  const std::string text_;
  size_t at_ = 0;
  bool good_ = true;
  std::map<std::string, std::string> values_;
};

}  // namespace perf

#endif  // BENCHMARKS_PERF_LAUNCHED_H_
