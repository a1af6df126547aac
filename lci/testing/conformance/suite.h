// Holds a backend to the sentences of backend.h. A backend's own test makes a factory and says
//   INSTANTIATE_TEST_SUITE_P(Shm, Conformance, testing::Values(backend_under_test{...}));
// The ranks are threads of the test, or processes that it forks off, each with a context of its
// own.
#ifndef LCI_TESTING_CONFORMANCE_SUITE_H_
#define LCI_TESTING_CONFORMANCE_SUITE_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "lci/net/backend.h"

namespace lci::net::conformance {

struct backend_under_test {
  const char* name;
  const backend_entry* entry;
  int ranks;
  // Ranks are processes of their own, and may be killed; else threads of the test.
  bool processes = false;
  context_config config = {};
  size_t coalescing_size = device_config().coalescing_size;
  bool connects_late = false;  // a rank that was never posted to can be once both have polled
  bool notifies = false;       // who asks for it can sleep on descriptors that tell of everything
};

// What one rank of a test has.
struct rank_under_test {
  int rank;
  int ranks;
  boot::bootstrap& boot;
  context& network;
  device& dev;  // of number 0

  // All ranks come here, with no use of the network.
  void meet();
  // The same, but polls meanwhile (completions to `use`): another rank may need that to finish.
  void meet_polling(const std::function<void(const completion&)>& use);
  // Polls until `done()`; every completion goes to `use`, and receptions are released behind it.
  void poll_until(const std::function<bool()>& done,
                  const std::function<void(const completion&)>& use);
  // Posts until it is not a retry, polling meanwhile (completions to `use`).
  error_t post(const op& operation, const std::function<void(const completion&)>& use);

  // What each rank has given for `mine`, by rank. All ranks come here.
  template <class T>
  std::vector<T> exchange(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<size_t>(ranks));
    exchange(&mine, sizeof(T), all.data());
    return all;
  }

  // Where ranks connect late, all have when it returns; with no message under way.
  void connect();

  // Marks the test as skipped, for a reason that is a string literal. Every rank calls it, and then
  // leaves its body.
  void skip(const char* reason);

  int meetings = 0;
  int exchanges = 0;

 private:
  void exchange(const void* mine, size_t size, void* all);
};

class Conformance : public testing::TestWithParam<backend_under_test> {
 public:
  // Runs body as every rank and ends all devices together. Expects that all come to their end.
  void run(const std::function<void(rank_under_test&)>& body);
  // The same, but `victims` ranks do not.
  void run_processes(int victims, const std::function<void(rank_under_test&)>& body);
};

inline std::string to_text(const backend_under_test& backend) {
  return std::string(backend.name) + std::to_string(backend.ranks) +
         (backend.processes ? "Processes" : "Threads");
}
inline std::string name_of(const testing::TestParamInfo<backend_under_test>& info) {
  return to_text(info.param);
}
// Found by GoogleTest, which would print the bytes.
inline void PrintTo(const backend_under_test& backend, std::ostream* out) {
  *out << to_text(backend);
}

}  // namespace lci::net::conformance

#endif  // LCI_TESTING_CONFORMANCE_SUITE_H_
