// The bytes of a peer that does not have the token, to an acceptor: none of them admits it, and it
// receives no more than the handshake allows.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lci/io/acceptor.h"
#include "lci/io/event_loop.h"
#include "lci/io/framed_connection.h"
#include "lci/io/framing.h"
#include "lci/io/handshake.h"
#include "lci/io/unique_fd.h"

namespace {

namespace io = lci::io;

constexpr io::protocol protocol = {0x4249434c, 3, "test", "the fuzzed server"};
constexpr size_t max_answer = io::preamble_size + 2 * io::header_size + io::nonce_size +
                              io::code_size + io::max_handshake_body;

void check(bool is_true) {
  if (!is_true) std::abort();
}

// An acceptor on a socket of this host, so that no port is used up.
class server final : io::acceptor::events {
 public:
  server() {
    address_.sun_family = AF_UNIX;
    const std::string name = "lci-handshake-fuzz-" + std::to_string(getpid());
    name.copy(address_.sun_path + 1, sizeof(address_.sun_path) - 1);  // an abstract address
    io::unique_fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    check(bind(listener.get(), reinterpret_cast<sockaddr*>(&address_), sizeof(address_)) == 0);
    check(listen(listener.get(), 16) == 0);
    acceptor_ = std::make_unique<io::acceptor>(&loop_, static_cast<io::acceptor::events*>(this),
                                               std::move(listener), protocol, "the token", 4);
  }

  std::string answer_to(std::string_view bytes) {
    const io::unique_fd peer(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    check(connect(peer.get(), reinterpret_cast<sockaddr*>(&address_), sizeof(address_)) == 0);
    while (!bytes.empty()) {
      const ssize_t n = send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
      if (n < 0 && !loop_.step()) break;  // the acceptor has ended the connection
    }
    shutdown(peer.get(), SHUT_WR);
    std::string answer;
    for (;;) {
      char block[4096];
      const ssize_t n = recv(peer.get(), block, sizeof(block), MSG_DONTWAIT);
      if (n > 0) answer.append(block, static_cast<size_t>(n));
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return answer;
      if (n < 0) loop_.step();
    }
  }

 private:
  std::string admit(const std::shared_ptr<io::framed_connection>&, uint32_t,
                    std::string_view) override {
    std::abort();
  }
  void cannot_accept(int) override { std::abort(); }

  sockaddr_un address_ = {};
  io::event_loop loop_;
  std::unique_ptr<io::acceptor> acceptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static server one;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string answer = one.answer_to(bytes);
  check(answer.size() <= max_answer && answer.find("the token") == std::string::npos);
  // The client's side: no proof is that of a server.
  io::client_handshake client(protocol, "the token");
  check(!client.check_proof(bytes));
  return 0;
}
