#include "lci/boot/tcp_client.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include "lci/base/strings.h"
#include "lci/boot/messages.h"
#include "lci/boot/process.h"
#include "lci/boot/server_search.h"
#include "lci/boot/tcp_channel.h"
#include "lci/boot/tcp_wire.h"
#include "lci/io/bytes.h"
#include "lci/io/connection_race.h"
#include "lci/io/deadline.h"
#include "lci/io/record.h"

namespace lci::boot {
namespace {

using tcp_wire::code;
using tcp_wire::kind;

base::Status malformed_answer(std::string_view call) {
  return base::InternalError(base::StrCat(call, ": the server's answer is malformed"));
}

class tcp_bootstrap : public bootstrap {
 public:
  tcp_bootstrap(std::unique_ptr<tcp_channel> channel, job_position position, std::string job_id,
                duration default_timeout)
      : bootstrap(position, default_timeout),
        channel_(std::move(channel)),
        job_id_(std::move(job_id)) {}

  std::string_view name() const override { return "tcp"; }
  std::string_view job_id() const override { return job_id_; }

  base::Status put(std::string_view key, std::string_view value) override {
    if (base::Status status = check_entry("put", key, value); !status.ok()) return status;
    return call(kind::put, "put", key, &value, default_timeout_).status();
  }

  base::StatusOr<std::string> get(std::string_view key, duration timeout) override {
    if (base::Status status = check_entry("get", key); !status.ok()) return status;
    return call(kind::get, "get", key, nullptr, timeout);
  }

  base::StatusOr<std::string> watch(std::string_view key, int wake, duration timeout) override {
    if (base::Status status = check_entry("watch", key); !status.ok()) return status;
    if (watched_ == nullptr || watched_key_ != key) {
      if (watched_ != nullptr) channel_->give_up(watched_.get());
      watched_ = std::make_unique<tcp_channel::open_call>();
      watched_key_ = key;
      std::string body;
      io::append_text(&body, key);
      if (base::Status status = channel_->begin(kind::get, body, watched_.get()); !status.ok()) {
        watched_.reset();
        return status;
      }
    }
    base::StatusOr<tcp_channel::reply> reply =
        channel_->finish(watched_.get(), wake, io::deadline_after(timeout));
    if (base::IsDeadlineExceeded(reply.status())) return reply.status();
    watched_.reset();
    return value_of(std::move(reply), kind::get, describe_call("watch", key), timeout);
  }

  base::StatusOr<std::vector<std::string>> meet(std::string_view what, std::string_view name,
                                                std::string_view value, duration timeout) override {
    if (base::Status status = check_entry(what, name, value); !status.ok()) return status;
    std::vector<std::string> values;
    if (what == "barrier") {
      const auto met = call(kind::enter_barrier, what, name, nullptr, timeout);
      return met.ok() ? values : base::StatusOr<std::vector<std::string>>(met.status());
    }
    const base::StatusOr<std::string> all =
        call(kind::enter_allgather, what, name, &value, timeout);
    if (!all.ok()) return all.status();
    io::body_reader reader(*all);
    for (int rank = 0; rank < position_.size; ++rank) values.emplace_back(reader.text());
    if (!reader.complete()) return malformed_answer(describe_call(what, name));
    return values;
  }

  // Both are for error paths, also inside progress(), which a stopped launcher must not hold up:
  // they wait for `patience` together, and then hardly at all until the launcher answers again.
  void report_lost(int rank) override {
    const std::string value = base::StrCat(rank);
    std::string body;
    io::append_text(&body, lost_key);
    io::append_text(&body, value);
    note_answer(channel_->call(kind::put, body, io::steady::now() + limit(), duration(0)).status());
  }
  // Also when the server can't be asked any more, as the job has been aborted.
  std::optional<int> first_lost() override {
    std::string body;
    io::append_text(&body, lost_key);
    const auto reply = channel_->call(kind::get, body, io::steady::now(), limit());
    note_answer(reply.status());
    int rank = 0;
    if (reply.ok() && reply->code == code::ok && base::SimpleAtoi(reply->payload, &rank)) {
      return rank;
    }
    rank = channel_->lost_rank();
    return rank < 0 ? std::nullopt : std::make_optional(rank);
  }

  void abort(std::string_view reason) override { channel_->abort(reason); }

 private:
  // Longer than an answer takes where each processor has dozens of ranks.
  static constexpr duration patience{1000};

  static constexpr duration patience_with_silence{10};

  duration limit() const { return is_silent_.load() ? patience_with_silence : patience; }
  void note_answer(const base::Status& status) {
    is_silent_.store(base::IsDeadlineExceeded(status));
  }

  base::StatusOr<std::string> call(kind what, std::string_view word, std::string_view key,
                                   const std::string_view* value, duration timeout) {
    std::string body;
    io::append_text(&body, key);
    if (value != nullptr) io::append_text(&body, *value);
    return value_of(channel_->call(what, body, io::deadline_after(timeout)), what,
                    describe_call(word, key), timeout);
  }

  base::StatusOr<std::string> value_of(base::StatusOr<tcp_channel::reply> reply, kind what,
                                       const std::string& text, duration timeout) {
    if (!reply.ok()) {
      return base::Status(reply.status().code(), base::StrCat(text, " on rank ", position_.rank,
                                                              ": ", reply.status().message()));
    }
    switch (reply->code) {
      case code::ok:
        return std::move(reply->payload);
      case code::already_exists:
        return what == kind::put ? already_put(text) : already_entered(text);
      case code::deadline_exceeded:
        return timed_out(text, position_, timeout, reply->payload);
      case code::unavailable:
        return base::UnavailableError(reply->payload);
      default:
        return malformed_answer(text);
    }
  }

  const std::unique_ptr<tcp_channel> channel_;
  const std::string job_id_;
  std::atomic<bool> is_silent_{false};  // the server has not answered the last time
  // The request of watch(), and what it asks for.
  std::unique_ptr<tcp_channel::open_call> watched_;
  std::string watched_key_;
};

struct attempt {
  outcome how = outcome::failed;
  base::StatusOr<std::unique_ptr<bootstrap>> result;
};

// Says hello once over `connected`. `proof_by`: until when the server must have proved itself.
attempt try_once(const tcp_client_options& options, base::StatusOr<io::unique_fd> connected,
                 const std::string& token, const std::string& node, io::steady::time_point proof_by,
                 io::steady::time_point deadline) {
  if (!connected.ok()) {
    const base::Status& why = connected.status();
    const bool is_absent = base::IsUnavailable(why) || base::IsDeadlineExceeded(why);
    return {is_absent ? outcome::nobody_listens : outcome::failed, why};
  }
  job_position position = options.position;
  auto channel =
      std::make_unique<tcp_channel>(*std::move(connected), tcp_wire::max_reply_size(position.size));
  const base::Status proved = channel->authenticate(token, proof_by);
  if (base::IsUnavailable(proved)) return {outcome::connection_lost, proved};
  if (base::IsPermissionDenied(proved)) return {outcome::wrong_token, proved};
  if (base::IsFailedPrecondition(proved)) return {outcome::other_protocol, proved};
  if (base::IsDeadlineExceeded(proved)) return {outcome::other_server, proved};
  if (!proved.ok()) return {outcome::failed, proved};
  const bool place_known = position.local_size > 0;
  tcp_wire::hello hello;
  hello.rank = static_cast<uint32_t>(position.rank);
  hello.size = static_cast<uint32_t>(position.size);
  hello.local_rank = place_known ? static_cast<uint32_t>(position.local_rank) : 0;
  hello.local_size = place_known ? static_cast<uint32_t>(position.local_size) : 0;
  hello.node = std::string_view(node).substr(0, tcp_wire::max_node_size);
  base::StatusOr<tcp_channel::reply> reply = channel->say_hello(io::encode_record(hello), deadline);
  if (base::IsUnavailable(reply.status())) return {outcome::connection_lost, reply.status()};
  if (!reply.ok()) return {outcome::failed, reply.status()};
  switch (reply->code) {
    case code::ok: {
      tcp_wire::welcome welcome;
      if (!io::decode_record(reply->payload, &welcome)) {
        return {outcome::failed, base::InternalError("the server's welcome is malformed")};
      }
      position.local_rank = static_cast<int>(welcome.local_rank);
      position.local_size = static_cast<int>(welcome.local_size);
      return {outcome::entered,
              base::StatusOr<std::unique_ptr<bootstrap>>(std::make_unique<tcp_bootstrap>(
                  std::move(channel), position, std::string(welcome.job_id), options.timeout))};
    }
    case code::deadline_exceeded:
      return {outcome::ranks_missing,
              timed_out("the start of the job", options.position, options.timeout, reply->payload)};
    case code::unavailable:
      return {outcome::failed, base::UnavailableError(reply->payload)};
    default:
      return {outcome::failed,
              base::InternalError("the server's answer to the hello is malformed")};
  }
}

// Pauses between two attempts: briefly at first, then for milliseconds. Another process has to act,
// and spinning would take its processor.
void pause(int attempts, int size) {
  if (attempts < 4) {
    sched_yield();
    return;
  }
  // The ranks of a job together look for a server at most some ten thousand times a second.
  const long longest_ns = std::max(10'000'000L, size * 100'000L);
  const long nap_ns = std::min(attempts * 200'000L, longest_ns);
  const timespec nap = {nap_ns / 1'000'000'000, nap_ns % 1'000'000'000};
  nanosleep(&nap, nullptr);
}

// For how long an attempt waits for a server, at most until the deadline of the start.
struct patience {
  io::steady::duration with_connection;
  io::steady::duration with_proof;
};

// A server that may be elsewhere is looked for again. If it can't be elsewhere, an attempt takes all
// the time, once the rank has warned of a long start. `attempts`: at a server.
patience patience_of(int attempts, const server_search& search, bool has_warned,
                     io::steady::duration left) {
  const io::steady::duration more_each_time = std::chrono::seconds(1 << std::min(attempts, 5));
  const io::steady::duration there =
      has_warned ? left : std::min<io::steady::duration>(left, start_patience);
  return {search.is_served() ? there : more_each_time, search.is_fixed() ? there : more_each_time};
}

// Until when a server must have proved itself.
io::steady::time_point proof_time(io::steady::duration wait, io::steady::time_point deadline) {
  const io::steady::time_point now = io::steady::now();
  if (now + wait < deadline) return now + wait;
  // At the end of its time, a rank still learns from the server which ranks are missing.
  return std::max(deadline, now + tcp_channel::default_grace);
}

bool is_final(const attempt& last, const server_search& search) {
  switch (last.how) {
    case outcome::connection_lost:
    case outcome::other_server:
      return false;
    case outcome::nobody_listens:
      return search.is_served() && !base::IsDeadlineExceeded(last.result.status());
    case outcome::other_protocol:
    case outcome::wrong_token:
      return search.is_fixed();
    default:
      return true;
  }
}

// Tries the addresses of a place. The error names all that have failed.
attempt try_place(const tcp_client_options& options, const server_place& place,
                  const std::string& node, const patience& wait, io::steady::time_point deadline,
                  const server_search& search) {
  attempt last;
  std::string errors;
  io::connection_race race(place.addresses);
  io::steady::time_point connect_by = io::steady::now() + wait.with_connection;
  while (auto ended = race.next(std::min(connect_by, deadline))) {
    const bool is_connected = ended->socket.ok();
    const io::steady::time_point asked = io::steady::now();
    attempt made = try_once(options, std::move(ended->socket), place.token, node,
                            proof_time(wait.with_proof, deadline), deadline);
    // A silent server takes no time from the other addresses.
    connect_by += io::steady::now() - asked;
    if (made.how == outcome::entered) return made;
    const base::Status& why = made.result.status();
    base::StrAppend(&errors, errors.empty() ? "" : "; ",
                    is_connected ? base::StrCat("at ", ended->address, ": ") : "", why.message());
    // Whether the server is at one of them.
    if (last.how != outcome::connection_lost) last.how = made.how;
    last.result = base::Status(why.code(), errors);
    if (is_final(made, search)) return {made.how, std::move(last.result)};
  }
  return last;
}

base::StatusOr<std::unique_ptr<bootstrap>> connect(const tcp_client_options& options,
                                                   server_search& search) {
  const io::steady::time_point begin = io::steady::now();
  const io::steady::time_point deadline = io::deadline_after(options.timeout);
  const std::string node = node_name();
  bool has_warned = false;
  int at_servers = 0;
  for (int attempts = 0;; ++attempts) {
    const base::StatusOr<server_place> place = search.look();
    attempt made;
    if (place.ok()) {
      const patience wait =
          patience_of(at_servers++, search, has_warned, deadline - io::steady::now());
      made = try_place(options, *place, node, wait, deadline, search);
      if (made.how == outcome::entered) return std::move(made.result);
      if (made.how != outcome::connection_lost) search.is_not_there();
    } else {
      const bool not_yet = base::IsUnavailable(place.status());
      made = {not_yet ? outcome::nobody_listens : outcome::failed, place.status()};
    }
    const io::steady::time_point now = io::steady::now();
    const bool is_over = is_final(made, search) || now >= deadline;
    if (is_over || (now - begin >= start_patience && !has_warned)) {
      const base::Status& why = made.result.status();
      const base::Status failure(
          why.code(),
          base::StrCat("tcp bootstrap of rank ", options.position.rank, " of ",
                       options.position.size, ": ", why.message(), search.hint(made.how)));
      if (is_over) return failure;
      warn_of_slow_start(base::StrCat("still looking for the job: ", failure.message()));
      has_warned = true;
    }
    pause(attempts, options.position.size);
  }
}

}  // namespace

base::StatusOr<std::unique_ptr<bootstrap>> connect_tcp_bootstrap(
    const tcp_client_options& options) {
  const std::unique_ptr<server_search> search = launcher_serves(options.address, options.token);
  return connect(options, *search);
}

base::StatusOr<std::unique_ptr<bootstrap>> connect_standalone_tcp_bootstrap(
    const tcp_client_options& options) {
  const std::unique_ptr<server_search> search =
      rank_0_serves(options.position, options.address, options.token);
  return connect(options, *search);
}

base::StatusOr<std::unique_ptr<bootstrap>> connect_meeting_tcp_bootstrap(
    const tcp_client_options& options, const std::string& path) {
  const std::unique_ptr<server_search> search = rank_0_writes(options.position, path);
  return connect(options, *search);
}

}  // namespace lci::boot
