#include "lci/net/shm/descriptor_passing.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "lci/base/check.h"
#include "lci/base/rank_list.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/net/exchange.h"

namespace lci::net::shm {
namespace {

// The bytes of the datagram that the descriptors come with. Any process of this network namespace
// may write to the socket, so the token says that the sender is a rank.
struct letter {
  uint64_t token;
  int32_t rank;
  int32_t descriptors;
};

// Closes them when destroyed.
struct descriptors {
  descriptors() = default;
  ~descriptors() {
    for (const int each : all) ::close(each);
  }
  descriptors(const descriptors&) = delete;
  descriptors& operator=(const descriptors&) = delete;

  std::vector<int> all;
};

class passing {
 public:
  passing(boot::bootstrap& boot, const std::vector<int>& own, const std::vector<int>& partners,
          const accept_descriptors& accept)
      : boot_(boot), own_(own), accept_(accept), unsent_(partners), awaited_(partners) {}
  ~passing() {
    if (socket_ >= 0) ::close(socket_);
  }
  passing(const passing&) = delete;
  passing& operator=(const passing&) = delete;

  // How the other ranks reach this one.
  base::StatusOr<std::string> introduce();
  base::Status run(const std::vector<std::string>& introductions);

 private:
  struct partner {
    uint64_t token = 0;
    std::string address;  // a sockaddr_un
  };

  base::Status meet(int rank, const std::string& introduction);
  // Whether there is nothing left to send to the rank.
  bool send(int rank);
  // False: there is no letter.
  bool receive();

  // The first error counts, and the others are served nevertheless: they would wait for this rank.
  void note(int rank, const base::Status& status) {
    if (!status.ok() && status_.ok()) {
      status_ = base::WithPrefix(base::StrCat("rank ", rank, ": "), status);
    }
  }
  static bool remove(int rank, std::vector<int>* from) {
    const auto found = std::find(from->begin(), from->end(), rank);
    if (found == from->end()) return false;
    from->erase(found);
    return true;
  }

  boot::bootstrap& boot_;
  const std::vector<int>& own_;
  const accept_descriptors& accept_;
  int socket_ = -1;
  uint64_t token_ = 0;
  std::map<int, partner> partners_;
  std::vector<int> unsent_;
  std::vector<int> awaited_;
  base::Status status_;
};

base::StatusOr<std::string> passing::introduce() {
  if (unsent_.empty()) return std::string();
  const base::StatusOr<uint64_t> token = base::random_number();
  if (!token.ok()) return token.status();
  token_ = *token;
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socklen_t size = sizeof(address.sun_family);  // the kernel chooses the rest
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (socket_ < 0 || ::bind(socket_, generic, size) != 0 ||
      ::getsockname(socket_, generic, &(size = sizeof(address))) != 0) {
    return base::ErrnoToStatus(errno, "making a UNIX socket");
  }
  return base::StrCat(std::string(reinterpret_cast<const char*>(&token_), sizeof(token_)),
                      std::string(reinterpret_cast<const char*>(&address), size));
}

base::Status passing::meet(int rank, const std::string& introduction) {
  partner met;
  const size_t least = sizeof(met.token) + sizeof(sa_family_t);
  if (introduction.size() < least || introduction.size() > least + sizeof(sockaddr_un)) {
    return base::InternalError(base::StrCat("rank ", rank, " passes no descriptors"));
  }
  std::memcpy(&met.token, introduction.data(), sizeof(met.token));
  met.address = introduction.substr(sizeof(met.token));
  partners_[rank] = std::move(met);
  return base::OkStatus();
}

bool passing::send(int rank) {
  partner& to = partners_[rank];
  letter text = {token_, boot_.rank(), static_cast<int32_t>(own_.size())};
  iovec bytes = {&text, sizeof(text)};
  alignas(cmsghdr) char control[CMSG_SPACE(max_passed_descriptors * sizeof(int))] = {};
  msghdr message = {};
  message.msg_name = to.address.data();
  message.msg_namelen = static_cast<socklen_t>(to.address.size());
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(own_.size() * sizeof(int));
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(own_.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), own_.data(), own_.size() * sizeof(int));
  if (::sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
  switch (errno) {
    case EAGAIN:        // its queue is full,
    case ETOOMANYREFS:  // or too many descriptors of this user are under way
    case ENOBUFS:
    case ENOMEM:
    case EINTR:
      return false;
    default:
      note(rank, base::ErrnoToStatus(errno,
                                     errno == ECONNREFUSED
                                         ? "it has another network namespace (LCI_ATTR_BACKEND=ofi "
                                           "joins any), or has ended"
                                         : "passing a descriptor"));
      remove(rank, &awaited_);  // as this rank does not reach it, nor does it reach this rank
      return true;
  }
}

bool passing::receive() {
  letter text = {};
  iovec bytes = {&text, sizeof(text)};
  alignas(cmsghdr) char control[CMSG_SPACE(max_passed_descriptors * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t size = ::recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return false;
  descriptors given;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= part->cmsg_len; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      given.all.push_back(descriptor);
    }
  }
  if (size != sizeof(text)) return true;  // not a rank's
  const auto from = partners_.find(text.rank);
  if (from == partners_.end() || from->second.token != text.token) return true;
  if (!remove(text.rank, &awaited_)) return true;
  if (given.all.size() != static_cast<size_t>(text.descriptors)) {
    note(text.rank, base::ResourceExhaustedError(
                        "its descriptors find no room in this process; raise ulimit -n"));
    return true;
  }
  note(text.rank, accept_(text.rank, given.all));
  return true;
}

base::Status passing::run(const std::vector<std::string>& introductions) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds look_period{200};
  // Until the queue of a partner may have room: the kernel notifies nobody.
  constexpr int retry_period_ms = 1;
  constexpr int wait_period_ms = 100;
  for (const int rank : unsent_) {
    base::Status met = meet(rank, introductions[static_cast<size_t>(rank)]);
    if (!met.ok()) return met;
  }
  const auto deadline = clock::now() + boot_.default_timeout();
  auto next_look = clock::now() + look_period;
  while (!unsent_.empty() || !awaited_.empty()) {
    unsent_.erase(std::remove_if(unsent_.begin(), unsent_.end(), [&](int r) { return send(r); }),
                  unsent_.end());
    if (receive()) continue;
    if (unsent_.empty() && awaited_.empty()) break;
    pollfd watch = {socket_, POLLIN, 0};
    ::poll(&watch, 1, unsent_.empty() ? wait_period_ms : retry_period_ms);
    if (clock::now() < next_look) continue;
    next_look = clock::now() + look_period;
    if (base::Status lost = check_for_loss(boot_); !lost.ok()) return lost;
    if (clock::now() > deadline) {
      return base::DeadlineExceededError(base::StrCat(
          base::rank_list(awaited_.empty() ? unsent_ : awaited_), " passed no descriptors to rank ",
          boot_.rank(), " within LCI_BOOT_TIMEOUT"));
    }
  }
  return status_;
}

}  // namespace

base::Status pass_descriptors(boot::bootstrap& boot, std::string_view name,
                              const std::vector<int>& own, const std::vector<int>& partners,
                              const accept_descriptors& accept) {
  LCI_CHECK(!own.empty() && own.size() <= max_passed_descriptors, own.size(), " descriptors");
  passing step(boot, own, partners, accept);
  const auto introductions = exchange(boot, name, step.introduce());
  if (!introductions.ok()) return introductions.status();
  return agree(boot, base::StrCat(name, "-passed"), step.run(*introductions));
}

}  // namespace lci::net::shm
