// A connection between lcrun and a helper that sends and receives frames without blocking.
#ifndef LCI_TOOLS_LAUNCHER_FRAMED_CONNECTION_H_
#define LCI_TOOLS_LAUNCHER_FRAMED_CONNECTION_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "lci/boot/socket.h"
#include "tools/launcher/event_loop.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {

// Thread safety: the loop's thread. Make it by std::make_shared, because its owner may release it
// in a callback.
class framed_connection : public std::enable_shared_from_this<framed_connection> {
 public:
  class owner {
   public:
    // Returns false if the frame is invalid. The connection then ends with on_end.
    virtual bool on_frame(framed_connection& from, wire::kind kind, std::string_view body) = 0;
    // The connection has ended, for the reason `why`. Called once, and not after close().
    virtual void on_end(framed_connection& from, const std::string& why) = 0;

   protected:
    ~owner() = default;
  };

  // `socket` is connected and non-blocking. Bodies of more than `max_body` bytes end the
  // connection.
  framed_connection(event_loop* loop, boot::unique_fd socket, owner* to, size_t max_body);
  ~framed_connection();

  // The side that sends its preamble first.
  enum class speaker { self, peer };
  // Begins to receive. Sends the preamble now, or when the peer's preamble has arrived. Call once,
  // after construction.
  void start(speaker first);

  // Ends the connection when the peer's kernel has not answered keep-alives, or has not
  // acknowledged data, for this time. The peer's process need not answer, so a stopped process
  // (Ctrl-Z) is not lost.
  void set_timeout(std::chrono::milliseconds timeout);

  // Changes the owner and the limit of the bodies.
  void hand_over(owner* to, size_t max_body);

  template <class Frame>
  void send(const Frame& frame) {
    if (!open_) return;
    wire::append_frame(&out_, frame);
    flush();
  }

  // Ends the connection, after writing as much as the socket accepts without blocking.
  void close();
  bool is_open() const { return open_; }
  int fd() const { return socket_.get(); }

 private:
  void send_preamble();
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
  bool preamble_is_sent_ = false;
  bool greeted_ = false;        // the peer's preamble was valid
  std::string protocol_error_;  // the invalid data that the peer has sent; empty: none
  std::string in_;
  std::string out_;
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_FRAMED_CONNECTION_H_
