// A helper's way to its lcrun.
#ifndef LCI_TOOLS_LAUNCHER_CONNECTOR_H_
#define LCI_TOOLS_LAUNCHER_CONNECTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/launcher/event_loop.h"
#include "tools/launcher/link.h"

namespace lci::launcher {

// Tries all addresses at the same time, since some may lead nowhere, or to others: the first where
// the lcrun of our job greets us wins.
//
// Thread safety: the loop's thread.
class connector final : private link::owner {
 public:
  // An open link, to be taken over, or why there is none. Called by the loop, once; the connector
  // must outlive the call.
  using done = std::function<void(std::shared_ptr<link>, const std::string& why)>;

  // `job_id` empty: whichever job. `addresses` as boot::parse_address has them.
  connector(event_loop* loop, const std::vector<std::string>& addresses, std::string job_id,
            done then);
  ~connector();

 private:
  struct attempt {
    std::string address;
    boot::unique_fd socket;      // while it connects
    event_loop::id watched = 0;  // likewise
    std::shared_ptr<link> greeter;
  };

  void begin(const std::string& address);
  void connected(attempt* which);
  void failed(attempt* which, const std::string& why);
  void give_up_if_none_is_left();
  bool on_frame(link& from, wire::kind kind, std::string_view body) override;
  void on_end(link& from, const std::string& why) override;
  attempt* attempt_of(const link& who);

  event_loop* const loop_;
  const std::string job_id_;
  const done then_;
  std::vector<std::unique_ptr<attempt>> attempts_;
  std::string why_;
  bool told_ = false;
  event_loop::id soon_ = 0;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_CONNECTOR_H_
