// The public operations on groups.
#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lci/api/coll.hpp"
#include "lci/api/group.hpp"
#include "lci/base/strings.h"
#include "lci/coll/signature.h"
#include "lci/runtime/collective/algorithms.h"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/device/wait.h"
#include "lci/runtime/instance/group.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace {

// The group that a rank is to be in, as the rank reports it to the others.
struct wish {
  enum class outcome : uint32_t { no_group, joins, fails };
  outcome what;
  int32_t key;     // orders the ranks
  uint64_t which;  // equal on the ranks of one group: a color, or the hash of a list
  group_impl_t::introduction self;
};

// The ranks that have the same wish as this one, by their place in the parent.
std::vector<int> places_of(const std::vector<wish>& all, const wish& own) {
  std::vector<int> places;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].what != wish::outcome::no_group && all[i].which == own.which) {
      places.push_back(static_cast<int>(i));
    }
  }
  std::stable_sort(places.begin(), places.end(), [&all](int a, int b) {
    return all[static_cast<size_t>(a)].key < all[static_cast<size_t>(b)].key;
  });
  return places;
}

// Why the group cannot be; empty: it can. `names`: what the ranks of the parent are called.
std::string trouble_with(const std::vector<int>& places, const std::vector<wish>& all,
                         const wish& own, const std::vector<int>& names) {
  for (const int place : places) {
    const wish& theirs = all[static_cast<size_t>(place)];
    const int name = names[static_cast<size_t>(place)];
    if (theirs.what == wish::outcome::no_group || theirs.which != own.which) {
      return base::StrCat("rank ", name, " is in the list of this rank, and passes another list");
    }
    if (theirs.what == wish::outcome::fails) {
      return base::StrCat("rank ", name, " could not make it");
    }
  }
  return std::string();
}

// `listed`: the ranks of the group by their places in the parent; empty: those with the same wish.
template <class Op>
group_t make_group(const Op& op, const char* name, wish own, std::vector<int> listed) {
  rt::check_may_wait({name});
  const barrier_x options = barrier_x()
                                .runtime(op.get_runtime())
                                .device(op.get_device())
                                .endpoint(op.get_endpoint())
                                .group(op.get_group());
  rt::collective_call exchange(options, coll::operation_kind::alloc_group);
  runtime_impl_t& runtime = exchange.runtime();
  std::unique_ptr<group_impl_t> made;
  std::string trouble;
  if (own.what == wish::outcome::joins) {
    try {
      made = std::make_unique<group_impl_t>(runtime, op.resolve(global_attr_t()));
      own.self = made->own();
    } catch (const std::exception& error) {
      trouble = error.what();
      own.what = wish::outcome::fails;
    }
  }
  std::vector<wish> all(static_cast<size_t>(exchange.size()));
  rt::run_allgather(&exchange, &own, all.data(), sizeof(own));

  std::vector<int> places;
  if (made != nullptr) {
    std::vector<int> names;
    for (int i = 0; i < exchange.size(); ++i) names.push_back(exchange.global_rank(i));
    places = listed.empty() ? places_of(all, own) : std::move(listed);
    trouble = trouble_with(places, all, own, names);
    if (trouble.empty()) {
      std::vector<int> ranks;
      std::vector<group_impl_t::introduction> introductions;
      for (const int place : places) {
        ranks.push_back(names[static_cast<size_t>(place)]);
        introductions.push_back(all[static_cast<size_t>(place)].self);
      }
      made->join(std::move(ranks), introductions);
    }
  }
  // No rank uses the group before all of its ranks have joined it and reported their abilities.
  rt::collective_call end(options, coll::operation_kind::alloc_group);
  const bool joined = made != nullptr && trouble.empty();
  const rt::hierarchy::report own_report = joined ? made->report() : rt::hierarchy::report{};
  std::vector<rt::hierarchy::report> reports(all.size());
  try {
    rt::run_allgather(&end, &own_report, reports.data(), sizeof(own_report));
  } catch (...) {
    // Another rank may use it already.
    if (made != nullptr) runtime.abandon_group(std::move(made));
    throw;
  }
  if (!trouble.empty()) throw std::runtime_error(base::StrCat("lci: ", name, ": ", trouble));
  if (made == nullptr) return GROUP_NULL;
  std::vector<rt::hierarchy::report> of_group;
  for (const int place : places) of_group.push_back(reports[static_cast<size_t>(place)]);
  made->find_shared_memory(of_group);
  return runtime.add_group(std::move(made));
}

// The ranks of a list, checked.
std::vector<int> checked_list(const int* ranks, size_t n, int size, int me) {
  const auto refuse = [](const auto&... why) {
    throw std::invalid_argument(base::StrCat("lci: alloc_group: ", why...));
  };
  if (n == 0) return {};
  if (ranks == nullptr) refuse("ranks is null, and n is ", n);
  std::vector<bool> found(static_cast<size_t>(size), false);
  for (size_t i = 0; i < n; ++i) {
    if (ranks[i] < 0 || ranks[i] >= size) {
      refuse("ranks[", i, "] is ", ranks[i], ", not 0 to ", size - 1);
    }
    if (found[static_cast<size_t>(ranks[i])]) refuse("rank ", ranks[i], " is in the list twice");
    found[static_cast<size_t>(ranks[i])] = true;
  }
  if (!found[static_cast<size_t>(me)]) {
    refuse("rank ", me, " is not in its own list; a rank that is to be in no group passes n = 0");
  }
  return std::vector<int>(ranks, ranks + n);
}

}  // namespace

group_t alloc_group_x::operator()() const {
  const group_t parent = get_group();
  const bool is_all = parent.p_impl == nullptr;
  if (!is_all) rt::checked_group(parent, "alloc_group");
  const runtime_impl_t& runtime =
      is_all ? *rt::resolve(get_runtime(), get_device(), get_endpoint()).runtime
             : parent.p_impl->runtime;
  const int size = is_all ? runtime.size() : parent.p_impl->size();
  const int me = is_all ? runtime.rank() : parent.p_impl->place();
  std::vector<int> listed = checked_list(get_ranks(), get_n(), size, me);
  wish own{};
  if (!listed.empty()) {
    own.what = wish::outcome::joins;
    uint64_t hash = listed.size();
    for (const int each : listed) hash = coll::mix_hash(hash + static_cast<uint64_t>(each) + 1);
    own.which = hash | uint64_t{1} << 63;  // no color
  }
  return make_group(*this, "alloc_group", own, std::move(listed));
}

group_t split_group_x::operator()() const {
  wish own{};
  if (get_color() >= 0) {
    own.what = wish::outcome::joins;
    own.which = static_cast<uint64_t>(get_color());
    own.key = get_key();
  }
  return make_group(*this, "split_group", own, {});
}

void free_group_x::operator()() const {
  group_impl_t& group = rt::checked_group(rt::handle_at(get_group(), "free_group"), "free_group");
  rt::check_may_wait({"free_group"});
  if (group.is_in_use()) {
    throw std::logic_error(base::StrCat("lci: free_group: an operation of group \"",
                                        group.attr.name, "\" is in progress"));
  }
  if (const int left = group.persistent_colls(); left != 0) {
    throw std::logic_error(base::StrCat("lci: free_group: ", left,
                                        " persistent collectives of group \"", group.attr.name,
                                        "\" have not been freed"));
  }
  const barrier_x options = barrier_x()
                                .runtime(get_runtime())
                                .device(get_device())
                                .endpoint(get_endpoint())
                                .group(*get_group());
  runtime_impl_t& runtime = group.runtime;
  rt::collective_call first(options, coll::operation_kind::free_group);
  std::unique_ptr<group_impl_t> freed = runtime.remove_group(&group);
  *get_group() = group_t();
  try {
    rt::run_barrier(&first);
    // Other ranks may still read this one's block until they have left the first barrier. When all
    // have entered the second one, which uses no blocks, no rank does.
    rt::collective_call second(options, coll::operation_kind::free_group);
    second.leave_arena();
    rt::run_barrier(&second);
    freed->leave();
  } catch (...) {
    runtime.abandon_group(std::move(freed));
    throw;
  }
}

int get_rank_me(group_t group) { return rt::checked_group(group, "get_rank_me").place(); }

int get_rank_n(group_t group) { return rt::checked_group(group, "get_rank_n").size(); }

int get_rank_of_group(group_t group, int rank) {
  const group_impl_t& impl = rt::checked_group(group, "get_rank_of_group");
  if (rank < 0 || rank >= impl.size()) {
    throw std::invalid_argument(
        base::StrCat("lci: get_rank_of_group: rank is ", rank, ", not 0 to ", impl.size() - 1));
  }
  return impl.rank_at(rank);
}

int get_rank_in_group(group_t group, int rank) {
  return rt::checked_group(group, "get_rank_in_group").place_of(rank);
}

}  // namespace lci
