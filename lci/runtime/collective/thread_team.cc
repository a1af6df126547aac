#include "lci/runtime/collective/thread_team.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "lci/api/coll.hpp"
#include "lci/api/group.hpp"
#include "lci/api/thread_team.hpp"
#include "lci/base/copy.h"
#include "lci/base/strings.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/wait.h"

namespace lci {

thread_team_impl_t::thread_team_impl_t(group_t meets, const std::vector<uint64_t>& threads,
                                       const thread_team_attr_t& attributes)
    : group(meets),
      attr(attributes),
      places(threads[static_cast<size_t>(meets.p_impl->place())]),
      barrier(places.size()),
      rank_(static_cast<size_t>(meets.p_impl->place())) {
  firsts_.push_back(0);
  for (const uint64_t each : threads) firsts_.push_back(firsts_.back() + each);
  attr.nthreads = places.size();
}

int thread_team_impl_t::rank_of(size_t number) const {
  return static_cast<int>(std::upper_bound(firsts_.begin(), firsts_.end(), number) -
                          firsts_.begin()) -
         1;
}

namespace rt {
namespace {

// Up to so many bytes, one thread combines or copies for all: it takes less time than to meet once
// more.
constexpr size_t most_by_one = 4096;

thread_team_impl_t& checked_team(thread_team_t team, const char* call) {
  return checked_object(team, call, "thread team");
}

// For reports: a literal.
const char* name_in_team(coll::operation_kind kind) {
  switch (kind) {
    case coll::operation_kind::barrier:
      return "barrier of a thread team";
    case coll::operation_kind::broadcast:
      return "broadcast of a thread team";
    case coll::operation_kind::reduce:
      return "reduce of a thread team";
    default:
      return "allreduce of a thread team";
  }
}

using failure = thread_team_impl_t::failure;

template <class Act>
std::unique_ptr<const failure> failure_of(const Act& act) {
  const auto made = [](failure::kind what, int rank, const std::exception& error) {
    return std::make_unique<const failure>(failure{what, rank, error.what()});
  };
  try {
    act();
    return nullptr;
  } catch (const peer_failure_error& error) {
    return made(failure::kind::peer_failure, error.failed_rank(), error);
  } catch (const std::invalid_argument& error) {
    return made(failure::kind::invalid_argument, -1, error);
  } catch (const std::exception& error) {
    return made(failure::kind::other, -1, error);
  }
}

}  // namespace

thread_call::thread_call(thread_team_t team, size_t thread, coll::operation_kind kind)
    : team_(checked_team(team, coll::name_of(kind))), thread_(thread), kind_(kind) {
  if (thread >= team_.threads()) {
    throw std::invalid_argument(base::StrCat("lci: ", name(), ": thread is ", thread,
                                             ", and this rank has ", team_.threads(),
                                             " in the thread team"));
  }
  check_may_wait({name()});
}

void thread_call::take_target(runtime_t runtime, device_t device, endpoint_t endpoint) {
  runtime_impl_t& owner = team_.group.p_impl->runtime;
  const bool names_nothing = device.is_empty() && endpoint.is_empty() && runtime.is_empty();
  const target found = resolve(names_nothing ? runtime_t(&owner) : runtime, device, endpoint);
  if (found.runtime != &owner) {
    throw std::invalid_argument(
        base::StrCat("lci: ", name(), ": the thread team belongs to another runtime"));
  }
  device_ = found.device;
}

void thread_call::refuse(bool is_set, const char* option) const {
  if (!is_set) return;
  throw std::invalid_argument(base::StrCat("lci: ", name(), ": the option ", option,
                                           " is given together with a thread team"));
}

int thread_call::ranks() const { return team_.group.p_impl->size(); }

// The operation of the ranks, which this thread calls for its own.
template <class Op>
Op thread_call::of_ranks(Op op) const {
  op.group(team_.group).device(device_t(device_));
  return op;
}

void thread_call::begin(const thread_team_impl_t::arguments& own) {
  thread_team_impl_t::place& place = team_.places[thread_];
  place.current = own;
  place.current.called.kind = kind_;
  ++place.calls;
}

// Meeting of the threads.

// All threads come here; the last one calls act().
template <class Act>
void thread_call::meet(const Act& act) {
  const ds::thread_barrier::arrival came = team_.barrier.arrive();
  if (came.round == 0) report_failed();
  if (came.is_last) {
    team_.failed = failure_of(act);
    team_.barrier.open(came.round);
  } else {
    wait(came.round);
  }
  // No thread writes to it before this thread has arrived again.
  check_success();
}

// Returns when the round is open. A rank that fails ends the wait for threads of this rank that
// have not come, and may never come. Once all have, the last one uses their buffers until it opens
// the round, which it does soon, as its own operation fails.
void thread_call::wait(uint64_t round) const {
  const group_impl_t& group = *team_.group.p_impl;
  ds::thread_barrier& barrier = team_.barrier;
  const auto done = [&] {
    if (barrier.is_open(round)) return true;
    if (__builtin_expect(group.first_failed() >= 0, 0)) barrier.break_off();
    return barrier.is_broken(round);
  };
  const bool oversubscribed = exceeds_processors(team_.all_threads());
  observe::wait_info what{name_in_team(kind_)};
  what.object = &barrier;
  what.read_object = [](const void* object, observe::rank_report::wait* reported) {
    const auto& meeting = *static_cast<const ds::thread_barrier*>(object);
    reported->threads_came = meeting.present();
    reported->threads_needed = meeting.threads();
  };
  deferred_failures outside(group.runtime);
  std::exception_ptr other;
  while (!done()) {
    try {
      oversubscribed ? wait_oversubscribed(*device_, what, done) : wait_until(device_, what, done);
    } catch (const peer_failure_error& failure) {
      if (group.place_of(failure.failed_rank()) < 0) outside.add(failure);
    } catch (...) {
      if (other == nullptr) other = std::current_exception();
    }
  }
  if (other != nullptr) std::rethrow_exception(other);
  if (!barrier.is_open(round)) report_failed();
}

void thread_call::report_failed() const {
  const group_impl_t& group = *team_.group.p_impl;
  throw_gone(name_in_team(kind_), group.runtime.rank(), group.first_failed());
}

void thread_call::check_success() const {
  if (__builtin_expect(team_.failed == nullptr, 1)) return;
  switch (team_.failed->what) {
    case failure::kind::peer_failure:
      throw peer_failure_error(team_.failed->failed_rank, team_.failed->text);
    case failure::kind::invalid_argument:
      throw std::invalid_argument(team_.failed->text);
    case failure::kind::other:
      throw std::runtime_error(team_.failed->text);
  }
}

void thread_call::check_equal() const {
  const thread_team_impl_t::place& own = team_.places[thread_];
  const auto refuse = [this](const auto&... why) {
    throw std::invalid_argument(base::StrCat("lci: ", name(), ": ", why...));
  };
  for (size_t t = 0; t < team_.threads(); ++t) {
    const thread_team_impl_t::place& other = team_.places[t];
    if (other.calls != own.calls) {
      refuse("thread ", t, " of the thread team has called ", other.calls, " operations, thread ",
             thread_, " ", own.calls, "; do two threads pass the same number?");
    }
    if (other.current.called != own.current.called) {
      refuse("thread ", thread_, " of the thread team calls ", to_text(own.current.called),
             ", thread ", t, " ", to_text(other.current.called));
    }
    if (other.current.op != own.current.op) {
      refuse("threads ", thread_, " and ", t, " of the thread team pass different operators");
    }
  }
}

// Operations.

void thread_call::barrier() {
  begin({});
  meet([this] {
    check_equal();
    if (ranks() > 1) of_ranks(barrier_x())();
  });
}

void thread_call::broadcast(void* buffer, size_t bytes, int root) {
  check_root(root, static_cast<int>(all_threads()), name());
  check_buffer(buffer, bytes, name(), "buffer");
  begin({{{}, root, bytes}, nullptr, buffer, nullptr});
  const auto number_of_root = static_cast<size_t>(root);
  const int root_rank = team_.rank_of(number_of_root);
  const bool is_here = root_rank == get_rank_me(team_.group);
  const bool by_room = bytes <= most_by_one;
  // Where the others find the bytes: in the team's memory, or in the buffer of one of them.
  void* source = nullptr;
  meet([&] {
    check_equal();
    make_room(std::max(bytes, sizeof(void*)));
    void* const sent =
        is_here ? team_.places[team_.thread_of(number_of_root)].current.recvbuf : buffer;
    if (by_room && is_here && bytes > 0) base::copy_data(room(), sent, bytes);
    source = by_room ? room() : sent;
    if (ranks() > 1) of_ranks(broadcast_x(source, bytes, root_rank))();
    if (!by_room) std::memcpy(room(), &source, sizeof source);
  });
  if (by_room) {
    if (bytes > 0 && number() != number_of_root) base::copy_data(buffer, room(), bytes);
    return;
  }
  std::memcpy(&source, room(), sizeof source);
  if (buffer != source) base::copy_data(buffer, source, bytes);
  // Its owner may change the source only now.
  meet([] {});
}

void thread_call::reduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size,
                         reduce_op_t op, int root) {
  const size_t bytes = bytes_of(count, item_size, name());
  const bool receives = root < 0 || number() == static_cast<size_t>(root);
  check_op(op, name());
  if (root >= 0 || kind_ == coll::operation_kind::reduce) {
    check_root(root, static_cast<int>(all_threads()), name());
  }
  check_buffer(sendbuf, bytes, name(), "sendbuf");
  if (receives) check_buffer(recvbuf, bytes, name(), "recvbuf");
  begin({{{}, root, bytes, item_size}, sendbuf, recvbuf, op});
  if (bytes <= most_by_one || team_.threads() == 1) {
    meet([&] {
      check_equal();
      make_room(bytes);
      combine(0, count);
      combine_ranks(count, root);
    });
  } else {
    meet([&] {
      check_equal();
      make_room(bytes);
    });
    const piece own =
        piece_of(count, item_size, static_cast<int>(team_.threads()), static_cast<int>(thread_));
    combine(own.begin / item_size, own.count);
    meet([&] { combine_ranks(count, root); });
  }
  if (receives && bytes > 0) base::copy_data(recvbuf, room(), bytes);
}

void thread_call::make_room(size_t bytes) {
  const size_t units = (bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
  if (team_.room.size() < units) team_.room.resize(units);
}

// These items of all threads of the rank, into the team's memory. From the last thread to the
// first, as an operator may write over its right operand only.
void thread_call::combine(size_t first_item, size_t items) {
  if (items == 0) return;
  const thread_team_impl_t::arguments& own = team_.places[thread_].current;
  const size_t begin = first_item * own.called.item_size;
  const auto operand = [&](size_t thread) {
    return static_cast<const char*>(team_.places[thread].current.sendbuf) + begin;
  };
  char* const result = room() + begin;
  size_t next = team_.threads() - 1;
  const char* right = operand(next);
  if (next == 0) base::copy_data(result, right, items * own.called.item_size);
  for (; next > 0; --next, right = result) own.op(operand(next - 1), right, result, items);
}

void thread_call::combine_ranks(size_t count, int root) const {
  if (ranks() == 1) return;
  const thread_team_impl_t::arguments& own = team_.places[thread_].current;
  const size_t item_size = own.called.item_size;
  if (root < 0) {
    of_ranks(allreduce_x(room(), room(), count, item_size, own.op))();
  } else {
    const int rank = team_.rank_of(static_cast<size_t>(root));
    of_ranks(reduce_x(room(), room(), count, item_size, own.op, rank))();
  }
}

}  // namespace rt

// Teams.

thread_team_t alloc_thread_team_x::operator()() const {
  if (get_nthreads() == 0 || get_nthreads() > ds::thread_barrier::most_threads) {
    throw std::invalid_argument(base::StrCat("lci: alloc_thread_team: nthreads is ", get_nthreads(),
                                             ", not 1 to ", ds::thread_barrier::most_threads));
  }
  // It calls other collective operations, which would name themselves.
  rt::check_may_wait({"alloc_thread_team"});
  const thread_team_attr_t attributes = resolve(global_attr_t());
  // A group that only this team uses: a thread that acts for a rank is ordered with its own team
  // alone.
  const group_t meets = split_group_x(0, 0)
                            .runtime(get_runtime())
                            .device(get_device())
                            .endpoint(get_endpoint())
                            .group(get_group())
                            .name(attributes.name)();
  std::vector<uint64_t> threads(static_cast<size_t>(get_rank_n(meets)));
  const uint64_t own = get_nthreads();
  allgather_x(&own, threads.data(), sizeof own)
      .runtime(runtime_t(&meets.p_impl->runtime))
      .device(get_device())
      .endpoint(get_endpoint())
      .group(meets)();
  // (make_shared would do without the class's operator delete, which handles need.)
  const std::shared_ptr<thread_team_impl_t> made(
      new thread_team_impl_t(meets, threads, attributes));
  meets.p_impl->attach(made);
  return thread_team_t(made.get());
}

void free_thread_team_x::operator()() const {
  thread_team_impl_t& team =
      rt::checked_team(rt::handle_at(get_thread_team(), "free_thread_team"), "free_thread_team");
  rt::check_may_wait({"free_thread_team"});
  if (!team.barrier.is_idle()) {
    throw std::logic_error(base::StrCat("lci: free_thread_team: a thread is in an operation of \"",
                                        team.attr.name, "\""));
  }
  group_t meets = team.group;
  *get_thread_team() = thread_team_t();
  free_group_x(&meets).runtime(get_runtime()).device(get_device()).endpoint(get_endpoint())();
}

size_t get_thread_n(thread_team_t team) {
  return rt::checked_team(team, "get_thread_n").all_threads();
}

size_t get_thread_me(thread_team_t team, size_t thread) {
  const thread_team_impl_t& impl = rt::checked_team(team, "get_thread_me");
  if (thread >= impl.threads()) {
    throw std::invalid_argument(
        base::StrCat("lci: get_thread_me: thread is ", thread, ", not 0 to ", impl.threads() - 1));
  }
  return impl.number_of(thread);
}

}  // namespace lci
