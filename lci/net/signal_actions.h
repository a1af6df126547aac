#ifndef LCI_NET_SIGNAL_ACTIONS_H_
#define LCI_NET_SIGNAL_ACTIONS_H_

#include <csignal>
#include <vector>

namespace lci::net {

// Keeps the signal actions of the process through calls of a library that may change them: some
// providers of libfabric (psm, psm2) install handlers for SIGSEGV, SIGABRT, SIGTERM and others when
// they are loaded, which end the process with an exit code. Actions that have changed are restored
// at destruction, as those of the program. A signal that arrives meanwhile is kept until then, so
// that the program's action takes it: all signals but those of faults are blocked in the thread
// that makes the object, and in the threads that the library starts there.
//
// Thread safety: made and destroyed by one thread. While an object lives, no other thread may set
// signal actions: they might be lost. A signal that another thread takes meanwhile is not kept.
class signal_actions {
 public:
  signal_actions();
  ~signal_actions();
  signal_actions(const signal_actions&) = delete;
  signal_actions& operator=(const signal_actions&) = delete;

 private:
  struct known {
    int signal;
    struct sigaction action;
  };
  std::vector<known> before_;
  sigset_t mask_before_;
};

}  // namespace lci::net

#endif  // LCI_NET_SIGNAL_ACTIONS_H_
