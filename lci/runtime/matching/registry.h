#ifndef LCI_RUNTIME_MATCHING_REGISTRY_H_
#define LCI_RUNTIME_MATCHING_REGISTRY_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "lci/api/counters.hpp"
#include "lci/api/resource.hpp"
#include "lci/ds/mpmc_array.h"
#include "lci/runtime/core/rank_state.h"
#include "lci/runtime/matching/engine.h"

namespace lci::rt {

// The matching engines of a rank, by the numbers that other ranks name them by. Those of the
// program are numbered from 0, those of groups from 65535 downward, so that ranks that are in
// different groups give the engines of the program the same numbers.
//
// Thread safety: every member by any thread at any time; find() takes no lock.
class engine_registry {
 public:
  explicit engine_registry(rank_state& state) : state_(state) {}

  // Gives the engine its number. Throws std::runtime_error if there is none left.
  void add(matching_engine_impl_t* engine);
  void remove(matching_engine_impl_t* engine);
  // The number of a group's engine is given again after the engine has ended.
  void add_of_group(matching_engine_impl_t* engine);
  void remove_of_group(matching_engine_impl_t* engine);
  // From now on it is that of the group's operations.
  void join_group(matching_engine_impl_t* engine, const rank_group* group);

  // As a message names it. Throws std::runtime_error, naming the sender, if there is none.
  matching_engine& find(uint32_t id, int sender) const {
    matching_engine_impl_t* engine = engines_.get(id);
    if (__builtin_expect(engine == nullptr, 0)) engine = find_of_group(id, sender);
    return *engine;
  }

  // Marks the rank as gone and ends what waits for a message of it, and all collectives that need
  // it.
  void fail_peer(int rank);
  // Appends those of the engines of the program.
  void read(std::vector<matching_engine_counters_t>* out);

 private:
  matching_engine_impl_t* find_of_group(uint32_t id, int sender) const;
  template <class Visit>
  void for_each(const Visit& visit);  // with the lock

  static constexpr uint32_t first_of_group = 0xffff;

  rank_state& state_;
  std::mutex mutex_;                     // of changes
  uint32_t next_ = 0;                    // guarded by mutex_
  uint32_t groups_made_ = 0;             // guarded by mutex_
  std::vector<uint32_t> free_of_group_;  // numbers; guarded by mutex_
  ds::mpmc_array<matching_engine_impl_t*> engines_;
  ds::mpmc_array<matching_engine_impl_t*> of_group_;  // by first_of_group - number
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_MATCHING_REGISTRY_H_
