/// @file
/// LCI: a communication library for programs with many threads per process. Include this header,
/// link liblci.so.2 or liblci.a, and start the program with lcrun.
#ifndef LCI_API_LCI_HPP_
#define LCI_API_LCI_HPP_

#if __cplusplus < 201703L
#error "LCI requires C++17 or later: give the compiler -std=c++17"
#else

// Existing programs rely on these.
#include <cstdint>     // IWYU pragma: export
#include <cstring>     // IWYU pragma: export
#include <functional>  // IWYU pragma: export
#include <memory>      // IWYU pragma: export
#include <stdexcept>   // IWYU pragma: export
#include <string>      // IWYU pragma: export
#include <vector>      // IWYU pragma: export

#include "lci/api/argument.hpp"         // IWYU pragma: export
#include "lci/api/atomic.hpp"           // IWYU pragma: export
#include "lci/api/attr.hpp"             // IWYU pragma: export
#include "lci/api/block.hpp"            // IWYU pragma: export
#include "lci/api/coll.hpp"             // IWYU pragma: export
#include "lci/api/comm.hpp"             // IWYU pragma: export
#include "lci/api/comp.hpp"             // IWYU pragma: export
#include "lci/api/config.hpp"           // IWYU pragma: export
#include "lci/api/counters.hpp"         // IWYU pragma: export
#include "lci/api/device.hpp"           // IWYU pragma: export
#include "lci/api/domains.hpp"          // IWYU pragma: export
#include "lci/api/graph.hpp"            // IWYU pragma: export
#include "lci/api/group.hpp"            // IWYU pragma: export
#include "lci/api/matching_engine.hpp"  // IWYU pragma: export
#include "lci/api/memory.hpp"           // IWYU pragma: export
#include "lci/api/net.hpp"              // IWYU pragma: export
#include "lci/api/option.hpp"           // IWYU pragma: export
#include "lci/api/packet_pool.hpp"      // IWYU pragma: export
#include "lci/api/persistent_coll.hpp"  // IWYU pragma: export
#include "lci/api/plan.hpp"             // IWYU pragma: export
#include "lci/api/post.hpp"             // IWYU pragma: export
#include "lci/api/resource.hpp"         // IWYU pragma: export
#include "lci/api/runtime.hpp"          // IWYU pragma: export
#include "lci/api/signal.hpp"           // IWYU pragma: export
#include "lci/api/thread_team.hpp"      // IWYU pragma: export
#include "lci/api/types.hpp"            // IWYU pragma: export

#endif

#endif  // LCI_API_LCI_HPP_
