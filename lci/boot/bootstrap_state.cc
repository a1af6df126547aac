#include "lci/boot/bootstrap_state.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "lci/base/strings.h"
#include "lci/boot/job_id.h"
#include "lci/boot/messages.h"
#include "lci/io/record.h"

namespace lci::boot {

using io::body_reader;
using tcp_wire::code;
using tcp_wire::kind;

namespace {

// Barriers and allgathers have separate name spaces.
std::string_view collective_name(kind which) {
  return which == kind::enter_barrier ? "barrier" : "allgather";
}

std::string collective_key(kind which, std::string_view name) {
  return base::StrCat(collective_name(which), " ", name);
}

}  // namespace

bootstrap_state::bootstrap_state(int size, std::string job_id_prefix, output* out)
    : job_id_prefix_(std::move(job_id_prefix)), output_(out), ranks_(static_cast<size_t>(size)) {}

int bootstrap_state::count(rank_state state) const {
  return static_cast<int>(std::count_if(ranks_.begin(), ranks_.end(),
                                        [&](const member& m) { return m.state == state; }));
}

std::vector<int> bootstrap_state::ranks_in(rank_state wanted) const {
  std::vector<int> found;
  for (int rank = 0; rank < size(); ++rank) {
    if (state(rank) == wanted) found.push_back(rank);
  }
  return found;
}

std::vector<int> bootstrap_state::missing(const collective& which) const {
  std::vector<int> found;
  for (size_t rank = 0; rank < which.values.size(); ++rank) {
    if (!which.values[rank]) found.push_back(static_cast<int>(rank));
  }
  return found;
}

void bootstrap_state::reply(int rank, uint32_t request, code result, std::string_view payload) {
  std::string body(1, static_cast<char>(result));
  body.append(payload.data(), payload.size());
  output_->send(rank, kind::reply, request, std::make_shared<const std::string>(std::move(body)));
}

void bootstrap_state::reply_lost(int rank, uint32_t request, int lost, std::string_view text) {
  std::string payload;
  io::append_le(&payload, static_cast<uint32_t>(lost), 4);
  payload.append(text.data(), text.size());
  reply(rank, request, code::unavailable, payload);
}

// Arrival.

void bootstrap_state::hello(uint32_t request, const tcp_wire::hello& hello) {
  const int rank = static_cast<int>(hello.rank);
  greeting said{request, hello.local_rank, hello.local_size, std::string(hello.node)};
  if (!aborted_ && !failed_ && state(rank) == rank_state::absent) {
    admit(rank, std::move(said));
    return;
  }
  ranks_[hello.rank].early = std::move(said);
  ++early_;
  if (aborted_) {
    notify_aborted(rank);
  } else {
    next_round_if_empty();
  }
}

void bootstrap_state::admit(int rank, greeting said) {
  member& who = ranks_[static_cast<size_t>(rank)];
  who.state = rank_state::connected;
  who.seen = said;
  who.waiting = std::move(said);
  ++connected_;
  if (connected_ == 1) output_->waiting();
  if (connected_ == size()) start();
}

bool bootstrap_state::warn_of_missing(std::chrono::seconds waited) {
  const auto first = std::find_if(ranks_.begin(), ranks_.end(),
                                  [](const member& m) { return m.waiting.has_value(); });
  if (first == ranks_.end()) return false;
  const auto rank = static_cast<int>(first - ranks_.begin());
  output_->send(rank, kind::missing, 0,
                std::make_shared<const std::string>(
                    start_is_slow(rank, waited, ranks_in(rank_state::absent))));
  return true;
}

void bootstrap_state::start() {
  started_ = true;
  output_->starting();
  // If one rank does not know its position on its node, positions are counted for all ranks.
  const bool counted = std::any_of(ranks_.begin(), ranks_.end(),
                                   [](const member& m) { return m.seen.local_size == 0; });
  std::map<std::string, uint32_t> on_node;
  if (counted) {
    for (member& who : ranks_) who.seen.local_rank = on_node[who.seen.node]++;
  }
  const std::string job_id = make_job_id(job_id_prefix_);
  for (int rank = 0; rank < size(); ++rank) {
    member& who = ranks_[static_cast<size_t>(rank)];
    if (counted) who.seen.local_size = on_node[who.seen.node];
    const tcp_wire::welcome welcome{who.seen.local_rank, who.seen.local_size, job_id};
    reply(rank, who.waiting->request, code::ok, io::encode_record(welcome));
    who.waiting.reset();
  }
}

void bootstrap_state::next_round_if_empty() {
  if (connected_ != 0 || early_ == 0 || aborted_) return;
  started_ = failed_ = false;
  values_.clear();
  wanted_.clear();
  collectives_.clear();
  calls_.clear();
  early_ = 0;
  for (member& who : ranks_) who.state = rank_state::absent;
  for (int rank = 0; rank < size(); ++rank) {
    std::optional<greeting> early =
        std::exchange(ranks_[static_cast<size_t>(rank)].early, std::nullopt);
    if (early) admit(rank, std::move(*early));
  }
}

// Departure.

void bootstrap_state::lost(int rank) { departed(rank, rank_state::lost); }

void bootstrap_state::departed(int rank, rank_state state) {
  member& who = ranks_[static_cast<size_t>(rank)];
  if (who.early) {  // the rank was not in this round
    who.early.reset();
    --early_;
    return;
  }
  who.state = state;
  who.waiting.reset();
  --connected_;
  for (auto it = calls_.lower_bound({rank, 0}); it != calls_.end() && it->first.first == rank;) {
    const call& given_up = it->second;
    if (given_up.kind == kind::get) {
      wanted_[given_up.key].erase(it->first);
    } else {
      collectives_[given_up.key].waiters.erase(rank);
    }
    it = calls_.erase(it);
  }
  if (started_) {
    if (state == rank_state::lost) put(bootstrap::lost_key, base::StrCat(rank));
    fail_collectives_without(rank);
  } else {
    failed_ = true;
    const std::string text = left_before_start({rank});
    for (int other = 0; other < size(); ++other) {
      std::optional<greeting>& waiting = ranks_[static_cast<size_t>(other)].waiting;
      if (waiting) reply_lost(other, waiting->request, rank, text);
      waiting.reset();
    }
  }
  next_round_if_empty();
}

void bootstrap_state::fail_collectives_without(int rank) {
  for (auto& [key, which] : collectives_) {
    if (which.done || which.values[static_cast<size_t>(rank)] || which.waiters.empty()) continue;
    // One that leaves in order is to blame, too, unless it does so because of another.
    const int lost = first_lost(rank);
    for (const auto& [waiter, request] : which.waiters) {
      const size_t space = key.find(' ');
      reply_lost(waiter, request, lost,
                 left_without(describe_call(key.substr(0, space), key.substr(space + 1)), {lost}));
      calls_.erase({waiter, request});
    }
    which.waiters.clear();
  }
}

int bootstrap_state::first_lost(int rank) {
  put(bootstrap::lost_key, base::StrCat(rank));
  int lost = rank;
  return base::SimpleAtoi(*look_up(bootstrap::lost_key), &lost) ? lost : rank;
}

// Frames.

bool bootstrap_state::frame(int rank, kind what, uint32_t request, std::string_view body) {
  member& who = ranks_[static_cast<size_t>(rank)];
  switch (what) {
    case kind::leave:
      if (!body.empty()) return false;
      departed(rank, started_ ? rank_state::finished : rank_state::lost);
      return true;
    case kind::cancel:
      return body.empty() && cancel(rank, request);
    case kind::abort:
      if (body.size() > tcp_wire::max_reason_size) return false;
      if (aborted_) {
        notify_aborted(rank);  // the rank may not have seen the abort
      } else {
        abort(rank, body);
      }
      return true;
    case kind::put:
    case kind::get:
    case kind::enter_barrier:
    case kind::enter_allgather:
      break;
    default:
      return false;
  }
  if (aborted_) {
    notify_aborted(rank);
    return true;
  }
  if (!started_ || who.early || calls_.count({rank, request}) != 0) return false;
  if (what == kind::put) return put(rank, request, body);
  if (what == kind::get) return get(rank, request, body);
  return enter(rank, what, request, body);
}

bool bootstrap_state::put(int rank, uint32_t request, std::string_view body) {
  body_reader reader(body);
  const std::string_view key = reader.text();
  const std::string_view value = reader.text();
  if (!reader.complete() || !check_entry("put", key, value).ok()) {
    return false;
  }
  if (look_up(key) != nullptr) {
    reply(rank, request, code::already_exists, "");
    return true;
  }
  reply(rank, request, code::ok, "");
  put(key, value);
  return true;
}

bool bootstrap_state::put(std::string_view key, std::string_view value) {
  const auto [it, inserted] = values_.emplace(key, value);
  if (!inserted) return false;
  const auto waiters = wanted_.extract(it->first);
  if (waiters.empty()) return true;
  for (const request_key& waiter : waiters.mapped()) {
    reply(waiter.first, waiter.second, code::ok, it->second);
    calls_.erase(waiter);
  }
  return true;
}

const std::string* bootstrap_state::look_up(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

bool bootstrap_state::get(int rank, uint32_t request, std::string_view body) {
  body_reader reader(body);
  const std::string key(reader.text());
  if (!reader.complete() || !check_entry("get", key).ok()) return false;
  const auto found = values_.find(key);
  if (found != values_.end()) {
    reply(rank, request, code::ok, found->second);
    return true;
  }
  wanted_[key].insert({rank, request});
  calls_[{rank, request}] = {kind::get, key};
  return true;
}

bool bootstrap_state::enter(int rank, kind what, uint32_t request, std::string_view body) {
  const std::string_view word = collective_name(what);
  body_reader reader(body);
  const std::string_view name = reader.text();
  const std::string_view value = what == kind::enter_allgather ? reader.text() : std::string_view();
  if (!reader.complete() || !check_entry(word, name, value).ok()) {
    return false;
  }
  const std::string key = collective_key(what, name);
  collective& which = collectives_[key];
  if (!which.done && which.values.empty()) which.values.resize(ranks_.size());
  if (which.done || which.values[static_cast<size_t>(rank)]) {
    reply(rank, request, code::already_exists, "");
    return true;
  }
  which.values[static_cast<size_t>(rank)] = std::string(value);
  which.waiters[rank] = request;
  calls_[{rank, request}] = {what, key};
  if (++which.entered == size()) {
    complete(what, &which);
    return true;
  }
  std::vector<int> gone;
  for (int absentee : missing(which)) {
    if (state(absentee) != rank_state::connected) gone.push_back(absentee);
  }
  if (!gone.empty()) {
    const int lost = first_lost(gone.front());
    reply_lost(rank, request, lost, left_without(describe_call(word, name), {lost}));
    calls_.erase({rank, request});
    which.waiters.erase(rank);
  }
  return true;
}

void bootstrap_state::complete(kind which_kind, collective* which) {
  std::string body(1, static_cast<char>(code::ok));
  if (which_kind == kind::enter_allgather) {
    size_t total = body.size();
    for (const std::optional<std::string>& value : which->values) total += 4 + value->size();
    body.reserve(total);
    for (const std::optional<std::string>& value : which->values) {
      io::append_text(&body, *value);
    }
  }
  const auto shared = std::make_shared<const std::string>(std::move(body));
  for (const auto& [rank, request] : which->waiters) {
    output_->send(rank, kind::reply, request, shared);
    calls_.erase({rank, request});
  }
  which->done = true;  // keep the name, so that it cannot be used twice
  which->waiters.clear();
  which->values = {};
}

bool bootstrap_state::cancel(int rank, uint32_t request) {
  member& who = ranks_[static_cast<size_t>(rank)];
  if (who.early && who.early->request == request) {
    reply(rank, request, code::deadline_exceeded,
          base::StrCat("the program that ran before in this job did not end on ",
                       describe_ranks(ranks_in(rank_state::connected))));
    return true;
  }
  if (who.waiting && who.waiting->request == request) {
    reply(rank, request, code::deadline_exceeded, did_not_arrive(ranks_in(rank_state::absent)));
    who.waiting.reset();
    failed_ = true;  // this rank will not be there: the round cannot start
    return true;
  }
  const auto found = calls_.find({rank, request});
  if (found == calls_.end()) return true;  // the answer is already on its way
  const call given_up = std::move(found->second);
  calls_.erase(found);
  if (given_up.kind == kind::get) {
    wanted_[given_up.key].erase({rank, request});
    reply(rank, request, code::deadline_exceeded, did_not_appear());
  } else {
    collective& which = collectives_[given_up.key];
    which.waiters.erase(rank);
    reply(rank, request, code::deadline_exceeded, did_not_arrive(missing(which)));
  }
  return true;
}

// Abort.

void bootstrap_state::abort(int rank, std::string_view reason) {
  if (aborted_) return;
  aborted_ = abort_report{rank, std::string(reason)};
  calls_.clear();
  wanted_.clear();
  for (auto& [key, which] : collectives_) which.waiters.clear();
  for (int other = 0; other < size(); ++other) {
    member& who = ranks_[static_cast<size_t>(other)];
    who.waiting.reset();
    if (who.state == rank_state::connected || who.early) notify_aborted(other);
  }
}

void bootstrap_state::notify_aborted(int rank) {
  std::string body;
  io::append_le(&body,
                aborted_->rank < 0 ? tcp_wire::no_rank : static_cast<uint32_t>(aborted_->rank), 4);
  body += aborted_->reason;
  output_->send(rank, kind::aborted, 0, std::make_shared<const std::string>(std::move(body)));
}

}  // namespace lci::boot
