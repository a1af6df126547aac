#include "lci/boot/server_search.h"

#include <string_view>
#include <utility>

#include "lci/base/strings.h"
#include "lci/boot/job_id.h"
#include "lci/boot/tcp_helper.h"
#include "lci/io/reachable.h"

namespace lci::boot {
namespace {

bool has_no_server(outcome last) {
  return last == outcome::nobody_listens || last == outcome::other_server ||
         last == outcome::connection_lost;
}

class of_launcher final : public server_search {
 public:
  of_launcher(std::string address, std::string token)
      : place_{{std::move(address)}, std::move(token)} {}

  base::StatusOr<server_place> look() override { return place_; }
  bool is_served() const override { return true; }
  std::string hint(outcome last) const override {
    if (!has_no_server(last)) return "";
    return "; is the launcher still running? (without one, unset LCI_JOB_ID: rank 0 serves then)";
  }

 private:
  const server_place place_;
};

class of_rank_0 final : public server_search {
 public:
  of_rank_0(const job_position& position, std::string address, std::string token)
      : position_(position), place_{{std::move(address)}, std::move(token)} {}

  base::StatusOr<server_place> look() override {
    if (position_.rank != 0) return place_;
    tcp_server::options server;
    server.bind_address = place_.addresses[0];
    server.size = position_.size;
    server.token = place_.token;
    const base::Status started = start_tcp_helper(server).status();
    // The address is in use: by the helper of an earlier round of this job, or by another program,
    // which cannot answer the hello.
    is_in_use_ = base::IsAlreadyExists(started);
    if (!started.ok() && !is_in_use_) return started;
    return place_;
  }

  std::string hint(outcome last) const override {
    if (position_.rank == 0 && (has_no_server(last) || last == outcome::other_protocol)) {
      return is_in_use_ ? "; the address was in use already, choose another port" : "";
    }
    if (!has_no_server(last)) return "";
    return place_.token.empty()
               ? "; rank 0 serves this address: is it running, is LCI_BOOT_ADDR the same, and, if "
                 "it is on another machine, is LCI_BOOT_TOKEN set in all ranks?"
               : "; rank 0 serves this address: is it running, and is LCI_BOOT_ADDR the same?";
  }

 private:
  const job_position position_;
  const server_place place_;
  bool is_in_use_ = false;
};

class by_file final : public server_search {
 public:
  by_file(const job_position& position, std::string path)
      : position_(position), path_(std::move(path)) {}

  base::StatusOr<server_place> look() override {
    const base::StatusOr<server_place> found = read_meeting_file(path_);
    if (position_.rank == 0) {
      // It may be that of the server of an earlier round, which is about to end, or of another
      // process that is rank 0, too; or what a killed job has left.
      if (found.ok() && found->token != absent_) return at(*found);
      return serve(base::IsUnavailable(found.status()) ? io::existing_file::keep
                                                       : io::existing_file::replace);
    }
    has_found_ = has_found_ || found.ok();
    // Rank 0 may replace what another process has left there.
    return found.ok() ? at(*found) : base::UnavailableError(found.status().message());
  }

  void is_not_there() override { absent_ = seen_; }

  bool is_fixed() const override { return false; }

  std::string hint(outcome last) const override {
    if (last == outcome::ranks_missing && position_.rank == 0) {
      return base::StrCat("; rank 0 has said in the file ", path_, " where it is", remedy);
    }
    if (!has_no_server(last) && last != outcome::wrong_token) return "";
    return has_found_ || position_.rank == 0
               ? base::StrCat("; rank 0 has said so in the file ", path_,
                              ": is it running, and does a firewall let others connect?")
               : base::StrCat("; rank 0 writes this file when it starts", remedy);
  }

 private:
  static constexpr std::string_view remedy =
      " (if the machines do not share that directory, set LCI_BOOT_DIR to one that they share, or "
      "LCI_BOOT_ADDR and LCI_BOOT_TOKEN)";

  base::StatusOr<server_place> at(const server_place& place) {
    seen_ = place.token;
    return place;
  }

  // Starts this rank's server, unless it runs, and writes its place into the file.
  base::StatusOr<server_place> serve(io::existing_file existing) {
    if (own_.addresses.empty()) {
      if (base::Status started = start(); !started.ok()) return started;
    }
    const base::Status written = write_meeting_file(path_, own_, existing);
    if (written.ok()) return at(own_);
    if (base::IsAlreadyExists(written)) return base::UnavailableError(written.message());
    return base::Status(written.code(), base::StrCat(written.message(), remedy));
  }

  base::Status start() {
    const base::StatusOr<io::reachable> host = io::find_reachable();
    if (!host.ok()) return host.status();
    tcp_server::options server;
    server.bind_address = base::StrCat(host->bind, ":0");
    server.size = position_.size;
    server.token = random_hex(32);
    const base::StatusOr<std::string> listens = start_tcp_helper(server, path_);
    if (!listens.ok()) return listens.status();
    const std::string port = listens->substr(listens->rfind(':'));
    for (const std::string& address : host->addresses) {
      own_.addresses.push_back(base::StrCat(address, port));
    }
    own_.token = server.token;
    return base::OkStatus();
  }

  const job_position position_;
  const std::string path_;
  server_place own_;        // of this rank's server; no address: it does not run
  std::string seen_;        // the token of the last place
  std::string absent_;      // the token of a place without a server
  bool has_found_ = false;  // has read the file
};

}  // namespace

std::unique_ptr<server_search> launcher_serves(std::string address, std::string token) {
  return std::make_unique<of_launcher>(std::move(address), std::move(token));
}

std::unique_ptr<server_search> rank_0_serves(const job_position& position, std::string address,
                                             std::string token) {
  return std::make_unique<of_rank_0>(position, std::move(address), std::move(token));
}

std::unique_ptr<server_search> rank_0_writes(const job_position& position, std::string path) {
  return std::make_unique<by_file>(position, std::move(path));
}

}  // namespace lci::boot
