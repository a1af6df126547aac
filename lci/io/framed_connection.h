// A connection that sends and receives frames without blocking.
#ifndef LCI_IO_FRAMED_CONNECTION_H_
#define LCI_IO_FRAMED_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "lci/io/event_loop.h"
#include "lci/io/framing.h"
#include "lci/io/unique_fd.h"

namespace lci::io {

// Thread safety: the loop's thread. Make it by std::make_shared, because its owner may release it
// in a callback.
class framed_connection : public std::enable_shared_from_this<framed_connection> {
 public:
  class owner {
   public:
    // Returns false if the frame is invalid. The connection then ends with on_end.
    virtual bool on_frame(framed_connection& from, const frame_header& header,
                          std::string_view body) = 0;
    // The connection has ended, for the reason `why`. Called once, and not after close().
    virtual void on_end(framed_connection& from, const std::string& why) = 0;

   protected:
    ~owner() = default;
  };

  // A body that may be sent on several connections.
  using shared_body = std::shared_ptr<const std::string>;

  // `socket` is connected and non-blocking. Bodies of more than `max_body` bytes end the
  // connection.
  framed_connection(event_loop* loop, unique_fd socket, const protocol& of, owner* to,
                    uint64_t max_body);
  ~framed_connection();

  // The side that sends its preamble first.
  enum class speaker { self, peer };
  // Begins to receive. Sends the preamble now, or when the peer's preamble has arrived; a peer of
  // another protocol receives nothing. Call once, after construction.
  void start(speaker first);

  // Changes the owner and the limit of the bodies.
  void hand_over(owner* to, uint64_t max_body);

  // Sends what the socket accepts, and keeps the rest until the socket accepts it. Calls no member
  // of the owner.
  void send(uint8_t kind, uint32_t request, std::string body);
  void send(uint8_t kind, uint32_t request, shared_body body);

  // Receives what has arrived, as the loop does. For callers whose decision depends on it.
  void receive_now();

  // Ends the connection, after writing as much as the socket accepts without blocking.
  void close();
  bool is_open() const { return open_; }
  int fd() const { return socket_.get(); }

 private:
  struct chunk {
    std::string header;
    shared_body body;  // may be null
  };

  void send_preamble();
  void flush();
  void ready();
  void receive();
  void take_items();
  void end(const std::string& why);

  event_loop* const loop_;
  const unique_fd socket_;
  const protocol protocol_;
  owner* owner_;
  uint64_t max_body_;
  event_loop::id watched_ = 0;
  bool open_ = true;
  bool preamble_is_sent_ = false;
  bool is_receiving_ = false;
  frame_reader in_;
  std::deque<chunk> out_;
  size_t written_ = 0;  // of out_.front()
};

}  // namespace lci::io

#endif  // LCI_IO_FRAMED_CONNECTION_H_
