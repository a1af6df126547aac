#include "lci/testing/write_watch/write_watch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

#include "lci/base/check.h"
#include "lci/base/sanitizer.h"
#include "lci/base/strings.h"
#include "lci/testing/library_call/library_call.h"
#include "lci/testing/write_watch/watched_calls.h"

namespace lci::base {

#if defined(__x86_64__)
namespace {

constexpr size_t page_size = 4096;
constexpr size_t cache_line_size = 64;
constexpr size_t max_lines = size_t{1} << 16;
// Pages that one instruction may write to.
constexpr size_t max_open = 4;
// Stack of the handlers. It cannot be the body's own stack, which may be anywhere.
constexpr size_t handler_stack_size = size_t{64} << 10;
constexpr greg_t trap_flag = 0x100;
constexpr greg_t write_fault = 2;

struct range {
  uintptr_t first;
  uintptr_t end;
};

struct written {
  uintptr_t line;
  writers by;
};

// The owner of an instruction.
enum class place : uint8_t {
  program,
  caller,  // the C library and the like, and system calls: act for their caller
  library,
};
struct writer {
  const void* instruction;
  bool is_library;
};

// Everything that the handlers write to, in memory that is never made read-only.
struct watch_state {
  range watched[1024];
  size_t watched_count;
  written lines[max_lines];  // a hash table; line 0: empty
  size_t line_count;
  // Pages that the current instruction has been allowed to write to, with their previous bytes.
  uintptr_t open[max_open];
  unsigned char before[max_open][page_size];
  writer by;
  size_t open_count;
  instruction_count steps;
  unsigned char stack[handler_stack_size];
};

watch_state* state = nullptr;

// The thread whose writes are watched; 0: none.
std::atomic<int> watched_thread{0};
static_assert(sizeof(watched_thread) == sizeof(int));

void futex(int operation, int value) {
  syscall(SYS_futex, &watched_thread, operation, value, nullptr, nullptr, 0);
}

[[noreturn]] void give_up(const char* why) {
  // Called in a signal handler.
  if (write(STDERR_FILENO, why, std::strlen(why)) < 0) std::abort();
  std::abort();
}

void note(uintptr_t line) {
  // Most lines are written many times.
  for (size_t i = line * 0x9e3779b97f4a7c15 % max_lines;; i = (i + 1) % max_lines) {
    written& entry = state->lines[i];
    if (entry.line == 0) {
      if (++state->line_count == max_lines) give_up("write_watch: too many lines\n");
      entry.line = line;
    } else if (entry.line != line) {
      continue;
    }
    const void*& first = state->by.is_library ? entry.by.library : entry.by.program;
    if (first == nullptr) first = state->by.instruction;
    return;
  }
}

// Code that was loaded when the program began.
class code_at_start {
 public:
  code_at_start() { dl_iterate_phdr(add, this); }

  place at(uintptr_t address) const {
    for (size_t i = 0; i < count_; ++i) {
      if (address < code_[i].first || address >= code_[i].end) continue;
      return i < of_program_ && !is_watched_call(address) ? place::program : place::caller;
    }
    return place::library;
  }

 private:
  // The program is the first object.
  static int add(dl_phdr_info* object, size_t, void* to) {
    auto& made = *static_cast<code_at_start*>(to);
    const bool is_program = made.objects_++ == 0;
    for (size_t i = 0; i < object->dlpi_phnum && made.count_ < std::size(made.code_); ++i) {
      const auto& segment = object->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      const uintptr_t first = object->dlpi_addr + segment.p_vaddr;
      made.code_[made.count_++] = {first, first + segment.p_memsz};
      if (is_program) made.of_program_ = made.count_;
    }
    return 0;
  }

  range code_[128] = {};
  size_t count_ = 0;
  size_t of_program_ = 0;  // the first of_program_ entries belong to the program
  size_t objects_ = 0;
};
const code_at_start at_start;

// State of a walk along the callers of an instruction, until one determines its owner.
struct search {
  const void* interrupted;
  bool inside;  // the walk has left the handler for the interrupted code
  writer found;
};

_Unwind_Reason_Code visit(_Unwind_Context* frame, void* of) {
  auto& looking = *static_cast<search*>(of);
  int is_interrupted = 0;
  uintptr_t address = _Unwind_GetIPInfo(frame, &is_interrupted);
  if (reinterpret_cast<const void*>(address) == looking.interrupted && is_interrupted != 0) {
    looking.inside = true;
  }
  if (!looking.inside) return _URC_NO_REASON;
  if (is_interrupted == 0) --address;  // the call itself, not the instruction after it
  const place here = at_start.at(address);
  if (here == place::caller) return _URC_NO_REASON;
  looking.found = {reinterpret_cast<const void*>(address), here == place::library};
  return _URC_END_OF_STACK;
}

// Attributes the write to the program if its owner cannot be determined.
writer find_writer(const void* instruction) {
  if (library_call::is_under_way()) return {instruction, true};
  const place here = at_start.at(reinterpret_cast<uintptr_t>(instruction));
  if (here != place::caller) return {instruction, here == place::library};
  search looking = {instruction, false, {instruction, false}};
  _Unwind_Backtrace(visit, &looking);
  return looking.found;
}

bool is_watched(uintptr_t address) {
  for (size_t i = 0; i < state->watched_count; ++i) {
    if (address >= state->watched[i].first && address < state->watched[i].end) return true;
  }
  return false;
}

void protect(uintptr_t first, size_t size, int protection) {
  if (mprotect(reinterpret_cast<void*>(first), size, protection) != 0) {
    give_up("write_watch: mprotect failed\n");
  }
}

// Another thread writes, which the kernel has woken for another reason (a stop and continue of the
// process): it repeats the write when writes are allowed again.
void wait_for_end(int watched) {
  const int error = errno;
  while (watched_thread.load(std::memory_order_acquire) == watched) {
    futex(FUTEX_WAIT_PRIVATE, watched);
  }
  errno = error;
}

// Handles a write fault: lets the write proceed, once.
void on_fault(int, siginfo_t* info, void* context) {
  const int watched = watched_thread.load(std::memory_order_relaxed);
  if (gettid() != watched) {
    if (watched == 0) signal(SIGSEGV, SIG_DFL);  // a genuine fault: it recurs
    return wait_for_end(watched);
  }
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if ((registers[REG_ERR] & write_fault) == 0 || !is_watched(address)) {
    signal(SIGSEGV, SIG_DFL);  // a genuine fault: it recurs
    return;
  }
  const uintptr_t page = address / page_size * page_size;
  if (state->open_count == max_open) give_up("write_watch: an instruction of too many pages\n");
  // (The writer is the same if the instruction faults on a second page.)
  if (state->open_count == 0) {
    state->by = find_writer(reinterpret_cast<const void*>(registers[REG_RIP]));
  }
  std::memcpy(state->before[state->open_count], reinterpret_cast<const void*>(page), page_size);
  state->open[state->open_count++] = page;
  protect(page, page_size, PROT_READ | PROT_WRITE);
  note(address / cache_line_size);
  registers[REG_EFL] |= trap_flag;
}

// The instruction is complete.
void on_step(int, siginfo_t*, void* context) {
  for (; state->open_count > 0; --state->open_count) {
    const uintptr_t page = state->open[state->open_count - 1];
    const unsigned char* before = state->before[state->open_count - 1];
    for (size_t offset = 0; offset < page_size; offset += cache_line_size) {
      if (std::memcmp(before + offset, reinterpret_cast<const void*>(page + offset),
                      cache_line_size) != 0) {
        note((page + offset) / cache_line_size);
      }
    }
    protect(page, page_size, PROT_READ);
  }
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
}

void on_counted_step(int, siginfo_t*, void* context) {
  ++state->steps.all;
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (!library_call::is_under_way() &&
      at_start.at(static_cast<uintptr_t>(registers[REG_RIP])) == place::program) {
    ++state->steps.program;
  }
}

// Installs the handlers and their stack during its lifetime.
class handlers {
 public:
  handlers(void (*fault)(int, siginfo_t*, void*), void (*step)(int, siginfo_t*, void*)) {
    void* memory = mmap(nullptr, sizeof(watch_state), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    LCI_CHECK(memory != MAP_FAILED, "mmap");
    state = static_cast<watch_state*>(memory);
    stack_t stack = {};
    stack.ss_sp = state->stack;
    stack.ss_size = sizeof(state->stack);
    LCI_CHECK(sigaltstack(&stack, &old_stack_) == 0, "errno ", errno);
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = step;
    LCI_CHECK(sigaction(SIGTRAP, &action, &old_step_) == 0, "errno ", errno);
    if (fault == nullptr) return;
    action.sa_sigaction = fault;
    has_fault_ = true;
    LCI_CHECK(sigaction(SIGSEGV, &action, &old_fault_) == 0, "errno ", errno);
  }
  ~handlers() {
    if (has_fault_) sigaction(SIGSEGV, &old_fault_, nullptr);
    sigaction(SIGTRAP, &old_step_, nullptr);
    sigaltstack(&old_stack_, nullptr);
    munmap(state, sizeof(watch_state));
    state = nullptr;
  }
  handlers(const handlers&) = delete;
  handlers& operator=(const handlers&) = delete;

 private:
  stack_t old_stack_ = {};
  struct sigaction old_fault_ = {};
  struct sigaction old_step_ = {};
  bool has_fault_ = false;
};

// Address of the first thread's control block.
const auto first_thread = reinterpret_cast<uintptr_t>(pthread_self());

// The mapping of the calling thread's stack, which includes its thread-local variables.
range own_stack() {
  pthread_attr_t attributes;
  void* first = nullptr;
  size_t size = 0;
  LCI_CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0, "no attributes");
  LCI_CHECK(pthread_attr_getstack(&attributes, &first, &size) == 0, "no stack");
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<uintptr_t>(first);
  return {begin, begin + size};
}

// Lists all writable memory except for `excepted`.
void list_writable(const std::vector<range>& excepted) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  LCI_CHECK(maps != nullptr, "/proc/self/maps");
  char line[512];
  const auto add = [](uintptr_t first, uintptr_t end) {
    if (first == end) return;
    LCI_CHECK(state->watched_count < std::size(state->watched), "too many mappings");
    state->watched[state->watched_count++] = {first, end};
  };
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long first = 0;
    unsigned long end = 0;
    char rights[5] = {};
    if (std::sscanf(line, "%lx-%lx %4s", &first, &end, rights) != 3) continue;
    if (std::strncmp(rights, "rw-", 3) != 0) continue;
    // Stack of the first thread, and mappings of the kernel.
    if (std::strstr(line, "[stack]") != nullptr || std::strstr(line, "[v") != nullptr) continue;
    uintptr_t from = first;
    // (The holes are sorted by address.)
    for (const range& hole : excepted) {
      if (hole.end <= from || hole.first >= end) continue;
      if (hole.first > from) add(from, hole.first);
      from = std::max(from, hole.end);
    }
    if (from < end) add(from, end);
  }
  std::fclose(maps);
}

// Whether thread `id` of this process waits in the kernel, or has ended.
bool is_asleep(const char* id) {
  std::FILE* stat = std::fopen(StrCat("/proc/self/task/", id, "/stat").c_str(), "re");
  if (stat == nullptr) return true;
  char line[512] = {};
  const bool read = std::fgets(line, sizeof(line), stat) != nullptr;
  std::fclose(stat);
  // After the name, which may contain any characters.
  const char* end = std::strrchr(line, ')');
  return !read || (end != nullptr && end[1] == ' ' && end[2] == 'S');
}

// Waits until all threads except the calling one wait in the kernel.
void wait_for_others() {
  const std::string self = StrCat(gettid());
  for (bool all = false; !all;) {
    all = true;
    DIR* const tasks = opendir("/proc/self/task");
    LCI_CHECK(tasks != nullptr, "/proc/self/task");
    while (const dirent* task = readdir(tasks)) {
      if (task->d_name[0] != '.' && self != task->d_name) all = all && is_asleep(task->d_name);
    }
    closedir(tasks);
    if (!all) sched_yield();
  }
}

// The kernel knows an address in the control block of each thread, which lies at the end of its
// stack.
uintptr_t control_block(pid_t thread) {
  void* head = nullptr;
  size_t size = 0;
  const long failed = syscall(SYS_get_robust_list, thread, &head, &size);
  return failed == 0 ? reinterpret_cast<uintptr_t>(head) : 0;
}

// Memory that a woken thread needs to reach wait_for_end: its stack from its stack pointer, with
// room for the handler, to its control block, to which the kernel writes.
std::vector<range> needs_of_others() {
  constexpr uintptr_t room = uintptr_t{64} << 10;
  const auto page_of = [](uintptr_t address) { return address / page_size * page_size; };
  std::vector<range> all = {{page_of(first_thread), page_of(first_thread) + 2 * page_size}};
  const uintptr_t behind = own_stack().end - control_block(gettid());  // equal in all threads
  const std::string self = StrCat(gettid());
  DIR* const tasks = opendir("/proc/self/task");
  LCI_CHECK(tasks != nullptr, "/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    // (The stack of the first thread is not watched at all.)
    if (task->d_name[0] == '.' || self == task->d_name) continue;
    const int number = std::atoi(task->d_name);
    const uintptr_t block = control_block(number);
    if (number == getpid() || block == 0) continue;
    std::FILE* call =
        std::fopen(StrCat("/proc/self/task/", task->d_name, "/syscall").c_str(), "re");
    if (call == nullptr) continue;
    unsigned long stack = 0;
    // The call's number and six arguments, the stack pointer, and the instruction.
    const int read = std::fscanf(call, "%*s %*s %*s %*s %*s %*s %*s %lx", &stack);
    std::fclose(call);
    if (read == 1 && stack < block) all.push_back({page_of(stack) - room, block + behind});
  }
  closedir(tasks);
  return all;
}

// (The function may have variables below the stack pointer.)
inline void set_trap_flag() {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
      "leaq 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}
inline void clear_trap_flag() {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
      "leaq 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}

// Makes the watched memory read-only during its lifetime.
class read_only {
 public:
  read_only() {
    watched_thread.store(gettid(), std::memory_order_release);
    protect_all(PROT_READ);
  }
  ~read_only() {
    protect_all(PROT_READ | PROT_WRITE);
    watched_thread.store(0, std::memory_order_release);
    futex(FUTEX_WAKE_PRIVATE, INT_MAX);
  }
  read_only(const read_only&) = delete;
  read_only& operator=(const read_only&) = delete;

 private:
  static void protect_all(int protection) {
    for (size_t i = 0; i < state->watched_count; ++i) {
      const range& each = state->watched[i];
      protect(each.first, each.end - each.first, protection);
    }
  }
};

}  // namespace

bool can_watch_writes() {
#if defined(LCI_BASE_ADDRESS_SANITIZER) || defined(LCI_BASE_THREAD_SANITIZER)
  return false;
#else
  const char* preloaded = std::getenv("LD_PRELOAD");
  return preloaded == nullptr || std::strstr(preloaded, "vgpreload") == nullptr;
#endif
}

written_lines lines_written_by(const std::function<void()>& body) {
  LCI_CHECK(can_watch_writes(), "see the header");
  const handlers installed(on_fault, on_step);
  const auto own = reinterpret_cast<uintptr_t>(state);
  // The first walk creates the data that all walks need.
  find_writer(reinterpret_cast<const void*>(&std::memcpy));
  wait_for_others();
  std::vector<range> excepted = needs_of_others();
  excepted.push_back({own, own + (sizeof(watch_state) + page_size - 1) / page_size * page_size});
  excepted.push_back(own_stack());
  std::sort(excepted.begin(), excepted.end(),
            [](const range& one, const range& other) { return one.first < other.first; });
  list_writable(excepted);
  {
    const read_only watched;
    const watched_calls bounced;
    body();
  }
  written_lines result;
  for (const written& each : state->lines) {
    if (each.line != 0) result.emplace(each.line, each.by);
  }
  return result;
}

instruction_count instructions_of(const std::function<void()>& body) {
  LCI_CHECK(can_watch_writes(), "see the header");
  const handlers installed(nullptr, on_counted_step);
  set_trap_flag();
  body();
  clear_trap_flag();
  return state->steps;
}

#else

bool can_watch_writes() { return false; }
written_lines lines_written_by(const std::function<void()>&) { LCI_CHECK(false, "see the header"); }
instruction_count instructions_of(const std::function<void()>&) {
  LCI_CHECK(false, "see the header");
}

#endif

std::string describe_instruction(const void* instruction) {
  Dl_info info;
  if (dladdr(instruction, &info) == 0 || info.dli_fname == nullptr) return "(unknown)";
  const auto at = reinterpret_cast<uintptr_t>(instruction);
  const auto base = reinterpret_cast<uintptr_t>(info.dli_fbase);
  const char* slash = std::strrchr(info.dli_fname, '/');
  return StrCat(info.dli_sname == nullptr ? "" : info.dli_sname, " (",
                slash == nullptr ? info.dli_fname : slash + 1, "+0x", Hex(at - base), ")");
}

}  // namespace lci::base
