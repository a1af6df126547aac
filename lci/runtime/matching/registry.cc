#include "lci/runtime/matching/registry.h"

#include <stdexcept>

#include "lci/runtime/core/throw.h"

namespace lci::rt {

void engine_registry::add(matching_engine_impl_t* engine) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (next_ + groups_made_ > first_of_group) {
    throw_runtime_error("alloc_matching_engine: 65535 have been made");
  }
  engine->id = next_++;
  engines_.set(engine->id, engine);
}

void engine_registry::remove(matching_engine_impl_t* engine) {
  const std::lock_guard<std::mutex> guard(mutex_);
  engines_.set(engine->id, nullptr);
}

void engine_registry::add_of_group(matching_engine_impl_t* engine) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!free_of_group_.empty()) {
    engine->id = free_of_group_.back();
    free_of_group_.pop_back();
  } else {
    if (next_ + groups_made_ > first_of_group) {
      throw std::runtime_error("there are 65535 matching engines and groups");
    }
    engine->id = first_of_group - groups_made_++;
  }
  of_group_.set(first_of_group - engine->id, engine);
}

void engine_registry::remove_of_group(matching_engine_impl_t* engine) {
  const std::lock_guard<std::mutex> guard(mutex_);
  of_group_.set(first_of_group - engine->id, nullptr);
  free_of_group_.push_back(engine->id);
}

void engine_registry::join_group(matching_engine_impl_t* engine, const rank_group* group) {
  // fail_peer() reads it.
  const std::lock_guard<std::mutex> guard(mutex_);
  engine->group = group;
}

[[gnu::noinline]] matching_engine_impl_t* engine_registry::find_of_group(uint32_t id,
                                                                         int sender) const {
  matching_engine_impl_t* const engine =
      id <= first_of_group ? of_group_.get(first_of_group - id) : nullptr;
  if (engine != nullptr) return engine;
  throw_runtime_error("rank ", state_.rank(), " dropped a message of rank ", sender,
                      " for matching engine ", id,
                      ", which it does not have; allocate it before a barrier and send after it");
}

template <class Visit>
void engine_registry::for_each(const Visit& visit) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (uint32_t id = 0; id < next_; ++id) {
    matching_engine_impl_t* const engine = engines_.get(id);
    if (engine != nullptr) visit(*engine, /*of_group=*/false);
  }
  for (uint32_t i = 0; i < groups_made_; ++i) {
    matching_engine_impl_t* const engine = of_group_.get(i);
    if (engine != nullptr) visit(*engine, /*of_group=*/true);
  }
}

void engine_registry::fail_peer(int rank) {
  state_.mark_failed(rank);
  for_each([rank](matching_engine& engine, bool) { engine.fail_peer(rank); });
}

void engine_registry::read(std::vector<matching_engine_counters_t>* out) {
  for_each([out](const matching_engine& engine, bool of_group) {
    if (!of_group) engine.read(&out->emplace_back());
  });
}

}  // namespace lci::rt
