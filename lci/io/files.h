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

// As above, from the position of an open file on.
std::optional<std::string> read_file(int fd);

// The first bytes of a file, as many as `buffer` of `size` bytes holds, without an allocation;
// errors as read_file().
std::optional<std::string_view> read_file(const char* path, char* buffer, size_t size);

// Writes a file that only its owner can read. Other processes see all of `bytes`, or what was there
// before. False: it can't be written, and errno says why; EEXIST if a file is there already and
// `existing` is keep (where the file system has no hard links, it is replaced).
enum class existing_file { replace, keep };
bool write_private_file(const std::string& path, std::string_view bytes,
                        existing_file existing = existing_file::replace);

// The names in a directory, also "." and "..", in any order. Empty: it can't be read, and errno
// says why.
std::vector<std::string> list_directory(const std::string& path);
// As above, for an open directory. It may have been moved.
std::vector<std::string> list_directory(int directory);

}  // namespace lci::io

#endif  // LCI_IO_FILES_H_
