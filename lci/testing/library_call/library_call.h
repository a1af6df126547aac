// For tests: marks calls of a double that is linked into the program in place of a library.
#ifndef LCI_TESTING_LIBRARY_CALL_LIBRARY_CALL_H_
#define LCI_TESTING_LIBRARY_CALL_LIBRARY_CALL_H_

namespace lci::base {

// During its lifetime, work of the calling thread counts as work of a library (write_watch.h).
class library_call {
 public:
  library_call() { ++depth(); }
  ~library_call() { --depth(); }
  library_call(const library_call&) = delete;
  library_call& operator=(const library_call&) = delete;

  // Whether one is alive in the calling thread.
  static bool is_under_way() { return depth() > 0; }

 private:
  static int& depth() {
    static thread_local int of_thread = 0;
    return of_thread;
  }
};

}  // namespace lci::base

#endif  // LCI_TESTING_LIBRARY_CALL_LIBRARY_CALL_H_
