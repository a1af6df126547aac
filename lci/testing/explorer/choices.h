// Source of a schedule: every decision of a run is one number that is requested here, so that the
// numbers are the schedule.
#ifndef LCI_TESTING_EXPLORER_CHOICES_H_
#define LCI_TESTING_EXPLORER_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lci::ds::explorer {

enum class choice_kind {
  preempt,  // 0: the thread continues; otherwise another thread does
  next,     // which thread continues when this one cannot
  read,     // 0: the newest value; otherwise an older one that the memory orders allow
};

// Thread safety: none.
class choices {
 public:
  virtual ~choices() = default;

  // Begins a run. Returns false if no run is left.
  virtual bool next_run() = 0;
  // Returns a number below `count`, which is at least 2.
  size_t choose(choice_kind kind, size_t count);

  // The numbers of this run so far, in the format of replay_choices: "<position>:<number>" for each
  // number that is not 0.
  std::string schedule() const;

 protected:
  virtual size_t decide(choice_kind kind, size_t count) = 0;
  // Must be called by next_run.
  void begin() { made_.clear(); }
  const std::vector<size_t>& made() const { return made_; }

 private:
  std::vector<size_t> made_;
};

// Every sequence of choices once, depth first, except for those that exceed the limits on
// preemptions or old values: most errors need few (Musuvathi and Qadeer, "Iterative context
// bounding for systematic testing of multithreaded programs", PLDI 2007).
class all_choices : public choices {
 public:
  all_choices(size_t preemptions, size_t old_reads)
      : most_preemptions_(preemptions), most_old_reads_(old_reads) {}
  bool next_run() override;

 protected:
  size_t decide(choice_kind kind, size_t count) override;

 private:
  struct decision {
    choice_kind kind;
    size_t number;
    size_t count;
  };

  const size_t most_preemptions_;
  const size_t most_old_reads_;
  std::vector<decision> path_;  // of the last run; then the part of it to repeat
  size_t position_ = 0;
  size_t preemptions_ = 0;
  size_t old_reads_ = 0;
  bool begun_ = false;
};

// An endless sequence of runs, each with its own seed.
class random_choices : public choices {
 public:
  explicit random_choices(uint64_t seed) : seed_(seed) {}
  bool next_run() override;

 protected:
  size_t decide(choice_kind kind, size_t count) override;

 private:
  uint64_t seed_;
  std::mt19937_64 random_;
  unsigned preempt_percent_ = 0;  // differs between runs: errors need few or many
};

// Repeats one run, given its schedule().
class replay_choices : public choices {
 public:
  // Throws std::invalid_argument if the text is not a schedule.
  explicit replay_choices(const std::string& schedule);
  bool next_run() override;

 protected:
  size_t decide(choice_kind kind, size_t count) override;

 private:
  std::vector<size_t> numbers_;  // beyond them: 0
  bool done_ = false;
};

}  // namespace lci::ds::explorer

#endif  // LCI_TESTING_EXPLORER_CHOICES_H_
