// For tests: what a piece of code does to memory, and how long it is, seen instruction by
// instruction in the program as it is built for users.
#ifndef LCI_BASE_WRITE_WATCH_H_
#define LCI_BASE_WRITE_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace lci::base {

// Whether it works here: x86-64, and not under a sanitizer or Valgrind, which own the signals and
// the memory.
bool can_watch_writes();

// The lines of 64 bytes, by number (address / 64), and the first instruction that wrote there.
using written_lines = std::map<uintptr_t, const void*>;

// Runs `body`, and says which lines of memory it has written, those of the calling thread's stack
// and thread-local variables excepted. All memory that can be written is made read-only meanwhile:
// each write faults, is let through by a single step, and noted. What the kernel writes for the
// program fails (EFAULT): the body makes no such system call. A write that reaches into a second
// line and changes nothing there is not seen to.
//
// One call at a time in a process, not from its first thread. It begins when all other threads wait
// in the kernel, which they must go on to do: a write of theirs ends the process.
written_lines lines_written_by(const std::function<void()>& body);

// Instructions that the calling thread executes in `body`. One call at a time in a process.
uint64_t instructions_of(const std::function<void()>& body);

// "function+0x12 (program)", for messages.
std::string describe_instruction(const void* instruction);

}  // namespace lci::base

#endif  // LCI_BASE_WRITE_WATCH_H_
