#ifndef LCI_TOOLS_INFO_PRINT_H_
#define LCI_TOOLS_INFO_PRINT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace lci::info {

// "name": "value"
std::string pair(std::string_view name, std::string_view value);

// `text` in lines of at most `width` columns, each after `indent` spaces.
std::string wrapped(std::string_view text, size_t indent, size_t width);
constexpr size_t text_width = 100;

}  // namespace lci::info

#endif  // LCI_TOOLS_INFO_PRINT_H_
