#ifndef LCI_BOOT_RANK_STATE_H_
#define LCI_BOOT_RANK_STATE_H_

namespace lci::boot {

// A launcher's knowledge of a rank of its job.
enum class rank_state {
  absent,     // has not joined (in this round)
  connected,  // has joined
  finished,   // has left the job (its bootstrap was destroyed)
  lost,       // is gone without leaving
};

}  // namespace lci::boot

#endif  // LCI_BOOT_RANK_STATE_H_
