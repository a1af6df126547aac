// The companion library as clients use it together with LCI: logging with a context of their own,
// the parser of a benchmark's arguments, performance counters, thread barriers and queues. It is
// begun before LCI and ended after it.
#include <getopt.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstring>
#include <string>
#include <thread>

#include "check.h"
#include "lct.h"

namespace {

// The content of the file.
std::string text_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text;
}
bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Logging.

LCT_log_ctx_t log_ctx;

void log(int level, const char* tag, const char* format, ...) {
  va_list args;
  va_start(args, format);
  LCT_Logv(log_ctx, level, tag, format, args);
  va_end(args);
}

void test_log() {
  const char* const levels[] = {"none", "profile", "debug"};
  // A file of each rank: the first % is its number.
  std::string pattern = "/tmp/lct_compat_" + std::to_string(getpid()) + "_%.log";
  std::string path = pattern;
  path.replace(path.find('%'), 1, std::to_string(lci::get_rank_me()));
  char level[] = "profile";
  char blacklist[] = "noise";
  log_ctx = LCT_log_ctx_alloc(levels, sizeof(levels) / sizeof(levels[0]), 0, "client", &pattern[0],
                              level, nullptr, blacklist);
  EXPECT_EQ(LCT_log_get_level(log_ctx), 1);
  LCT_Log(log_ctx, 1, "first", "number %d\n", 17);
  LCT_Log(log_ctx, 2, "hidden", "below the level\n");
  LCT_Log(log_ctx, 1, "noise", "of a tag that is hidden\n");
  log(1, "third", "word %s\n", "seen");
  LCT_Log_flush(log_ctx);
  std::FILE* file = std::fopen(path.c_str(), "r");
  EXPECT(file != nullptr);
  const std::string text = text_of(file);
  std::fclose(file);
  std::remove(path.c_str());
  EXPECT(contains(text, "number 17\n") && contains(text, "word seen\n"));
  EXPECT(contains(text, "client") && contains(text, "profile") && contains(text, "first"));
  EXPECT(!contains(text, "below") && !contains(text, "hidden"));

  // An assertion is an exception with the text.
  LCT_Assert(log_ctx, 1 + 1 == 2, "not evaluated\n");
  bool thrown = false;
  try {
    LCT_Assert(log_ctx, 1 + 1 == 3, "sum of %d\n", 1);
  } catch (const std::runtime_error& error) {
    thrown = contains(error.what(), "1 + 1 == 3") && contains(error.what(), "sum of 1");
  }
  EXPECT(thrown);
  LCT_log_ctx_free(&log_ctx);
  EXPECT(log_ctx == nullptr);

  // Nothing given: the default level, to stderr.
  log_ctx = LCT_log_ctx_alloc(levels, 3, 2, "plain", getenv("NO_SUCH_VARIABLE"), nullptr, nullptr,
                              nullptr);
  EXPECT_EQ(LCT_log_get_level(log_ctx), 2);
  LCT_log_ctx_free(&log_ctx);
}

// Arguments.

void test_arguments() {
  struct config_t {
    int op = 0;
    int nthreads = 1;
    int min_size = 8;
    int touch = 0;
  } config;
  LCT_dict_str_int_t dict[] = {{"send", 1}, {"put", 2}};
  LCT_args_parser_t parser = LCT_args_parser_alloc();
  LCT_args_parser_add_dict(parser, "op", required_argument, &config.op, dict, 2);
  LCT_args_parser_add(parser, "nthreads", required_argument, &config.nthreads);
  LCT_args_parser_add(parser, "min-size", required_argument, &config.min_size);
  LCT_args_parser_add(parser, "touch", no_argument, &config.touch);
  std::string words[] = {"program", "--op", "put", "--nthreads=4", "--touch"};
  char* argv[] = {&words[0][0], &words[1][0], &words[2][0], &words[3][0], &words[4][0], nullptr};
  LCT_args_parser_parse(parser, 5, argv);
  EXPECT_EQ(config.op, 2);
  EXPECT_EQ(config.nthreads, 4);
  EXPECT_EQ(config.min_size, 8);
  EXPECT_EQ(config.touch, 1);
  LCT_args_parser_print(parser, true);
  LCT_args_parser_print(parser, false);
  LCT_args_parser_free(parser);

  int value = 0;
  EXPECT_EQ(LCT_str_int_search(dict, 2, "put", 7, &value), 1);
  EXPECT_EQ(value, 2);
  EXPECT_EQ(LCT_str_int_search(dict, 2, "get", 7, &value), 0);
  EXPECT_EQ(value, 7);
}

// Counters and time.

void test_counters() {
  const LCT_time_t start = LCT_now();
  LCT_pcounter_ctx_t ctx = LCT_pcounter_ctx_alloc("client");
  const LCT_pcounter_handle_t none = LCT_pcounter_register(ctx, "none", LCT_PCOUNTER_NONE);
  const LCT_pcounter_handle_t trend = LCT_pcounter_register(ctx, "sent", LCT_PCOUNTER_TREND);
  const LCT_pcounter_handle_t timer = LCT_pcounter_register(ctx, "polling", LCT_PCOUNTER_TIMER);
  const LCT_pcounter_handle_t sizes = LCT_pcounter_register(ctx, "sizes", LCT_PCOUNTER_COUNTER);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int64_t each = 1; each <= 10; ++each) {
        LCT_pcounter_add(ctx, none, each);
        LCT_pcounter_add(ctx, trend, each);
        LCT_pcounter_add(ctx, sizes, each);
        LCT_pcounter_start(ctx, timer);
        LCT_pcounter_end(ctx, timer);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  LCT_pcounter_record(ctx);
  std::FILE* file = std::tmpfile();
  LCT_pcounter_dump(ctx, file);
  const std::string text = text_of(file);
  std::fclose(file);
  EXPECT(contains(text, "client") && contains(text, "sent") && contains(text, "polling"));
  EXPECT(contains(text, ",165,30,"));  // the sum and the number of the sizes
  LCT_pcounter_ctx_free(&ctx);
  EXPECT(ctx == nullptr);

  const LCT_time_t passed = LCT_now() - start;
  EXPECT(passed > 0);
  EXPECT(LCT_time_to_us(passed) > LCT_time_to_s(passed));
  EXPECT(LCT_time_to_ns(passed) > LCT_time_to_ms(passed));
}

// Barriers and queues.

void test_barriers() {
  constexpr int kThreads = 4;
  LCT_tbarrier_t barrier = LCT_tbarrier_alloc(kThreads);
  std::atomic<int> passed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 1; round <= 20; ++round) {
        passed.fetch_add(1);
        if (i % 2 == 0) {
          LCT_tbarrier_arrive_and_wait(barrier);
        } else {
          // Progress while waiting.
          const int64_t ticket = LCT_tbarrier_arrive(barrier);
          while (!LCT_tbarrier_test(barrier, ticket)) lci::progress();
        }
        EXPECT(passed.load() >= round * kThreads);
        const int64_t ticket = LCT_tbarrier_arrive(barrier);
        LCT_tbarrier_wait(barrier, ticket);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  LCT_tbarrier_free(&barrier);
  EXPECT(barrier == nullptr);
}

void test_queues() {
  constexpr size_t kItems = 2000;
  for (const LCT_queue_type_t type :
       {LCT_QUEUE_ARRAY_ATOMIC_FAA, LCT_QUEUE_ARRAY_ATOMIC_CAS, LCT_QUEUE_ARRAY_ATOMIC_BASIC,
        LCT_QUEUE_ARRAY_MUTEX, LCT_QUEUE_STD_MUTEX, LCT_QUEUE_MS, LCT_QUEUE_LCRQ, LCT_QUEUE_LPRQ,
        LCT_QUEUE_FAAARRAY, LCT_QUEUE_LAZY_INDEX}) {
    LCT_queue_t queue = LCT_queue_alloc(type, 2 * kItems);
    EXPECT(LCT_queue_pop(queue) == nullptr);
    std::vector<std::atomic<int>> taken(2 * kItems);
    std::atomic<size_t> count{0};
    std::vector<std::thread> threads;
    for (size_t producer = 0; producer < 2; ++producer) {
      threads.emplace_back([&, producer] {
        for (size_t i = 0; i < kItems; ++i) LCT_queue_push(queue, &taken[producer * kItems + i]);
      });
      threads.emplace_back([&] {
        while (count.load() < 2 * kItems) {
          auto* item = static_cast<std::atomic<int>*>(LCT_queue_pop(queue));
          if (item == nullptr) continue;
          item->fetch_add(1);
          count.fetch_add(1);
        }
      });
    }
    for (std::thread& each : threads) each.join();
    for (const std::atomic<int>& each : taken) EXPECT_EQ(each.load(), 1);
    EXPECT(LCT_queue_pop(queue) == nullptr);
    LCT_queue_free(&queue);
  }
}

void test() {
  LCT_init();
  lci::global_initialize();
  LCT_set_rank(lci::get_rank_me());
  EXPECT_EQ(LCT_get_rank(), lci::get_rank_me());
  lci::g_runtime_init();
  test_log();
  test_arguments();
  test_counters();
  test_barriers();
  test_queues();
  lci::barrier();
  lci::g_runtime_fina();
  lci::global_finalize();
  LCT_fina();
}

}  // namespace

int main() { return compat::run(test); }
