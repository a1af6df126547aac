// For tests: observes, instruction by instruction, what a piece of code writes to memory and how
// many instructions it executes, in the program as it is built for users.
#ifndef LCI_TESTING_WRITE_WATCH_WRITE_WATCH_H_
#define LCI_TESTING_WRITE_WATCH_WRITE_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace lci::base {

// Whether the watch works here: x86-64, and not under a sanitizer or Valgrind, which control the
// signals and the memory.
bool can_watch_writes();

// The first instructions that wrote to a line: one of the program, and one of a library. Null: no
// such instruction.
//
// A library is code that was loaded after the program had begun (by dlopen), or that runs in a
// library_call. Objects that the program was linked with (the C library, the C++ library) write for
// their caller, whose call then counts as the instruction; so does the kernel. Callers are found by
// their unwind tables.
struct writers {
  const void* program = nullptr;
  const void* library = nullptr;
};

// Lines of 64 bytes, by number (address / 64).
using written_lines = std::map<uintptr_t, writers>;

// Runs `body`, and returns the lines of memory it has written, except for those of the calling
// thread's stack and thread-local variables. All writable memory is made read-only meanwhile: each
// write faults, proceeds as a single step, and is recorded. A write of the kernel for the program
// is recorded if the call is one of watched_calls.h; otherwise the call fails (EFAULT). Memory that
// is mapped in the body is not watched. A write that extends into a second line without changing
// that line is recorded for the first line only.
//
// One call at a time in a process, not from its first thread. The call begins when all other
// threads wait in the kernel, and they must keep waiting. A thread that is woken nevertheless, as
// by a stop and continue of the process, waits for the end of the body before it writes to watched
// memory. (Its own stack, from 64 KiB below its stack pointer, is not watched.)
written_lines lines_written_by(const std::function<void()>& body);

// Instructions that the calling thread executes in `body`: all, and those of the program itself,
// without libraries (including those that the program was linked with) and library_calls.
struct instruction_count {
  uint64_t all = 0;
  uint64_t program = 0;
};
// One call at a time in a process.
instruction_count instructions_of(const std::function<void()>& body);

// "function+0x12 (program)", for messages.
std::string describe_instruction(const void* instruction);

}  // namespace lci::base

#endif  // LCI_TESTING_WRITE_WATCH_WRITE_WATCH_H_
