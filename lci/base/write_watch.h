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

// The first instructions that wrote to a line: one of the program, and one of a library. Null:
// none.
//
// A library is what was loaded after the program had begun (by dlopen), or is under way in a
// library_call. What the program was linked with and so is there from the start (the C library,
// that of C++) writes for its caller, whose call then is the instruction; so does the kernel.
// Callers are found by their unwind tables.
struct writers {
  const void* program = nullptr;
  const void* library = nullptr;
};

// The lines of 64 bytes, by number (address / 64).
using written_lines = std::map<uintptr_t, writers>;

// Runs `body`, and says which lines of memory it has written, those of the calling thread's stack
// and thread-local variables excepted. All memory that can be written is made read-only meanwhile:
// each write faults, is let through by a single step, and noted. What the kernel writes for the
// program is noted if the call is one of watched_calls.h; else it fails (EFAULT). Memory that is
// mapped in the body is not watched. A write that reaches into a second line and changes nothing
// there is not seen to.
//
// One call at a time in a process, not from its first thread. It begins when all other threads wait
// in the kernel, which they go on to do: one that is woken nevertheless, as by a stop and continue
// of the process, waits for the body's end before it writes to what is watched. (That is not its
// own stack, from 64 KiB below where it waits.)
written_lines lines_written_by(const std::function<void()>& body);

// Instructions that the calling thread executes in `body`: all, and those of the program itself,
// without libraries (what the program was linked with among them) and library_calls.
struct instruction_count {
  uint64_t all = 0;
  uint64_t program = 0;
};
// One call at a time in a process.
instruction_count instructions_of(const std::function<void()>& body);

// "function+0x12 (program)", for messages.
std::string describe_instruction(const void* instruction);

}  // namespace lci::base

#endif  // LCI_BASE_WRITE_WATCH_H_
