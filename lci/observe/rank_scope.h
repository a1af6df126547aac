// The rank that the calling thread works for, in a process that runs several ranks.
#ifndef LCI_OBSERVE_RANK_SCOPE_H_
#define LCI_OBSERVE_RANK_SCOPE_H_

namespace lci::observe {

// The rank of every thread of a process that is one rank, which needs no scope.
constexpr int only_rank = -1;

namespace internal {
inline thread_local int rank_of_thread = only_rank;
}

inline int rank_of_this_thread() { return internal::rank_of_thread; }

// While one lives, the calling thread works for `rank`: the subjects that it registers and the
// calls in which it waits belong to that rank, and an observer that it starts reports no others.
// For processes whose threads are the ranks of a job (boot/in_process.h). Scopes may be nested; a
// thread that is started within one has to enter its own.
class rank_scope {
 public:
  explicit rank_scope(int rank) : before_(internal::rank_of_thread) {
    internal::rank_of_thread = rank;
  }
  ~rank_scope() { internal::rank_of_thread = before_; }
  rank_scope(const rank_scope&) = delete;
  rank_scope& operator=(const rank_scope&) = delete;

 private:
  const int before_;
};

}  // namespace lci::observe

#endif  // LCI_OBSERVE_RANK_SCOPE_H_
