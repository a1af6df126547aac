#include "examples/rpc/rpc.h"

#include <array>
#include <exception>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "examples/rpc/backend.h"

namespace rpc {
namespace {

// The meaning of a message's tag. A call's tag is the index of the function; the RPC layer reserves
// a few tags.
//   call    call number, then the arguments
//   answer  call number, whether it failed, then the result, or the reason
//   leave   nothing: all threads of the sender are at the end of their thread_scope
constexpr uint32_t tag_answer = 0;
constexpr uint32_t tag_leave = 1;
constexpr uint32_t first_function = 2;

// Calls of this rank that have not been answered, by number. In parts, so that threads seldom meet.
class call_table {
 public:
  uint64_t add(std::shared_ptr<detail::pending> call) {
    const uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    part& place = part_of(number);
    const std::lock_guard<std::mutex> lock(place.mutex);
    place.calls.emplace(number, std::move(call));
    return number;
  }
  // Null if there is no such call.
  std::shared_ptr<detail::pending> take(uint64_t number) {
    part& place = part_of(number);
    const std::lock_guard<std::mutex> lock(place.mutex);
    const auto found = place.calls.find(number);
    if (found == place.calls.end()) return nullptr;
    std::shared_ptr<detail::pending> call = std::move(found->second);
    place.calls.erase(found);
    return call;
  }

 private:
  struct part {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::shared_ptr<detail::pending>> calls;
  };
  part& part_of(uint64_t number) { return parts_[number % parts_.size()]; }

  std::atomic<uint64_t> next_{0};
  std::array<part, 32> parts_;
};

struct state {
  int rank = 0;
  int ranks = 1;
  int threads = 1;
  std::vector<detail::procedure> procedures;  // by tag, less first_function
  call_table calls;
  // Over all rounds of thread_scopes, so that no round has to begin at zero while messages of the
  // one before or after it can come. A rank's second `leave` can't come before all its peers'
  // first.
  std::atomic<int64_t> left{0};    // threads
  std::atomic<int64_t> leaves{0};  // messages
  // LCI reports a rank that is gone to one thread; all others must stop waiting too.
  std::mutex failure_mutex;
  std::string failure;
  std::atomic<bool> failed{false};
};
std::unique_ptr<state> the_state;

// Runs a call into the backend. An exception of the call ends all waiting.
template <class Call>
auto guarded(Call&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    const std::lock_guard<std::mutex> lock(the_state->failure_mutex);
    the_state->failure = error.what();
    the_state->failed = true;
    throw;
  }
}

void check_failure() {
  if (!the_state->failed.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> lock(the_state->failure_mutex);
  throw std::runtime_error(the_state->failure);
}

// Makes progress by step() until done(). (There may be more threads than cores: the library's
// progress leaves the processor to others when nothing comes.)
template <class Done, class Step>
void wait_until(Done&& done, Step&& step) {
  while (!done()) {
    check_failure();
    step();
  }
}

void transmit(int to, uint32_t tag, writer content) {
  const size_t size = content.size();
  bytes memory = content.release();
  // Not progress(): running a function here could end up here again, ever deeper. Moving messages
  // into the queue is enough for room to be made.
  wait_until(
      [&] { return guarded([&] { return backend::send_msg(to, memory.get(), size, tag); }); },
      [] { return guarded(backend::do_background_work); });
  static_cast<void>(memory.release());  // the backend has it
}

void run_call(const backend::msg_t& incoming, reader* request) {
  const auto number = request->read<uint64_t>();
  const size_t index = incoming.tag - first_function;
  writer answer;
  answer.write(number);
  answer.write(false);  // it has not failed
  try {
    if (index >= the_state->procedures.size()) {
      throw bad_message("there is no function number " + std::to_string(index));
    }
    the_state->procedures[index](request, &answer);
  } catch (const std::exception& error) {
    answer = writer();
    answer.write(number);
    answer.write(true);
    answer.write(std::string(error.what()));
  }
  transmit(incoming.rank, tag_answer, std::move(answer));
}

void take_answer(const backend::msg_t& incoming, bytes memory, reader* answer) {
  const auto number = answer->read<uint64_t>();
  const auto failed = answer->read<bool>();
  const std::shared_ptr<detail::pending> call = the_state->calls.take(number);
  if (call == nullptr) {
    throw bad_message("rank " + std::to_string(incoming.rank) +
                      " answers a call that was not made: number " + std::to_string(number));
  }
  call->failed = failed;
  call->memory = std::move(memory);
  call->size = incoming.size;
  call->begin = sizeof(number) + sizeof(failed);
  call->rank = incoming.rank;
  call->answered.store(true, std::memory_order_release);
}

}  // namespace

void start(int threads) {
  the_state = std::make_unique<state>();
  the_state->threads = threads;
  backend::global_init(&the_state->rank, &the_state->ranks);
}

void stop() {
  backend::global_fina();
  the_state.reset();
}

int rank_me() { return the_state->rank; }
int rank_n() { return the_state->ranks; }

bool progress() {
  backend::msg_t incoming;
  if (!backend::poll_msg(&incoming)) return guarded(backend::do_background_work);
  bytes memory(static_cast<char*>(incoming.buf));
  reader content(incoming.buf, incoming.size);
  if (incoming.tag == tag_answer) {
    take_answer(incoming, std::move(memory), &content);
  } else if (incoming.tag == tag_leave) {
    ++the_state->leaves;
  } else {
    run_call(incoming, &content);
  }
  return true;
}

thread_scope::thread_scope() : exceptions_(std::uncaught_exceptions()) { backend::thread_init(); }

thread_scope::~thread_scope() noexcept(false) {
  if (std::uncaught_exceptions() > exceptions_) return;
  // The last of a round's threads speaks for the rank.
  const int64_t mine = the_state->left.fetch_add(1);
  const int64_t round = mine / the_state->threads;
  if (mine % the_state->threads == the_state->threads - 1) {
    for (int to = 0; to < the_state->ranks; ++to) transmit(to, tag_leave, writer());
  }
  wait_until([&] { return the_state->leaves >= (round + 1) * the_state->ranks; }, progress);
  backend::thread_fina();
}

namespace detail {

uint32_t add_procedure(procedure run) {
  the_state->procedures.push_back(std::move(run));
  return static_cast<uint32_t>(the_state->procedures.size() - 1) + first_function;
}

std::shared_ptr<pending> begin_call(writer* request) {
  auto call = std::make_shared<pending>();
  request->write(the_state->calls.add(call));
  return call;
}

void send_call(int rank, uint32_t index, writer request) {
  transmit(rank, index, std::move(request));
}

void wait(const pending& call) {
  wait_until([&] { return call.answered.load(std::memory_order_acquire); }, progress);
}

void wait_quietly(const pending& call) noexcept {
  try {
    wait(call);
  } catch (const std::exception&) {
    // Communication failed, which the next to wait or to send will report; there is nothing to wait
    // for any more.
  }
}

void rethrow(const pending& call) {
  reader reason(call.memory.get() + call.begin, call.size - call.begin);
  throw remote_error("on rank " + std::to_string(call.rank) + ": " + reason.read<std::string>());
}

}  // namespace detail
}  // namespace rpc
