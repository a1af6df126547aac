// Tells a person where in a file something is.
#ifndef EXAMPLES_KMER_LOCATE_H_
#define EXAMPLES_KMER_LOCATE_H_

#include <cstdint>
#include <string>

#include "examples/kmer/records.h"

namespace kmer {

// "record 12, line 45, base 17 (name)" for byte `offset` of the file's text. Reads the file from
// its beginning, since a piece of it does not know what came before. The base is left out where
// the byte is not one. An offset beyond the text means its end. Throws input_error.
std::string locate(const std::string& path, text_format format, uint64_t offset);

}  // namespace kmer

#endif  // EXAMPLES_KMER_LOCATE_H_
