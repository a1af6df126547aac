#include "lci/net/sim/settings.h"

#include <algorithm>
#include <limits>

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
  return made;
}

base::StatusOr<settings> settings::from_environment() {
  base::Status status;
  const auto number = [&status](const char* name, int64_t fallback, int64_t min, int64_t max) {
    const base::StatusOr<int64_t> value = base::env_int64(name, fallback, min, max);
    status.Update(value.status());
    return value.value_or(fallback);
  };
  const auto flag = [&status](const char* name, bool fallback) {
    const base::StatusOr<bool> value = base::env_bool(name, fallback);
    status.Update(value.status());
    return value.value_or(fallback);
  };
  constexpr int64_t most = int64_t{1} << 30;
  settings made = of_seed(
      static_cast<uint64_t>(number("LCI_SIM_SEED", 1, 0, std::numeric_limits<int64_t>::max())));
  made.max_delay = static_cast<uint64_t>(
      number("LCI_SIM_MAX_DELAY", static_cast<int64_t>(made.max_delay), 0, most));
  made.refuse_percent =
      static_cast<int>(number("LCI_SIM_REFUSE_PERCENT", made.refuse_percent, 0, 90));
  made.post_percent = static_cast<int>(number("LCI_SIM_POST_PERCENT", made.post_percent, 0, 100));
  made.queue_length = static_cast<size_t>(
      number("LCI_SIM_QUEUE_LENGTH", static_cast<int64_t>(made.queue_length), 1, most));
  made.max_inject = static_cast<size_t>(
      number("LCI_SIM_MAX_INJECT", static_cast<int64_t>(made.max_inject), 64, most));
  made.max_send = std::max(made.max_send, made.max_inject);
  made.max_send =
      static_cast<size_t>(number("LCI_SIM_MAX_SEND", static_cast<int64_t>(made.max_send),
                                 static_cast<int64_t>(made.max_inject), most));
  made.max_rma =
      static_cast<size_t>(number("LCI_SIM_MAX_RMA", static_cast<int64_t>(made.max_rma), 1, most));
  made.has_put_imm = flag("LCI_SIM_PUT_IMM", made.has_put_imm);
  made.put_imm_bits = static_cast<int>(number("LCI_SIM_PUT_IMM_BITS", made.put_imm_bits, 8, 64));
  made.has_add = flag("LCI_SIM_ADD", made.has_add);
  made.needs_registration = flag("LCI_SIM_REGISTRATION", made.needs_registration);
  made.hosts = static_cast<int>(number("LCI_SIM_HOSTS", made.hosts, 0, 1000));
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
                      " LCI_SIM_HOSTS=", hosts);
}

}  // namespace lci::net::sim
