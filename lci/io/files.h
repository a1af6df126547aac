// Whole files and directories, such as those of /proc.
#ifndef LCI_IO_FILES_H_
#define LCI_IO_FILES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lci::io {

// nullopt: the file can't be read, and errno says why.
std::optional<std::string> read_file(const std::string& path);

// The first bytes of a file, as many as `buffer` of `size` bytes holds, without an allocation;
// errors as read_file().
std::optional<std::string_view> read_file(const char* path, char* buffer, size_t size);

// The names in a directory, also "." and "..", in any order. Empty: it can't be read, and errno
// says why.
std::vector<std::string> list_directory(const std::string& path);
// As above, for an open directory. It may have been moved.
std::vector<std::string> list_directory(int directory);

}  // namespace lci::io

#endif  // LCI_IO_FILES_H_
