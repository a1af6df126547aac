// One connection between lcrun and a helper: frames in, frames out, without waiting.
#ifndef LCI_TOOLS_LAUNCHER_LINK_H_
#define LCI_TOOLS_LAUNCHER_LINK_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "lci/boot/socket.h"
#include "tools/launcher/event_loop.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {

// Thread safety: the loop's thread. Made by std::make_shared, since its owner may let go of it in a
// callback.
class link : public std::enable_shared_from_this<link> {
 public:
  class owner {
   public:
    // False: this frame makes no sense; the connection ends, and on_end says so.
    virtual bool on_frame(link& from, wire::kind kind, std::string_view body) = 0;
    // There will be no more frames. Once; not after close(). `why` is for people.
    virtual void on_end(link& from, const std::string& why) = 0;

   protected:
    ~owner() = default;
  };

  // `socket` is connected and non-blocking. Bodies of more than `max_body` bytes end the
  // connection.
  link(event_loop* loop, boot::unique_fd socket, owner* to, size_t max_body);
  ~link();

  // Call once after making it: sends the preamble, and listens.
  void start();

  // When nothing is heard from the other end's kernel for this time, though it was asked, or what
  // was sent is not acknowledged for so long, the connection ends. The processes at the ends need
  // not answer, so one that is stopped (Ctrl-Z) is not lost.
  void set_timeout(std::chrono::milliseconds timeout);

  // The owner changes, and with it what is accepted.
  void hand_over(owner* to, size_t max_body);

  template <class Frame>
  void send(const Frame& frame) {
    if (!open_) return;
    wire::append_frame(&out_, frame);
    flush();
  }

  // Ends it from this side, after writing what the socket takes at once.
  void close();
  bool is_open() const { return open_; }
  int fd() const { return socket_.get(); }

 private:
  void flush();
  void ready();
  void receive();
  bool take_one(size_t* used);
  void end(const std::string& why);

  event_loop* const loop_;
  boot::unique_fd socket_;
  owner* owner_;
  size_t max_body_;
  event_loop::id watched_ = 0;
  bool open_ = true;
  bool greeted_ = false;  // the other's preamble was right
  std::string bad_;       // why the other end made no sense
  std::string in_;
  std::string out_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_LINK_H_
