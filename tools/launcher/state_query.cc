#include "tools/launcher/state_query.h"

#include <chrono>
#include <utility>

#include "lci/base/strings.h"
#include "lci/observe/observer_keys.h"

namespace lci::launcher {
namespace {

// A rank answers within milliseconds, unless its processes wait for processors.
constexpr std::chrono::milliseconds time_to_answer{3000};

}  // namespace

state_query::state_query(io::event_loop* loop, boot::tcp_server* server, job of)
    : loop_(loop), server_(server), job_(std::move(of)) {}

state_query::~state_query() { loop_->cancel(deadline_); }

void state_query::ask(const std::string& reason, receiver then) {
  look();
  if (!is_open_ && server_->count(boot::tcp_server::rank_state::connected) == 0) {
    then(nullptr);
    return;
  }
  then_.push_back(std::move(then));
  if (is_open_) return;
  server_->put(observe::query_key(query_), reason);
  begin(reason, false);
  // Before all ranks are there, those that are can't answer.
  if (server_->count(boot::tcp_server::rank_state::absent) > 0) end();
}

void state_query::look() {
  if (!is_open_) {
    // The store is emptied when another program begins in the same job.
    if (query_ > 0 && server_->look_up(observe::query_key(query_ - 1)) == nullptr) query_ = 0;
    if (const std::string* reason = server_->look_up(observe::query_key(query_)))
      begin(*reason, true);
  }
  if (is_open_ && !any_missing()) end();
}

bool state_query::any_missing() const {
  for (int rank = 0; rank < job_.ranks; ++rank) {
    if (server_->state(rank) == boot::tcp_server::rank_state::connected &&
        server_->look_up(observe::answer_key(query_, rank)) == nullptr) {
      return true;
    }
  }
  return false;
}

void state_query::begin(const std::string& reason, bool is_of_rank) {
  is_open_ = true;
  is_of_rank_ = is_of_rank;
  reason_ = reason;
  deadline_ = loop_->at(io::steady::now() + time_to_answer, [this] {
    deadline_ = 0;
    if (is_open_) end();
  });
}

void state_query::end() {
  loop_->cancel(std::exchange(deadline_, 0));
  observe::job_report report;
  report.reason = reason_;
  report.size = job_.ranks;
  for (int rank = 0; rank < job_.ranks; ++rank) {
    const std::string* const text = server_->look_up(observe::answer_key(query_, rank));
    if (text == nullptr) {
      report.silent.push_back({rank, job_.state_of(rank)});
      continue;
    }
    auto answer = observe::decode(*text);
    if (answer.ok()) {
      report.ranks.push_back(*std::move(answer));
    } else {
      report.silent.push_back(
          {rank, base::StrCat("gave an answer that can't be read: ", answer.status().message())});
    }
  }
  is_open_ = false;
  ++query_;
  if (is_of_rank_) job_.show(report);
  for (const receiver& each : std::exchange(then_, {})) each(&report);
}

}  // namespace lci::launcher
