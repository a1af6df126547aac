// Remote procedure calls: the upper layer of the LCI paper's example (SC'25, section 4.2), over
// backend.h.
//
//   int64_t add(int64_t a, int64_t b) { return a + b; }
//
//   rpc::start(threads);                                 // once, on all ranks
//   const auto remote_add = rpc::register_function(add);  // on all ranks, in the same order
//   { rpc::thread_scope scope;                           // in each of the threads
//     rpc::future<int64_t> sum = remote_add.call(3, 1, 2);  // runs add(1, 2) on rank 3
//     ... sum.get() ...                                  // makes progress until it is there
//   }                                                    // waits for all threads of all ranks
//   rpc::stop();
//
// A function may do everything, also call others and wait for them; unlike an active message
// handler it runs in an ordinary thread, one that is waiting in get() or called progress(). Its
// exception comes out of get() as remote_error.
#ifndef EXAMPLES_RPC_RPC_H_
#define EXAMPLES_RPC_RPC_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "examples/rpc/archive.h"

namespace rpc {

// A function threw on another rank; the message is that of what it threw, with the rank.
class remote_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Starts communication. All ranks call it, with the same number of threads that will have a
// thread_scope at the same time.
void start(int threads);
// Ends it. All ranks call it, when no thread has a thread_scope.
void stop();

int rank_me();
int rank_n();

// Lets this thread communicate. Its destructor waits until every thread of every rank has reached
// the end of its own scope, and answers calls meanwhile: until then a call may arrive. A thread
// that leaves by an exception does not wait, since others may never come; the process is expected
// to end.
class thread_scope {
 public:
  thread_scope();
  ~thread_scope() noexcept(false);
  thread_scope(const thread_scope&) = delete;
  thread_scope& operator=(const thread_scope&) = delete;

 private:
  int exceptions_;
};

// Runs what other ranks have called here, and moves communication forward. True if there was
// anything to do. For threads that compute for long; waiting for a future does it too.
bool progress();

namespace detail {

// A call that has not been answered.
struct pending {
  std::atomic<bool> answered{false};
  // Valid when answered:
  bool failed = false;
  bytes memory;  // the whole answer
  size_t size = 0;
  size_t begin = 0;  // of the result in it
  int rank = -1;     // who answered
};

// A registered function with its arguments still in bytes; writes the result.
using procedure = std::function<void(reader*, writer*)>;

uint32_t add_procedure(procedure run);
std::shared_ptr<pending> begin_call(writer* request);
void send_call(int rank, uint32_t index, writer request);
void wait(const pending& call);
void wait_quietly(const pending& call) noexcept;
[[noreturn]] void rethrow(const pending& call);

}  // namespace detail

// The result of a call, which may not be there yet. Movable. Its destructor waits for the answer if
// nothing else has. A function is therefore answered only after all functions that it called, and
// no call is under way when all threads have reached the end of their thread_scope.
template <class R>
class future {
 public:
  explicit future(std::shared_ptr<detail::pending> call) : call_(std::move(call)) {}
  ~future() {
    if (call_ != nullptr) detail::wait_quietly(*call_);
  }
  future(future&&) = default;
  future& operator=(future&&) = delete;

  bool is_ready() const { return call_->answered.load(std::memory_order_acquire); }

  // Makes progress until the result is there, and returns it; once. Throws remote_error,
  // bad_message, and what communication throws.
  R get() {
    detail::wait(*call_);
    if (call_->failed) detail::rethrow(*call_);
    reader result(call_->memory.get() + call_->begin, call_->size - call_->begin);
    if constexpr (std::is_void_v<R>) {
      result.finish();
    } else {
      R value = result.read<R>();
      result.finish();
      return value;
    }
  }

 private:
  std::shared_ptr<detail::pending> call_;
};

// A function that can be called on other ranks.
template <class Signature>
class function;
template <class R, class... Args>
class function<R(Args...)> {
 public:
  explicit function(uint32_t index) : index_(index) {}

  // Calls it on `rank`, which may be this one. Returns when the arguments have been taken. Any
  // thread with a thread_scope, also from inside a function.
  future<R> call(int rank, const std::decay_t<Args>&... args) const {
    writer request;
    std::shared_ptr<detail::pending> answer = detail::begin_call(&request);
    (request.write(args), ...);
    detail::send_call(rank, index_, std::move(request));
    return future<R>(std::move(answer));
  }

 private:
  uint32_t index_;
};

// Between start() and the first thread_scope; on all ranks in the same order.
template <class R, class... Args>
function<R(Args...)> register_function(R (*run)(Args...)) {
  return function<R(Args...)>(detail::add_procedure([run](reader* request, writer* result) {
    // In braces, so that they are read from left to right.
    std::tuple<std::decay_t<Args>...> args{request->read<std::decay_t<Args>>()...};
    request->finish();
    if constexpr (std::is_void_v<R>) {
      static_cast<void>(result);
      std::apply(run, std::move(args));
    } else {
      result->write(std::apply(run, std::move(args)));
    }
  }));
}

}  // namespace rpc

#endif  // EXAMPLES_RPC_RPC_H_
