#include "lci/net/signal_actions.h"

namespace lci::net {
namespace {

// Of the members, the first two are one.
bool are_equal(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_sigaction == b.sa_sigaction && a.sa_flags == b.sa_flags;
}

}  // namespace

signal_actions::signal_actions() {
  sigset_t kept;
  sigfillset(&kept);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    sigdelset(&kept, fault);
  }
  pthread_sigmask(SIG_BLOCK, &kept, &mask_before_);
  // Fails for the C library's own signals.
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) == 0) before_.push_back({signal, now});
  }
}

signal_actions::~signal_actions() {
  for (const known& each : before_) {
    struct sigaction now = {};
    if (sigaction(each.signal, nullptr, &now) != 0 || are_equal(now, each.action)) continue;
    sigaction(each.signal, &each.action, nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace lci::net
