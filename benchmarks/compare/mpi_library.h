// Of the programs over MPI: which library they run with.
#ifndef BENCHMARKS_COMPARE_MPI_LIBRARY_H_
#define BENCHMARKS_COMPARE_MPI_LIBRARY_H_

#include <mpi.h>

#include <cstring>
#include <string>

namespace compare {

// The name and version, such as "Open MPI v4.1.4" or "MPICH 4.0.2".
inline std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name;
  for (const char* at = text; *at != '\0' && *at != ',' && *at != '\n' && *at != '"'; ++at) {
    // MPICH writes "MPICH Version:\t4.0.2".
    name += *at == '\t' ? ' ' : *at;
  }
  const size_t word = name.find(" Version:");
  if (word != std::string::npos) {
    name.erase(word, std::strlen(" Version:"));
    name.erase(name.find_last_not_of(' ') + 1);
  }
  return name;
}

}  // namespace compare

#endif  // BENCHMARKS_COMPARE_MPI_LIBRARY_H_
