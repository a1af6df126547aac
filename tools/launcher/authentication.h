// The codes by which lcrun and a helper prove to each other that they have the
// token of the job.
#ifndef LCI_TOOLS_LAUNCHER_AUTHENTICATION_H_
#define LCI_TOOLS_LAUNCHER_AUTHENTICATION_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace lci::launcher {

constexpr size_t nonce_size = 16;

// Random bytes that no other connection has. Empty if the kernel gives none.
std::string make_nonce();

// The code of each side. `nonces` is the nonce of the helper and that of lcrun,
// joined.
std::string proof_of_lcrun(std::string_view token, std::string_view nonces);
std::string proof_of_helper(std::string_view token, std::string_view nonces);

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_AUTHENTICATION_H_
