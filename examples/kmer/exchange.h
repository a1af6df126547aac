// The interface between the counter and the communication library. One file alone implements it
// with LCI, and the tests replace it by a slow network that refuses messages.
#ifndef EXAMPLES_KMER_EXCHANGE_H_
#define EXAMPLES_KMER_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace kmer {

// The network no longer connects all ranks. Nothing can be agreed on any more: the process reports
// it and ends.
class network_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct free_memory {
  void operator()(void* memory) const { std::free(memory); }
};
// Memory of malloc.
using message_buffer = std::unique_ptr<char, free_memory>;

struct message {
  int rank = -1;  // the sender
  uint64_t tag = 0;
  size_t size = 0;
  message_buffer bytes;  // null if size is 0
};

// All members may be called by any thread, each with its own thread number, except that sum() is
// for one thread of each rank. All of them throw network_error.
class exchange {
 public:
  virtual ~exchange() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  // Sends `size` bytes of `buffer` to a rank. False: not now; make progress and try again, and the
  // buffer is untouched. True: the message will arrive. Then the buffer is still the caller's if
  // its contents have been copied already; otherwise it has been taken and is null now, until the
  // exchange frees it.
  virtual bool try_send(int thread, int to, uint64_t tag, message_buffer* buffer, size_t size) = 0;

  // Messages accepted by try_send whose buffers have been taken and are not free yet.
  virtual int64_t unfinished() const = 0;

  // Moves communication forward. True if anything moved.
  virtual bool progress(int thread) = 0;

  // Takes an incoming message. False if there is none.
  virtual bool receive(message* into) = 0;

  // Element by element sums of all ranks' values, on all ranks; so nobody returns before everybody
  // has called it. Makes progress for thread 0 meanwhile.
  virtual void sum(uint64_t* values, size_t count) = 0;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_EXCHANGE_H_
