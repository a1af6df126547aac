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
#include "lci/boot/tcp_channel.h"
#include "lci/boot/tcp_helper.h"
#include "lci/boot/tcp_wire.h"
#include "lci/io/bytes.h"
#include "lci/io/deadline.h"
#include "lci/io/record.h"
#include "lci/io/socket.h"

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

// Action after a failed attempt.
enum class next_step { give_up, connect_again };

struct attempt {
  base::StatusOr<std::unique_ptr<bootstrap>> result;
  next_step next = next_step::give_up;
};

// Connects once and says hello once. `refusal_is_final`: give up if no server listens.
attempt try_once(const tcp_client_options& options, const std::string& node,
                 io::steady::time_point deadline, bool refusal_is_final) {
  base::StatusOr<io::unique_fd> socket = io::connect_to(options.address, deadline);
  if (!socket.ok()) {
    const bool again = base::IsUnavailable(socket.status()) && !refusal_is_final;
    return {socket.status(), again ? next_step::connect_again : next_step::give_up};
  }
  job_position position = options.position;
  auto channel =
      std::make_unique<tcp_channel>(*std::move(socket), tcp_wire::max_reply_size(position.size));
  const bool place_known = position.local_size > 0;
  tcp_wire::hello hello;
  hello.rank = static_cast<uint32_t>(position.rank);
  hello.size = static_cast<uint32_t>(position.size);
  hello.local_rank = place_known ? static_cast<uint32_t>(position.local_rank) : 0;
  hello.local_size = place_known ? static_cast<uint32_t>(position.local_size) : 0;
  hello.node = std::string_view(node).substr(0, tcp_wire::max_node_size);
  base::StatusOr<tcp_channel::reply> reply =
      channel->say_hello(options.token, io::encode_record(hello), deadline);
  // The connection was lost without an answer: the server made room among its unauthenticated
  // peers, or the server is the helper of the previous program, which is just ending.
  if (base::IsUnavailable(reply.status())) return {reply.status(), next_step::connect_again};
  if (!reply.ok()) return {reply.status()};
  switch (reply->code) {
    case code::ok: {
      tcp_wire::welcome welcome;
      if (!io::decode_record(reply->payload, &welcome)) {
        return {base::InternalError("the server's welcome is malformed")};
      }
      position.local_rank = static_cast<int>(welcome.local_rank);
      position.local_size = static_cast<int>(welcome.local_size);
      return {base::StatusOr<std::unique_ptr<bootstrap>>(std::make_unique<tcp_bootstrap>(
          std::move(channel), position, std::string(welcome.job_id), options.timeout))};
    }
    case code::deadline_exceeded:
      return {timed_out("the start of the job", options.position, options.timeout, reply->payload)};
    case code::unavailable:
      return {base::UnavailableError(reply->payload)};
    default:
      return {base::InternalError("the server's answer to the hello is malformed")};
  }
}

// Pauses between two attempts: briefly at first, then for milliseconds. Another process has to act,
// and spinning would take its processor.
void pause(int attempts) {
  if (attempts < 4) {
    sched_yield();
    return;
  }
  const timespec nap = {0, std::min(attempts * 200'000L, 10'000'000L)};
  nanosleep(&nap, nullptr);
}

base::Status with_context(const base::Status& status, const tcp_client_options& options,
                          std::string_view hint) {
  return base::Status(status.code(), base::StrCat("tcp bootstrap of rank ", options.position.rank,
                                                  " of ", options.position.size, " at ",
                                                  options.address, ": ", status.message(), hint));
}

base::StatusOr<std::unique_ptr<bootstrap>> connect(const tcp_client_options& options,
                                                   bool standalone) {
  const io::steady::time_point deadline = io::deadline_after(options.timeout);
  const std::string node = node_name();
  const bool serve = standalone && options.position.rank == 0;
  std::string_view hint;
  for (int attempts = 0;; ++attempts) {
    if (serve) {
      tcp_server::options server;
      server.bind_address = options.address;
      server.size = options.position.size;
      server.token = options.token;
      const base::Status started = start_tcp_helper(server);
      // The address is in use: by the helper of an earlier round of this job, or by another
      // program, which cannot answer the hello.
      if (!started.ok() && !base::IsAlreadyExists(started))
        return with_context(started, options, "");
      hint = started.ok() ? "" : "; the address was in use already, choose another port";
    } else if (standalone) {
      hint =
          options.token.empty()
              ? "; rank 0 serves this address: is it running, is LCI_BOOT_ADDR the same, and, if "
                "it is on another machine, is LCI_BOOT_TOKEN set in all ranks?"
              : "; rank 0 serves this address: is it running, and is LCI_BOOT_ADDR the same?";
    } else {
      hint = "; is the launcher still running? (without one, unset LCI_JOB_ID: rank 0 serves then)";
    }
    attempt made = try_once(options, node, deadline, !standalone);
    if (made.result.ok()) return std::move(made.result);
    const bool unreachable = base::IsUnavailable(made.result.status()) ||
                             base::IsFailedPrecondition(made.result.status());
    if (made.next == next_step::give_up || io::steady::now() >= deadline) {
      return with_context(made.result.status(), options, unreachable ? hint : "");
    }
    pause(attempts);
  }
}

}  // namespace

base::StatusOr<std::unique_ptr<bootstrap>> connect_tcp_bootstrap(
    const tcp_client_options& options) {
  return connect(options, /*standalone=*/false);
}

base::StatusOr<std::unique_ptr<bootstrap>> connect_standalone_tcp_bootstrap(
    const tcp_client_options& options) {
  return connect(options, /*standalone=*/true);
}

}  // namespace lci::boot
