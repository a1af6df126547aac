// Connects a helper to the lcrun of its job.
#ifndef LCI_TOOLS_LAUNCHER_CONNECTOR_H_
#define LCI_TOOLS_LAUNCHER_CONNECTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/launcher/event_loop.h"
#include "tools/launcher/framed_connection.h"

namespace lci::launcher {

// Tries all addresses in parallel, because some may be unreachable or belong to another machine.
// The first connection to the lcrun of the job wins.
//
// Thread safety: the loop's thread.
class connector final : private framed_connection::owner {
 public:
  // Receives an open connection, which it takes over (hand_over), and the code for wire::hello, or
  // null and the reason. Called once, by the loop. The connector outlives the call.
  using done =
      std::function<void(std::shared_ptr<framed_connection>, const std::string& code_or_reason)>;

  // `addresses` have the form of boot::parse_address. `any_job`: takes the first lcrun, which
  // refuses a wrong token; else only an lcrun that has the token.
  connector(event_loop* loop, const std::vector<std::string>& addresses, std::string token,
            bool any_job, done then);
  ~connector();

 private:
  struct attempt {
    std::string address;
    boot::unique_fd socket;      // while connecting
    event_loop::id watched = 0;  // while connecting
    std::shared_ptr<framed_connection> connection;
    std::string nonce;
  };

  void begin(const std::string& address);
  void connected(attempt* which);
  void failed(attempt* which, const std::string& why);
  void give_up_if_none_is_left();
  bool on_frame(framed_connection& from, wire::kind kind, std::string_view body) override;
  void on_end(framed_connection& from, const std::string& why) override;
  attempt* attempt_of(const framed_connection& who);

  event_loop* const loop_;
  const std::string token_;
  const bool any_job_;
  const done then_;
  std::vector<std::unique_ptr<attempt>> attempts_;
  std::string why_;
  bool is_reported_ = false;
  event_loop::id soon_ = 0;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_CONNECTOR_H_
