/// @file
/// LCT, the companion library of LCI.

/// @defgroup lct LCT
/// LCT, the companion library of LCI: logging, performance counters, time, command lines, thread
/// barriers and queues, as runtimes and benchmarks written for LCI use them.
///
/// This is a C++ header whose functions have C linkage. Functions that fail an assertion according
/// to their documentation, and functions that allocate, may throw; call them from C++.
///
/// LCT depends neither on LCI nor on a launcher, and a program may include both "lci.hpp" and
/// "lct.h" in any order. LCT has no functions to bootstrap a job: the ranks of a job find each
/// other in `lci::g_runtime_init`, which needs no help from the program, and which passes the rank
/// to LCT_set_rank.
///
/// **Errors.** A mistake of the caller fails an assertion of the default log context (see
/// LCT_Assert), unless the documentation of the function names another outcome.
///
/// **Thread safety.** Any thread may call any function at any time, unless the documentation of the
/// function states otherwise. A function that frees an object is called once, when no other thread
/// uses the object.
// LCT is one header of more than 400 lines, because the programs written for it include "lct.h" as
// the only header that the original LCT has.
#ifndef LCT_LCT_H_
#define LCT_LCT_H_

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/// @addtogroup lct
/// @{

/// Bytes of a cache line, which the macros below and the library's own layout assume.
#define LCT_CACHE_LINE 64

/// Marks a symbol that a shared library exports.
#define LCT_API __attribute__((visibility("default")))

/// Evaluates `x` as a condition that the compiler expects to hold.
#define LCT_likely(x) __builtin_expect(!!(x), 1)
/// Evaluates `x` as a condition that the compiler expects not to hold.
#define LCT_unlikely(x) __builtin_expect(!!(x), 0)

/// @cond INTERNAL
#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX _POSIX_HOST_NAME_MAX
#endif
/// @endcond

extern "C" {

/// Fills LCT_hostname and makes LCT_log_ctx_default. Calls nest: each needs an LCT_fina, and only
/// the first has an effect. The rest of LCT works without it.
///
/// The environment configures the default log context, by variables that correspond to the
/// arguments of LCT_log_ctx_alloc: LCT_LOG_OUTFILE (filename), LCT_LOG_LEVEL (log_level_str: error,
/// warn, diag, info, debug or trace; default warn), LCT_LOG_WHITELIST and LCT_LOG_BLACKLIST.
LCT_API void LCT_init();

/// Ends one LCT_init; the last one frees LCT_log_ctx_default. A call without an LCT_init prints an
/// error to stderr and does nothing else. No other thread may be using LCT_log_ctx_default.
LCT_API void LCT_fina();

/// The rank in log lines, performance counters and file names; -1 until it is set.
extern LCT_API int LCT_rank;
/// Sets LCT_rank. Call it before other threads use LCT, and before creating log and performance
/// counter contexts whose file names contain the rank.
LCT_API void LCT_set_rank(int rank);
/// Returns LCT_rank.
LCT_API int LCT_get_rank();

/// The name of this host as returned by gethostname(2); "uninitialized" before LCT_init.
extern LCT_API char LCT_hostname[HOST_NAME_MAX + 1];

/// A point in time, or the difference of two, in nanoseconds.
typedef int64_t LCT_time_t;

/// Returns the time of a clock that never goes backward. Its origin is arbitrary but the same for
/// all processes of a host.
LCT_API LCT_time_t LCT_now();
/// Converts a difference to nanoseconds.
LCT_API double LCT_time_to_ns(LCT_time_t time);
/// Converts a difference to microseconds.
LCT_API double LCT_time_to_us(LCT_time_t time);
/// Converts a difference to milliseconds.
LCT_API double LCT_time_to_ms(LCT_time_t time);
/// Converts a difference to seconds.
LCT_API double LCT_time_to_s(LCT_time_t time);

/// Returns `in` with the first occurrence of `from` replaced by `to`. An empty `from` replaces
/// nothing.
/// @return memory that LCT owns, valid until the calling thread's next call of this function.
LCT_API const char* LCT_str_replace_one(const char* in, const char* from, const char* to);

/// Returns `in` with every occurrence of `from` replaced by `to`. The text of `to` is not searched
/// again. An empty `from` replaces nothing.
/// @return memory that LCT owns, valid until the calling thread's next call of this function.
LCT_API const char* LCT_str_replace_all(const char* in, const char* from, const char* to);

/// One word of a dictionary and its value. A null key is the entry for "no word given".
typedef struct {
  const char* key;  ///< The word.
  int val;          ///< Its value.
} LCT_dict_str_int_t;

/// Looks up `key` in the `count` entries of `dict`; a null `key` matches an entry whose key is
/// null.
/// @param val receives the value of the first match, or `default_val` if there is none.
/// @return 1 if an entry matched, otherwise 0.
LCT_API int LCT_str_int_search(LCT_dict_str_int_t dict[], int count, const char* key,
                               int default_val, int* val);

/// Splits `key` at each `delimiter`, looks up the words in `dict`, and combines their values by
/// bitwise or. A word that is not in `dict` contributes nothing and is reported as a warning of the
/// default log context. An empty or null `delimiter` does not split `key`; a null `key` gives 0.
LCT_API uint64_t LCT_parse_arg(LCT_dict_str_int_t dict[], int count, const char* key,
                               const char* delimiter);

/// Returns the number of the calling thread: threads get 0, 1, 2, ... in the order of their first
/// calls of LCT functions that need a number. Numbers of ended threads are not reused.
LCT_API int LCT_get_thread_id();

/// Returns how many threads have got a number so far, including those that have ended.
LCT_API int LCT_get_nthreads();

/// A log context: the destination and the selection of the log lines of one component.
typedef void* LCT_log_ctx_t;

/// The default context, which LCT itself uses. LCT_init creates it; null before that and after the
/// last LCT_fina.
extern LCT_API LCT_log_ctx_t LCT_log_ctx_default;

/// The levels of LCT_log_ctx_default.
enum LCT_log_level_default_t {
  LCT_LOG_ERROR,  ///< "error"
  LCT_LOG_WARN,   ///< "warn"
  LCT_LOG_DIAG,   ///< "diag"
  LCT_LOG_INFO,   ///< "info"
  LCT_LOG_DEBUG,  ///< "debug"
  LCT_LOG_TRACE,  ///< "trace"
  LCT_LOG_MAX     ///< Number of levels; not a level itself.
};

/// Creates a log context. All arguments are copied. A null or empty string means "not given", so
/// that the results of getenv can be passed.
/// @param log_levels_ the names of the levels, most important first; a line of level i carries
///   the i-th name.
/// @param count the number of names.
/// @param default_log_level the context shows lines of this level and of more important ones,
///   unless `log_level_str` is given.
/// @param ctx_name the name of the component in each line.
/// @param filename "stderr" (also if not given), "stdout", or a path to append to, in which the
///   first % is replaced by the rank. If the file cannot be opened, an error on stderr names it and
///   the lines go to stderr.
/// @param log_level_str one of the names, instead of `default_log_level`. An unknown name is
///   reported on stderr and ignored.
/// @param whitelist if given, the context shows only lines whose tag occurs in this string.
/// @param blacklist if given, the context hides lines whose tag occurs in this string.
/// @return a context that the caller frees by LCT_log_ctx_free.
LCT_API LCT_log_ctx_t LCT_log_ctx_alloc(const char* const log_levels_[], int count,
                                        int default_log_level, const char* ctx_name, char* filename,
                                        char* log_level_str, char* whitelist, char* blacklist);

/// Frees a context, closes its file and sets *log_ctx_p to null. A null context is reported as a
/// warning of the default log context.
LCT_API void LCT_log_ctx_free(LCT_log_ctx_t* log_ctx_p);

/// Returns the number of the least important level that the context shows. Null means
/// LCT_log_ctx_default.
LCT_API int LCT_log_get_level(LCT_log_ctx_t log_ctx);

/// LCT_Assert(log_ctx, condition, format, ...): unless the condition holds, throws a
/// std::runtime_error whose text has the place, the context's name, the condition and the message.
/// If the environment variable LCT_ABORT_ON_ASSERT is 1, it instead prints that text to stderr and
/// aborts. The message's arguments are evaluated only on failure. A null context means
/// LCT_log_ctx_default.
#define LCT_Assert(log_ctx, Expr, ...)                                                    \
  do {                                                                                    \
    if (LCT_unlikely(!(Expr))) {                                                          \
      LCT_Report_false_assert(log_ctx, #Expr, __FILE__, __func__, __LINE__, __VA_ARGS__); \
    }                                                                                     \
  } while (0)

/// LCT_Log(log_ctx, log_level, log_tag, format, ...): writes one line, if the context shows this
/// level and tag. The line begins with rank, host, process, thread, seconds since the context was
/// created, place, context, level and tag; the message must end with a newline. A line is written
/// as a whole, regardless of its length. A level that the context does not have fails an assertion.
/// A null context means LCT_log_ctx_default; before LCT_init, lines up to LCT_LOG_WARN then go to
/// stderr.
#define LCT_Log(log_ctx, log_level, log_tag, ...) \
  LCT_Log_(log_ctx, log_level, log_tag, __FILE__, __func__, __LINE__, __VA_ARGS__)

/// LCT_Log with level LCT_LOG_WARN and tag "warn".
#define LCT_Warn(log_ctx, ...) LCT_Log(log_ctx, LCT_LOG_WARN, "warn", __VA_ARGS__)

/// LCT_Log for functions that have the arguments as a va_list.
#define LCT_Logv(log_ctx, log_level, log_tag, format, vargs) \
  LCT_Logv_(log_ctx, log_level, log_tag, __FILE__, __func__, __LINE__, format, vargs)

/// Reports a failed LCT_Assert. Called by LCT_Assert.
LCT_API void LCT_Report_false_assert(LCT_log_ctx_t log_ctx, const char* expr_str, const char* file,
                                     const char* func, int line, const char* format, ...)
    __attribute__((cold, format(printf, 6, 7)));
/// Writes the line of an LCT_Log. Called by LCT_Log.
LCT_API void LCT_Log_(LCT_log_ctx_t log_ctx, int log_level, const char* log_tag, const char* file,
                      const char* func, int line, const char* format, ...)
    __attribute__((format(printf, 7, 8)));
/// Writes the line of an LCT_Logv. Called by LCT_Logv.
LCT_API void LCT_Logv_(LCT_log_ctx_t log_ctx, int log_level, const char* log_tag, const char* file,
                       const char* func, int line, const char* format, va_list vargs)
    __attribute__((format(printf, 7, 0)));

/// Flushes buffered lines to the context's file. Null means LCT_log_ctx_default.
LCT_API void LCT_Log_flush(LCT_log_ctx_t log_ctx);

#ifdef LCT_DEBUG
/// LCT_Assert in files that define LCT_DEBUG before including this header; elsewhere it evaluates
/// nothing.
#define LCT_DBG_Assert(...) LCT_Assert(__VA_ARGS__)
/// LCT_Log in files that define LCT_DEBUG before including this header; elsewhere it evaluates
/// nothing.
#define LCT_DBG_Log(...) LCT_Log(__VA_ARGS__)
/// LCT_Warn in files that define LCT_DEBUG before including this header; elsewhere it evaluates
/// nothing.
#define LCT_DBG_Warn(...) LCT_Warn(__VA_ARGS__)
#else
#define LCT_DBG_Assert(...) \
  do {                      \
  } while (0)
#define LCT_DBG_Log(...) \
  do {                   \
  } while (0)
#define LCT_DBG_Warn(...) \
  do {                    \
  } while (0)
#endif

/// Asserts that two pointers point into the same cache line.
#define LCT_ASSERT_SAME_CACHE_LINE(p1, p2)                             \
  LCT_Assert(LCT_log_ctx_default,                                      \
             reinterpret_cast<uintptr_t>(p1) / LCT_CACHE_LINE ==       \
                 reinterpret_cast<uintptr_t>(p2) / LCT_CACHE_LINE,     \
             "%p and %p are not in the same cache line of %d bytes\n", \
             reinterpret_cast<const void*>(p1), reinterpret_cast<const void*>(p2), LCT_CACHE_LINE)
/// Asserts that two pointers point into different cache lines.
#define LCT_ASSERT_DIFF_CACHE_LINE(p1, p2)                         \
  LCT_Assert(LCT_log_ctx_default,                                  \
             reinterpret_cast<uintptr_t>(p1) / LCT_CACHE_LINE !=   \
                 reinterpret_cast<uintptr_t>(p2) / LCT_CACHE_LINE, \
             "%p and %p are in the same cache line of %d bytes\n", \
             reinterpret_cast<const void*>(p1), reinterpret_cast<const void*>(p2), LCT_CACHE_LINE)

/// Kinds of performance counters. Each counter keeps the sum, number, minimum and maximum of the
/// values added to it.
typedef enum : int {
  LCT_PCOUNTER_NONE,     ///< Collects nothing: all operations on it do nothing.
  LCT_PCOUNTER_COUNTER,  ///< Collects values and reports them at a dump.
  LCT_PCOUNTER_TREND,    ///< Collects values; LCT_pcounter_record keeps their development.
  LCT_PCOUNTER_TIMER,    ///< Collects durations in nanoseconds and reports them at a dump.
} LCT_pcounter_type_t;

/// The performance counters of one component.
typedef void* LCT_pcounter_ctx_t;

/// A counter. Valid in the context that registered it.
typedef struct {
  LCT_pcounter_type_t type;  ///< The kind.
  int idx;                   ///< The number of the counter in its context.
} LCT_pcounter_handle_t;

/// Creates a context, whose name appears in each line of a dump. These environment variables
/// control automatic records and dumps:
/// - LCT_PCOUNTER_AUTO_DUMP=stderr, stdout or a path to append to, in which the first % is replaced
///   by the rank: LCT_pcounter_ctx_free dumps there.
/// - LCT_PCOUNTER_RECORD_INTERVAL=microseconds: a thread of the context records at this interval;
///   0, the default, disables this.
/// - LCT_PCOUNTER_DUMP_ON_THE_FLY (any value): each of these records is also dumped, to stderr
///   unless LCT_PCOUNTER_AUTO_DUMP names a file. The default interval is then one second.
/// - LCT_PCOUNTER_DUMP_ON_THE_FLY_LW (any value): as before, but a thread that adds to a trend
///   records and dumps when the interval has elapsed, so that the context's own thread uses no
///   processor time for this.
/// - LCT_PCOUNTER_MODE=on-the-fly or on-the-fly-lw: one of the last two, into the file
///   lct_pcounter.HOST.RANK.out unless LCT_PCOUNTER_AUTO_DUMP names a file.
///
/// An invalid value is reported as a warning of the default log context and ignored.
/// @return a context that the caller frees by LCT_pcounter_ctx_free.
LCT_API LCT_pcounter_ctx_t LCT_pcounter_ctx_alloc(const char* ctx_name);

/// Records, dumps if the environment requests it, frees the context and sets *pcounter_ctx to null.
/// A null context is reported as a warning of the default log context.
LCT_API void LCT_pcounter_ctx_free(LCT_pcounter_ctx_t* pcounter_ctx);

/// Creates a counter. An unknown type fails an assertion.
/// @param name appears in the dumps; it is copied.
LCT_API LCT_pcounter_handle_t LCT_pcounter_register(LCT_pcounter_ctx_t pcounter_ctx,
                                                    const char* name, LCT_pcounter_type_t type);

/// Adds a value; for a timer, a duration in nanoseconds. Each thread collects its own values and
/// waits only for a record or dump that reads them. A handle that this context did not register
/// fails an assertion. The first call of a thread allocates memory.
LCT_API void LCT_pcounter_add(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle,
                              int64_t val);

/// Starts a timer in the calling thread. Starts may nest.
LCT_API void LCT_pcounter_start(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle);
/// Adds the time since the calling thread's latest unfinished start of the timer. An end without a
/// start adds nothing and is reported as a warning of the default log context.
LCT_API void LCT_pcounter_end(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle);
/// LCT_pcounter_start with a time that the caller obtained from LCT_now.
LCT_API void LCT_pcounter_startt(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle,
                                 LCT_time_t time);
/// LCT_pcounter_end with a time that the caller obtained from LCT_now.
LCT_API void LCT_pcounter_endt(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle,
                               LCT_time_t time);

/// Keeps the values that all threads have added to the trends so far, for the next dump.
LCT_API void LCT_pcounter_record(LCT_pcounter_ctx_t pcounter_ctx);

/// Writes the records since the last dump, then the values that all threads have added to the
/// counters and timers so far, and flushes `out`. After a summary line, each line is
///
///     pcounter,KIND,RANK,CONTEXT,TIME,NAME,SUM,NUMBER,AVERAGE,MIN,MAX
///
/// with KIND trend, counter or timer, and TIME in microseconds since the first context was created.
/// A counter without values has the number 0 and leaves the other statistics empty.
LCT_API void LCT_pcounter_dump(LCT_pcounter_ctx_t pcounter_ctx, FILE* out);

/// Kinds of queues of pointers. The names are those of published designs; LCT implements fewer:
/// - LCRQ, LPRQ, FAAARRAY, LAZY_INDEX and MS are all the same unbounded lock-free queue, LCI's list
///   of rings (Morrison and Afek, PPoPP 2013). They ignore the length.
/// - ARRAY_ATOMIC_FAA, ARRAY_ATOMIC_CAS and ARRAY_ATOMIC_BASIC are all the same bounded queue,
///   LCI's array of cells with sequence numbers (Vyukov). They round the length up to a power of
///   two.
/// - ARRAY_MUTEX and STD_MUTEX are a std::queue protected by a std::mutex; ARRAY_MUTEX is bounded
///   by the length, STD_MUTEX is unbounded.
/// - ARRAY_ST and STD are the same without the mutex: one thread at a time may use them.
typedef enum : int {
  LCT_QUEUE_ARRAY_ATOMIC_FAA,    ///< Bounded, for any number of threads.
  LCT_QUEUE_ARRAY_ATOMIC_CAS,    ///< Bounded, for any number of threads.
  LCT_QUEUE_ARRAY_ATOMIC_BASIC,  ///< Bounded, for any number of threads.
  LCT_QUEUE_ARRAY_ST,            ///< Bounded, for one thread at a time.
  LCT_QUEUE_ARRAY_MUTEX,         ///< Bounded, with a mutex.
  LCT_QUEUE_STD,                 ///< Unbounded, for one thread at a time.
  LCT_QUEUE_STD_MUTEX,           ///< Unbounded, with a mutex.
  LCT_QUEUE_MS,                  ///< Unbounded, lock-free.
  LCT_QUEUE_LCRQ,                ///< Unbounded, lock-free.
  LCT_QUEUE_LPRQ,                ///< Unbounded, lock-free.
  LCT_QUEUE_FAAARRAY,            ///< Unbounded, lock-free.
  LCT_QUEUE_LAZY_INDEX,          ///< Unbounded, lock-free.
} LCT_queue_type_t;

/// @cond INTERNAL
struct LCT_queue_opaque_t;
/// @endcond
/// A first-in-first-out queue of pointers.
typedef struct LCT_queue_opaque_t* LCT_queue_t;

/// Creates a queue. An unknown type fails an assertion; so does length 0 for a bounded queue.
/// @param length the number of pointers that a bounded queue holds.
/// @return a queue that the caller frees by LCT_queue_free.
LCT_API LCT_queue_t LCT_queue_alloc(LCT_queue_type_t type, size_t length);

/// Frees a queue and sets *queue_p to null. The queue does not own the objects that its pointers
/// point to. A null queue is reported as a warning of the default log context.
LCT_API void LCT_queue_free(LCT_queue_t* queue_p);

/// Appends a pointer, which may not be null. A push to a full bounded queue fails an assertion and
/// leaves the queue as it was. Throws std::bad_alloc if an unbounded queue cannot grow.
LCT_API void LCT_queue_push(LCT_queue_t queue, void* val);

/// Takes the oldest pointer.
/// @return null if the queue is empty, or, for the ARRAY_ATOMIC kinds, if the push of the oldest
///   pointer has not finished yet.
LCT_API void* LCT_queue_pop(LCT_queue_t queue);

/// The description of a program's options. A parser belongs to one thread. As parsing uses
/// getopt_long(3), only one thread of the process may parse at a time.
typedef void* LCT_args_parser_t;

/// Creates a parser without options, which the caller frees by LCT_args_parser_free.
LCT_API LCT_args_parser_t LCT_args_parser_alloc();
/// Frees a parser; null is allowed.
LCT_API void LCT_args_parser_free(LCT_args_parser_t parser);

/// Adds the option --name with an integer value. A name that the parser already has is reported as
/// a warning of the default log context, and the first option is kept.
/// @param has_arg as in <getopt.h>: no_argument (the option sets 1), required_argument, or
///   optional_argument (`--name` sets 1, `--name=value` the value).
/// @param ptr receives the value when the option is given; it must remain valid as long as the
///   parser is used.
LCT_API void LCT_args_parser_add(LCT_args_parser_t parser, const char* name, int has_arg, int* ptr);

/// LCT_args_parser_add with `count` words that represent integers. Integers are still accepted. The
/// words are copied and may not be null.
LCT_API void LCT_args_parser_add_dict(LCT_args_parser_t parser, const char* name, int has_arg,
                                      int* ptr, LCT_dict_str_int_t dict[], int count);

/// Parses `--name value` and `--name=value`; an unambiguous prefix of a name is sufficient. The
/// last value of an option counts. An unknown option or a missing value is reported on stderr and
/// skipped. Arguments that are not options are moved to the end of argv, in their order. A value
/// that is neither a word of the option nor a decimal integer throws a std::invalid_argument that
/// names both.
LCT_API void LCT_args_parser_parse(LCT_args_parser_t parser, int argc, char* argv[]);

/// Prints the options and their values to stdout.
/// @param verbose true: one line per option; false: all options in one line, with the program's
///   name.
LCT_API void LCT_args_parser_print(LCT_args_parser_t parser, bool verbose);

/// A barrier that the same number of threads pass repeatedly.
typedef void* LCT_tbarrier_t;

/// Creates a barrier for `nthreads` threads, at least 1. The caller frees it by LCT_tbarrier_free.
LCT_API LCT_tbarrier_t LCT_tbarrier_alloc(int nthreads);

/// Frees a barrier at which no thread waits and sets *tbarrier_p to null. A null barrier is
/// reported as a warning of the default log context.
LCT_API void LCT_tbarrier_free(LCT_tbarrier_t* tbarrier_p);

/// Records the arrival of the calling thread. Everything that a thread did before it arrived is
/// visible to the threads that find the barrier passed. A thread may arrive again only after the
/// barrier was passed.
/// @return a ticket for LCT_tbarrier_test and LCT_tbarrier_wait.
LCT_API int64_t LCT_tbarrier_arrive(LCT_tbarrier_t tbarrier);

/// Returns immediately whether all threads have arrived for the pass that the ticket belongs to.
LCT_API bool LCT_tbarrier_test(LCT_tbarrier_t tbarrier, int64_t ticket);

/// Waits until LCT_tbarrier_test is true. The wait spins for a while, then yields the processor, so
/// that more threads than processors may wait.
LCT_API void LCT_tbarrier_wait(LCT_tbarrier_t tbarrier, int64_t ticket);

/// LCT_tbarrier_arrive and LCT_tbarrier_wait.
LCT_API void LCT_tbarrier_arrive_and_wait(LCT_tbarrier_t tbarrier);

/// Reads the beginning of a file.
/// @param buffer receives at most `max` - 1 bytes; the rest of it is filled with zeros.
/// @param max size of the buffer in bytes.
/// @param filename_fmt the file's path, a printf format for the arguments that follow.
/// @return the number of bytes read; -1, with errno set, if the file cannot be read. A failure
///   prints nothing.
LCT_API ssize_t LCT_read_file(char* buffer, size_t max, const char* filename_fmt, ...)
    __attribute__((format(printf, 3, 4)));

/// @}

}  // extern "C"

#endif  // LCT_LCT_H_
