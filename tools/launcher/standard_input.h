#ifndef LCI_TOOLS_LAUNCHER_STANDARD_INPUT_H_
#define LCI_TOOLS_LAUNCHER_STANDARD_INPUT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lci/base/status.h"
#include "lci/io/event_loop.h"
#include "lci/io/unique_fd.h"

namespace lci::launcher {

// Reads lcrun's standard input for a rank that can't read it itself: one on another host, or one
// that is not in the foreground process group of the terminal, so that the kernel would stop it.
//
// Thread safety: the thread of the event loop.
class standard_input {
 public:
  // Calls `take` with what was read; with no bytes at the end, or when the input is gone. `loop`
  // outlives the object.
  standard_input(io::event_loop* loop, std::function<void(std::string_view bytes)> take);
  ~standard_input() { close(); }
  standard_input(const standard_input&) = delete;
  standard_input& operator=(const standard_input&) = delete;

  // Reads at most `room` bytes until the next call, and nothing while this process is in the
  // background of the terminal. Call before each wait of the loop.
  void before_wait(size_t room);

 private:
  void read_some();
  void close() { loop_->forget(std::exchange(watched_, 0)); }

  io::event_loop* const loop_;
  const std::function<void(std::string_view)> take_;
  io::event_loop::id watched_;  // 0: the input has ended
  size_t room_ = 0;
};

// A pipe through which lcrun's standard input is written to a rank.
//
// Thread safety: the thread of the event loop.
class rank_input {
 public:
  // `loop` outlives the object. Calls `written` with the number of bytes after each write.
  static base::StatusOr<std::unique_ptr<rank_input>> make(io::event_loop* loop,
                                                          std::function<void(size_t)> written);
  ~rank_input() { close(); }
  rank_input(const rank_input&) = delete;
  rank_input& operator=(const rank_input&) = delete;

  // The descriptor for the rank. Valid until started().
  int rank_end() const { return rank_end_.get(); }
  // Closes the descriptor for the rank, so that writing fails when the rank has ended.
  void started() { rank_end_.reset(); }

  // Adds bytes for the rank; empty: the end of the input. Ignored after the rank has closed its
  // end.
  void add(std::string_view bytes);
  // Whether all bytes have been written, and the rank may read more.
  bool wants_more() const { return pipe_ && bytes_.empty(); }

 private:
  rank_input(io::event_loop* loop, std::function<void(size_t)> written)
      : loop_(loop), written_(std::move(written)) {}
  void write_some();
  void close();

  io::event_loop* const loop_;
  const std::function<void(size_t)> written_;
  io::unique_fd rank_end_;
  io::unique_fd pipe_;  // invalid: closed
  io::event_loop::id watched_ = 0;
  std::string bytes_;  // not yet written
  bool ends_ = false;  // after bytes_
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_STANDARD_INPUT_H_
