// Receives without a message, messages without a receive, and large messages that stand still.
#include "lci/observe/findings.h"

#include <algorithm>
#include <string>

#include "lci/base/strings.h"
#include "lci/observe/phrases.h"

namespace lci::observe {
namespace {

using base::StrAppend;
using base::StrCat;
using message = rank_report::message;
using kind = rank_report::message::kind;

class messages {
 public:
  explicit messages(analysis* all) : all_(*all) {}

  void run() {
    look_at_receives();
    look_at_arrivals();
    look_at_transfers();
  }

 private:
  static std::string policies(const message& receive, const message& sent) {
    return StrCat("another matching policy (receive: ", receive.policy, ", message: ", sent.policy,
                  ")");
  }

  static bool fits(const message& receive, const message& sent) {
    return receive.engine == sent.engine && (receive.any_tag || receive.tag == sent.tag);
  }

  void look_at_receives() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const message& receive : rank.messages) {
        if (receive.what == kind::receive && receive.collective == 0) {
          look_at_receive(rank, receive);
        }
      }
    }
  }

  void look_at_receive(const rank_report& rank, const message& receive) {
    const std::string who = StrCat("rank ", rank.rank, " has waited ", since(receive.seconds),
                                   " for a message with ", tag_of(receive), " from ");
    if (receive.peer < 0) {
      std::string others;
      for (const message& sent : rank.messages) {
        if (sent.what != kind::receive && sent.collective == 0) {
          StrAppend(&others, others.empty() ? "" : ", ", tag_of(sent), " from rank ", sent.peer,
                    fits(receive, sent) ? StrCat(" with ", policies(receive, sent)) : "");
        }
      }
      all_.add(
          StrCat(who, "any rank", others.empty() ? "; none has arrived" : "; it has got ", others));
      return;
    }
    if (is_announced(rank.rank, receive)) return;  // the transfer says more
    all_.add_edge(rank.rank, receive.peer);
    std::string instead;
    for (const message& sent : rank.messages) {
      if (sent.what == kind::receive || sent.collective != 0 || sent.peer != receive.peer) {
        continue;
      }
      StrAppend(&instead, instead.empty() ? "" : ", ", tag_of(sent), " (", bytes(sent.size),
                sent.engine == receive.engine ? "" : ", another matching engine",
                fits(receive, sent) ? StrCat(", ", policies(receive, sent)) : "", ")");
    }
    if (!instead.empty()) {
      all_.add(
          StrCat(who, "rank ", receive.peer, ", which has sent ", instead, " instead, unmatched"));
    } else if (all_.has_failed(receive.peer)) {
      all_.add(StrCat(who, "rank ", receive.peer, ", which has failed"));
    } else {
      all_.add(StrCat(who, "rank ", receive.peer, ", which has sent none that is unmatched",
                      all_.state_of(receive.peer)));
    }
  }

  // Whether the sender has announced such a message, which the rank has not read yet.
  bool is_announced(int64_t rank, const message& receive) const {
    const rank_report* const peer = all_.find(receive.peer);
    return peer != nullptr && std::any_of(peer->transfers.begin(), peer->transfers.end(),
                                          [&](const rank_report::transfer& each) {
                                            return each.outgoing && !each.collective &&
                                                   each.peer == rank &&
                                                   (receive.any_tag || each.tag == receive.tag);
                                          });
  }

  void look_at_arrivals() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const message& sent : rank.messages) {
        if (sent.what == kind::receive || sent.collective != 0) continue;
        const bool named = std::any_of(
            rank.messages.begin(), rank.messages.end(), [&sent](const message& receive) {
              return receive.what == kind::receive && receive.collective == 0 &&
                     (receive.peer < 0 || receive.peer == sent.peer);
            });
        if (named) continue;  // with the receive
        if (sent.what == kind::announced) all_.add_edge(sent.peer, rank.rank);
        all_.add(StrCat("rank ", rank.rank, " has no receive for ", sent.count,
                        sent.count == 1 ? " message" : " messages", " with ", tag_of(sent), " (",
                        bytes(sent.size), ") from rank ", sent.peer, ", there ",
                        since(sent.seconds)));
      }
    }
  }

  void look_at_transfers() {
    for (const rank_report& rank : all_.job().ranks) {
      for (const rank_report::transfer& each : rank.transfers) {
        if (each.collective) continue;  // reported for the collective
        if (each.outgoing) all_.add_edge(rank.rank, each.peer);
        const rank_report* peer = all_.find(each.peer);
        // The receiver's side says more.
        const bool is_announced =
            peer != nullptr &&
            std::any_of(peer->messages.begin(), peer->messages.end(), [&](const message& m) {
              return m.what == kind::announced && m.peer == rank.rank;
            });
        if (is_announced || !each.outgoing) continue;
        all_.add(StrCat("rank ", rank.rank, " has announced a message of ", bytes(each.size),
                        " with tag ", each.tag, " to rank ", each.peer, ", which has not taken it",
                        all_.state_of(each.peer)));
      }
    }
  }

  analysis& all_;
};

}  // namespace

void look_at_messages(analysis* all) { messages(all).run(); }

}  // namespace lci::observe
