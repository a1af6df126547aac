// Where the helpers come in.
#ifndef LCI_TOOLS_LAUNCHER_DOOR_H_
#define LCI_TOOLS_LAUNCHER_DOOR_H_

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "lci/boot/socket.h"
#include "tools/launcher/event_loop.h"
#include "tools/launcher/link.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {

// Whoever connects is a stranger until it has shown the token; a stranger can make us hold a
// bounded amount of memory and descriptors. When there are too many, who came first is shown out.
//
// Thread safety: the loop's thread.
class door final : private link::owner {
 public:
  class events {
   public:
    // The token was right. Takes the link over (link::hand_over) and returns an empty text, or why
    // it is not wanted.
    virtual std::string admit(const std::shared_ptr<link>& who, const wire::hello& said) = 0;

   protected:
    ~events() = default;
  };

  // `listener` listens and does not block. `max_strangers`: more than helpers that may come at
  // once.
  door(event_loop* loop, events* to, boot::unique_fd listener, std::string job_id,
       std::string token, size_t max_strangers);
  ~door();

 private:
  void accept_some();
  bool on_frame(link& from, wire::kind kind, std::string_view body) override;
  void on_end(link& from, const std::string& why) override;
  std::shared_ptr<link> let_go(link& who);

  event_loop* const loop_;
  events* const to_;
  const boot::unique_fd listener_;
  const std::string job_id_;
  const std::string token_;
  const size_t max_strangers_;
  event_loop::id watched_;
  std::deque<std::shared_ptr<link>> strangers_;  // by age
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_DOOR_H_
