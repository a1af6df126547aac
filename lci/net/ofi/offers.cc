#include "lci/net/ofi/offers.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "lci/base/strings.h"
#include "lci/net/ofi/provider_facts.h"

namespace lci::net::ofi {
namespace {

// The addresses that ranks with different interfaces have.
std::unordered_set<std::string_view> find_ambiguous(const std::vector<rank_offer>& ranks,
                                                    std::string_view provider) {
  std::unordered_map<std::string_view, uint64_t> owners;
  std::unordered_set<std::string_view> found;
  for (const rank_offer& rank : ranks) {
    const provider_offer* offer = rank.find(provider);
    if (offer == nullptr) continue;
    for (const offered_address& one : offer->addresses) {
      const auto [owner, is_new] = owners.try_emplace(one.address, rank.interfaces);
      if (!is_new && owner->second != rank.interfaces) found.insert(one.address);
    }
  }
  return found;
}

// By rank: the addresses that no other host has.
std::vector<std::vector<offered_address>> find_usable(const std::vector<rank_offer>& ranks,
                                                      std::string_view provider) {
  const std::unordered_set<std::string_view> ambiguous = find_ambiguous(ranks, provider);
  std::vector<std::vector<offered_address>> usable(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    const provider_offer* offer = ranks[r].find(provider);
    if (offer == nullptr) continue;
    for (const offered_address& one : offer->addresses) {
      if (ambiguous.count(one.address) == 0) usable[r].push_back(one);
    }
  }
  return usable;
}

const offered_address* find_in(const std::vector<offered_address>& addresses,
                               std::string_view network) {
  const auto found = std::find_if(addresses.begin(), addresses.end(),
                                  [&](const auto& one) { return one.network == network; });
  return found == addresses.end() ? nullptr : &*found;
}

bool has_address(const rank_offer& rank, std::string_view provider, std::string_view address) {
  const provider_offer* offer = rank.find(provider);
  return offer != nullptr && std::any_of(offer->addresses.begin(), offer->addresses.end(),
                                         [&](const auto& one) { return one.address == address; });
}

// The answer of choose_address() for a rank that has no address of its own.
base::StatusOr<std::string> without_usable(const std::vector<rank_offer>& ranks,
                                           std::string_view provider, int rank) {
  const rank_offer& own = ranks[static_cast<size_t>(rank)];
  const provider_offer* offer = own.find(provider);
  if (offer == nullptr || offer->addresses.empty()) return std::string();
  const std::string& address = offer->addresses[0].address;
  const auto other = std::find_if(ranks.begin(), ranks.end(), [&](const rank_offer& each) {
    return each.interfaces != own.interfaces && has_address(each, provider, address);
  });
  return base::FailedPreconditionError(base::StrCat(
      "rank ", rank, " and rank ", other - ranks.begin(), " both have the address ", address,
      " in different networks; give their containers the network of the host (--network host), or "
      "name another interface (device_name)"));
}

}  // namespace

const provider_offer* rank_offer::find(std::string_view provider) const {
  const auto found = std::find_if(providers.begin(), providers.end(),
                                  [&](const auto& one) { return one.provider == provider; });
  return found == providers.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const std::vector<provider_offer>& providers) {
  std::vector<std::string> names;
  names.reserve(providers.size());
  for (const provider_offer& offer : providers) names.push_back(offer.provider);
  return names;
}

std::string encode(const std::vector<provider_offer>& providers) {
  std::string text;
  for (const provider_offer& offer : providers) {
    base::StrAppend(&text, text.empty() ? "" : "\n", offer.provider);
    for (const offered_address& one : offer.addresses) {
      base::StrAppend(&text, " ", one.address, " ", one.network);
    }
  }
  return text;
}

base::StatusOr<std::vector<provider_offer>> decode(std::string_view text) {
  std::vector<provider_offer> providers;
  for (const std::string_view line : base::StrSplit(text, '\n')) {
    const std::vector<std::string_view> words = base::StrSplit(line, ' ');
    if (words[0].empty() || words.size() % 2 == 0) {
      return base::FailedPreconditionError(
          base::StrCat("\"", line, "\" is no provider with its addresses"));
    }
    provider_offer offer;
    offer.provider = words[0];
    for (size_t i = 1; i < words.size(); i += 2) {
      offer.addresses.push_back({std::string(words[i]), std::string(words[i + 1])});
    }
    providers.push_back(std::move(offer));
  }
  return providers;
}

base::StatusOr<std::string> choose_common(const std::vector<rank_offer>& ranks) {
  std::string best;
  if (!ranks.empty()) {
    for (const provider_offer& offer : ranks[0].providers) {
      const std::string& name = offer.provider;
      const bool common = std::all_of(ranks.begin(), ranks.end(), [&](const rank_offer& rank) {
        return rank.find(name) != nullptr;
      });
      if (common && (best.empty() || preference(name) < preference(best))) best = name;
    }
  }
  if (!best.empty()) return best;
  std::string lists;
  for (size_t r = 0; r < ranks.size() && r < 8; ++r) {
    base::StrAppend(&lists, r == 0 ? "" : "; ", "rank ", r, ": ",
                    base::StrJoin(names_of(ranks[r].providers), ", "));
  }
  return base::FailedPreconditionError(
      base::StrCat("no provider of libfabric is on all ranks (", lists, ")"));
}

base::StatusOr<std::string> choose_address(const std::vector<rank_offer>& ranks,
                                           std::string_view provider, int rank,
                                           const find_source& source_of) {
  const std::vector<std::vector<offered_address>> usable = find_usable(ranks, provider);
  const std::vector<offered_address>& own = usable[static_cast<size_t>(rank)];
  if (own.empty()) return without_usable(ranks, provider, rank);
  for (const offered_address& first : usable[0]) {
    const bool is_common = std::all_of(usable.begin(), usable.end(), [&](const auto& addresses) {
      return find_in(addresses, first.network) != nullptr;
    });
    if (is_common) return find_in(own, first.network)->address;
  }
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].interfaces == ranks[static_cast<size_t>(rank)].interfaces) continue;
    for (const offered_address& other : usable[r]) {
      std::string source = source_of(other.address);
      const bool is_own = std::any_of(own.begin(), own.end(),
                                      [&](const auto& one) { return one.address == source; });
      if (is_own) return source;
    }
  }
  return own[0].address;
}

}  // namespace lci::net::ofi
