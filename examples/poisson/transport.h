// The interface between the solver and its communication. The solver is the same program over all
// implementations.
#ifndef EXAMPLES_POISSON_TRANSPORT_H_
#define EXAMPLES_POISSON_TRANSPORT_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "examples/poisson/layout.h"
#include "examples/poisson/times.h"

namespace poisson {

// A message of another rank, or to one. Not of or to oneself.
struct message {
  int peer = 0;
  int tag = 0;     // of several between the same two ranks; below 16
  int region = 0;  // of transport::allocate
  layout bytes;
};

// Messages that are sent and received together, again and again.
struct pattern {
  std::vector<message> sends;
  std::vector<message> receives;
  // If not empty: these ranks, this one among them and in the same order for all, each with each.
  // One message each way, in this order.
  std::vector<int> all_to_all;
};

// A pattern that is ready to run.
//
// There is no call that says that a receiver is ready. The sender that starts an exchange knows,
// from the messages that its receivers have sent since, that they have used the data of its last
// round (UNR paper, section V-A); solver.h says why.
class exchange {
 public:
  virtual ~exchange() = default;
  // The data to be sent may be read from now on.
  virtual void start() = 0;
  // To be called after start. Returns when all data of this round have arrived. The sent data may
  // be overwritten when every receiver has answered, as above.
  virtual void wait() = 0;
};

// For one thread. Calls of all ranks come in the same order.
class transport {
 public:
  virtual ~transport() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // Zero bytes, aligned to 64, until the end of the transport. Returns their region: 0, 1, ...
  virtual int allocate(size_t bytes) = 0;
  virtual char* address(int region) const = 0;
  // Collective. `clock` counts the time that the exchange itself takes.
  virtual std::unique_ptr<exchange> connect(const pattern& messages, work_clock& clock) = 0;
  virtual void barrier() = 0;
  virtual double maximum(double value) = 0;  // of all ranks
};

// One rank, without anybody to talk to.
class local_transport final : public transport {
 public:
  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  int allocate(size_t bytes) override;
  char* address(int region) const override;
  std::unique_ptr<exchange> connect(const pattern& messages, work_clock& clock) override;
  void barrier() override {}
  double maximum(double value) override { return value; }

 private:
  struct release {
    void operator()(char* memory) const;
  };
  std::vector<std::unique_ptr<char, release>> regions_;
};

// For those whose messages are contiguous: packs, then sends, and receives, then unpacks. But what
// lies together in one region anyway is sent from there, or received there.
class packing_exchange : public exchange {
 public:
  // Not `receives_in_place`: all is received into incoming().
  packing_exchange(const pattern& messages, const transport& owner, work_clock& clock,
                   bool receives_in_place = true);
  void start() final;
  void wait() final;

 protected:
  struct packed {
    int peer;
    int tag;
    size_t offset;  // in outgoing() or incoming()
    size_t size;
  };
  // Of the messages of the pattern, in their order.
  const std::vector<packed>& sends() const { return sends_; }
  const std::vector<packed>& receives() const { return receives_; }
  size_t incoming_size() const;
  char* outgoing() { return outgoing_; }
  char* incoming() { return incoming_; }
  // Instead of memory of its own, which is given back. Not with receives_in_place.
  void receive_into(char* memory);

  // The clock counts for work::transfer in the first of these, and for work::wait in the second.
  virtual void send() = 0;
  virtual void receive() = 0;
  // The received data were unpacked.
  virtual void unpacked() {}

 private:
  struct place {
    char* buffer;
    layout bytes;
  };
  std::vector<packed> sends_;
  std::vector<packed> receives_;
  std::vector<place> from_;  // empty: nothing is packed
  std::vector<place> to_;    // empty: nothing is unpacked
  std::vector<char> own_outgoing_;
  std::vector<char> own_incoming_;
  char* outgoing_;
  char* incoming_;
  work_clock& clock_;
};

}  // namespace poisson

#endif  // EXAMPLES_POISSON_TRANSPORT_H_
