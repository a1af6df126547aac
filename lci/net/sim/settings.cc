#include "lci/net/sim/settings.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "lci/base/env.h"
#include "lci/base/strings.h"

namespace lci::net::sim {

settings settings::of_seed(uint64_t seed) {
  settings made;
  made.seed = seed;
  uint64_t state = seed;
  const auto pick = [&state](uint64_t n) { return next_random(&state) % n; };
  constexpr uint64_t delays[] = {0, 3, 20, 100};
  constexpr int refusals[] = {0, 10, 40, 80};
  constexpr int posts[] = {0, 50, 100};
  constexpr size_t queues[] = {2, 8, 64};
  constexpr size_t injects[] = {64, 100, 8224};
  constexpr size_t rmas[] = {100, 1000, 100000};
  made.max_delay = delays[pick(4)];
  made.refuse_percent = refusals[pick(4)];
  made.post_percent = posts[pick(3)];
  made.queue_length = queues[pick(3)];
  made.max_inject = injects[pick(3)];
  made.max_send = pick(2) == 0 ? 8224 : (made.max_inject > 1000 ? made.max_inject : 1000);
  made.max_rma = rmas[pick(3)];
  made.has_put_imm = pick(3) != 0;
  made.needs_registration = pick(2) == 0;
  constexpr int bits[] = {8, 16, 32, 32, 32, 64};
  made.put_imm_bits = bits[pick(6)];
  made.has_add = pick(3) == 0;
  made.gets_sooner = pick(2) == 0;
  return made;
}

base::StatusOr<settings> settings::from_environment() {
  base::Status status;
  // Sets *value, which is kept if the variable is unset or not accepted.
  const auto read = [&status](const char* name, auto* value, int64_t min, int64_t max) {
    const auto fallback = static_cast<int64_t>(*value);
    const base::StatusOr<int64_t> number = base::env_int64(name, fallback, min, max);
    status.Update(number.status());
    *value = static_cast<std::decay_t<decltype(*value)>>(number.value_or(fallback));
  };
  const auto read_flag = [&status](const char* name, bool* value) {
    const base::StatusOr<bool> flag = base::env_bool(name, *value);
    status.Update(flag.status());
    *value = flag.value_or(*value);
  };
  constexpr int64_t most = int64_t{1} << 30;
  uint64_t seed = 1;
  read("LCI_SIM_SEED", &seed, 0, std::numeric_limits<int64_t>::max());
  settings made = of_seed(seed);
  read("LCI_SIM_MAX_DELAY", &made.max_delay, 0, most);
  read("LCI_SIM_REFUSE_PERCENT", &made.refuse_percent, 0, 90);
  read("LCI_SIM_POST_PERCENT", &made.post_percent, 0, 100);
  read("LCI_SIM_QUEUE_LENGTH", &made.queue_length, 1, most);
  read("LCI_SIM_MAX_INJECT", &made.max_inject, 64, most);
  made.max_send = std::max(made.max_send, made.max_inject);
  read("LCI_SIM_MAX_SEND", &made.max_send, static_cast<int64_t>(made.max_inject), most);
  read("LCI_SIM_MAX_RMA", &made.max_rma, 1, most);
  read_flag("LCI_SIM_PUT_IMM", &made.has_put_imm);
  read("LCI_SIM_PUT_IMM_BITS", &made.put_imm_bits, 8, 64);
  read_flag("LCI_SIM_ADD", &made.has_add);
  read_flag("LCI_SIM_REGISTRATION", &made.needs_registration);
  read_flag("LCI_SIM_GETS_SOONER", &made.gets_sooner);
  read("LCI_SIM_HOSTS", &made.hosts, 0, 1000);
  if (!status.ok()) return status;
  return made;
}

std::string settings::to_string() const {
  return base::StrCat("LCI_SIM_SEED=", seed, " LCI_SIM_MAX_DELAY=", max_delay,
                      " LCI_SIM_REFUSE_PERCENT=", refuse_percent,
                      " LCI_SIM_POST_PERCENT=", post_percent,
                      " LCI_SIM_QUEUE_LENGTH=", queue_length, " LCI_SIM_MAX_INJECT=", max_inject,
                      " LCI_SIM_MAX_SEND=", max_send, " LCI_SIM_MAX_RMA=", max_rma,
                      " LCI_SIM_PUT_IMM=", has_put_imm, " LCI_SIM_PUT_IMM_BITS=", put_imm_bits,
                      " LCI_SIM_ADD=", has_add, " LCI_SIM_REGISTRATION=", needs_registration,
                      " LCI_SIM_GETS_SOONER=", gets_sooner, " LCI_SIM_HOSTS=", hosts);
}

}  // namespace lci::net::sim
