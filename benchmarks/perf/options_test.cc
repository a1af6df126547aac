#include "benchmarks/perf/options.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace perf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

options parse(const std::vector<std::string>& words, cli::request* wanted = nullptr) {
  std::vector<const char*> argv = {"lci_perf"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  cli::request unused;
  return parse_options(static_cast<int>(argv.size()), argv.data(), wanted ? wanted : &unused);
}

std::string error_of(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const usage_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(options, defaults) {
  const options chosen = parse({});
  EXPECT_EQ(chosen.op, operation::am);
  EXPECT_EQ(chosen.test, test_kind::latency);
  EXPECT_EQ(chosen.sizes.size(), 23U);
  EXPECT_EQ(chosen.sizes.front(), 1U);
  EXPECT_EQ(chosen.sizes.back(), size_t{4} << 20);
  EXPECT_EQ(chosen.threads, 1);
  EXPECT_EQ(chosen.devices, "shared");
  EXPECT_EQ(chosen.device_count, 1);
  EXPECT_EQ(chosen.completion, completion_kind::queue);
  EXPECT_FALSE(chosen.validate);
  EXPECT_EQ(chosen.backend, "auto");
  EXPECT_EQ(chosen.bind, binding::core);
  EXPECT_EQ(chosen.buffers, buffer_kind::malloc);
  EXPECT_EQ(chosen.format, output_format::text);
}

TEST(options, everything_can_be_chosen) {
  const options chosen = parse({"--op",
                                "get_signal",
                                "--test=bibandwidth",
                                "--size",
                                "4K:16K",
                                "--threads",
                                "6",
                                "--devices",
                                "4",
                                "--completion",
                                "sync",
                                "--window",
                                "9",
                                "--iters",
                                "77",
                                "--warmup",
                                "0",
                                "--validate",
                                "--backend",
                                "shm",
                                "--bind",
                                "none",
                                "--memory",
                                "allocated",
                                "--yield",
                                "64",
                                "--format",
                                "json"});
  EXPECT_EQ(chosen.op, operation::get_signal);
  EXPECT_EQ(chosen.test, test_kind::bibandwidth);
  EXPECT_THAT(chosen.sizes, ElementsAre(4096, 8192, 16384));
  EXPECT_EQ(chosen.threads, 6);
  EXPECT_EQ(chosen.devices, "4");
  EXPECT_EQ(chosen.device_count, 4);
  EXPECT_EQ(chosen.completion, completion_kind::sync);
  EXPECT_EQ(chosen.window, 9);
  EXPECT_EQ(iterations_for(chosen, 4096), 77U);
  EXPECT_EQ(warmup_for(chosen, 4096), 0U);
  EXPECT_TRUE(chosen.validate);
  EXPECT_EQ(chosen.backend, "shm");
  EXPECT_EQ(chosen.bind, binding::none);
  EXPECT_EQ(chosen.memory, memory_kind::allocated);
  EXPECT_EQ(chosen.yield, 64);
  EXPECT_EQ(chosen.format, output_format::json);
}

TEST(options, every_name_is_understood_and_is_the_one_that_is_printed) {
  for (const char* name : {"am", "send", "put", "put_signal", "get", "get_signal", "plan", "add",
                           "bit_and", "bit_or", "bit_xor", "fetch_add", "swap", "compare_swap"}) {
    EXPECT_STREQ(name_of(parse({"--op", name}).op), name);
  }
  for (const char* name : {"latency", "rate", "bandwidth", "bibandwidth", "connect"}) {
    EXPECT_STREQ(name_of(parse({"--test", name}).test), name);
  }
  for (const char* name : {"queue", "handler", "counter", "sync"}) {
    EXPECT_STREQ(name_of(parse({"--completion", name}).completion), name);
  }
  for (const char* name : {"core", "none"}) {
    EXPECT_STREQ(name_of(parse({"--bind", name}).bind), name);
  }
  for (const char* name : {"registered", "allocated"}) {
    EXPECT_STREQ(name_of(parse({"--memory", name}).memory), name);
  }
  for (const char* name : {"malloc", "packet"}) {
    EXPECT_STREQ(name_of(parse({"--buffers", name}).buffers), name);
  }
}

TEST(options, devices_follow_the_threads_wherever_they_stand) {
  EXPECT_EQ(parse({"--devices", "dedicated", "--threads", "5"}).device_count, 5);
  EXPECT_EQ(parse({"--devices", "shared", "--threads", "5"}).device_count, 1);
  EXPECT_EQ(parse({"--devices", "5", "--threads", "5"}).device_count, 5);
}

TEST(options, packets_are_for_active_messages_that_are_not_lent) {
  EXPECT_EQ(parse({"--buffers", "packet", "--completion", "sync"}).buffers, buffer_kind::packet);
  EXPECT_THAT(error_of({"--op", "send", "--buffers", "packet"}),
              HasSubstr("--buffers packet: is for active messages, not --op send"));
  EXPECT_THAT(error_of({"--completion", "handler", "--buffers", "packet"}),
              HasSubstr("--buffers packet: --completion handler is lent messages"));
  EXPECT_EQ(error_of({"--op", "send", "--buffers", "malloc"}), "no error");
}

TEST(options, plans_report_by_signals_and_nothing_else_does) {
  EXPECT_EQ(parse({"--op", "plan"}).completion, completion_kind::signal);
  EXPECT_EQ(parse({"--completion", "signal", "--op", "plan"}).completion, completion_kind::signal);
  EXPECT_EQ(error_of({"--op", "plan", "--completion", "queue"}),
            "--completion queue: --op plan reports by signals");
  EXPECT_EQ(error_of({"--op", "put", "--completion", "signal"}),
            "--completion signal: is for --op plan");
}

TEST(options, atomic_operations_change_integers_of_4_or_8_bytes) {
  for (const char* test : {"latency", "rate", "bandwidth", "bibandwidth", "connect"}) {
    EXPECT_THAT(parse({"--op", "fetch_add", "--test", test}).sizes, ElementsAre(8)) << test;
  }
  EXPECT_THAT(parse({"--op", "compare_swap", "--size", "4:8"}).sizes, ElementsAre(4, 8));
  EXPECT_EQ(error_of({"--op", "add", "--size", "4:16"}),
            "--size 16: --op add changes an integer of 4 or 8 bytes");
  EXPECT_EQ(error_of({"--op", "swap", "--size", "2"}),
            "--size 2: --op swap changes an integer of 4 or 8 bytes");
}

TEST(options, what_depends_on_the_test) {
  EXPECT_EQ(parse({"--window", "8"}).window, 1);  // latency has none
  EXPECT_EQ(parse({"--test", "connect"}).window, 1);
  EXPECT_EQ(parse({"--test", "rate"}).window, 64);
  EXPECT_THAT(parse({"--test", "rate"}).sizes, ElementsAre(8));
  EXPECT_THAT(parse({"--test", "connect"}).sizes, ElementsAre(8));
  const options chosen = parse({"--test", "bandwidth"});
  EXPECT_EQ(iterations_for(chosen, 8), 10000U);
  EXPECT_EQ(warmup_for(chosen, 8), 1000U);
  EXPECT_EQ(iterations_for(chosen, size_t{64} << 10), 156U);
  EXPECT_EQ(iterations_for(chosen, size_t{1} << 30), 10U);
  EXPECT_EQ(iterations_for(parse({}), size_t{64} << 10), 1000U);
  EXPECT_EQ(iterations_for(parse({"--test", "connect"}), 8), 10U);
}

TEST(options, a_run_may_be_as_long_as_a_time) {
  EXPECT_EQ(parse({}).seconds, 0);
  EXPECT_EQ(parse({"--time", "0.5"}).seconds, 0.5);
  EXPECT_EQ(error_of({"--time", "1", "--iters", "3"}),
            "--time and --iters: only one of them can say how long a run is");
  EXPECT_EQ(error_of({"--time", "0"}), "--time 0: must be a number from 0.001 to 86400");
}

TEST(options, messages_are_read_where_one_is_under_way) {
  EXPECT_FALSE(parse({}).read);
  for (const char* op : {"am", "send", "put_signal", "plan"}) {
    EXPECT_TRUE(parse({"--op", op, "--read"}).read) << op;
  }
  EXPECT_THAT(error_of({"--op", "send", "--test", "bandwidth", "--read"}),
              HasSubstr("--read: is for --test latency, not bandwidth"));
  EXPECT_THAT(error_of({"--op", "put", "--read"}),
              HasSubstr("--read: is for --op am, send, put_signal and plan, not put"));
}

TEST(options, help_is_found_among_others) {
  for (const char* word : {"--help", "-h"}) {
    cli::request wanted;
    parse({"--op", "send", word}, &wanted);
    EXPECT_EQ(wanted, cli::request::help) << word;
  }
  for (const char* word :
       {"--op", "--test", "--size", "--threads", "--devices", "--completion", "--window", "--iters",
        "--time", "--warmup", "--validate", "--read", "--backend", "--bind", "--memory",
        "--buffers", "--yield", "--stats", "--format"}) {
    EXPECT_THAT(help_text(), HasSubstr(word));
  }
}

TEST(options, an_error_names_the_option_and_what_it_may_be) {
  EXPECT_EQ(error_of({"--op", "amo"}),
            "--op amo: must be am, send, put, put_signal, get, get_signal, plan, add, bit_and, "
            "bit_or, bit_xor, fetch_add, swap, compare_swap, barrier, broadcast, reduce, "
            "allreduce, reduce_scatter, "
            "allgather, alltoall, gather, scatter, scan, exscan, reduce_scatterv, allgatherv or "
            "alltoallv");
  EXPECT_THAT(error_of({"--test", "speed"}),
              AllOf(HasSubstr("--test speed"), HasSubstr("bibandwidth or connect")));
  EXPECT_THAT(
      error_of({"--completion", "graph"}),
      AllOf(HasSubstr("--completion graph"), HasSubstr("queue, handler, counter, sync or signal")));
  EXPECT_THAT(error_of({"--bind", "socket"}),
              AllOf(HasSubstr("--bind socket"), HasSubstr("core or none")));
  EXPECT_THAT(error_of({"--format", "xml"}),
              AllOf(HasSubstr("--format xml"), HasSubstr("text, csv or json")));
  EXPECT_EQ(error_of({"--threads", "0"}), "--threads 0: must be a number from 1 to 1024");
  EXPECT_EQ(error_of({"--window", "65537"}), "--window 65537: must be a number from 1 to 65536");
  EXPECT_THAT(error_of({"--iters", "0"}), HasSubstr("--iters 0: must be a number from 1"));
  EXPECT_THAT(error_of({"--warmup", "-1"}), HasSubstr("--warmup -1: must be a number from 0"));
  EXPECT_EQ(error_of({"--devices", "3", "--threads", "2"}),
            "--devices 3: must be shared, dedicated or a number from 1 to --threads, 2");
  EXPECT_EQ(error_of({"--devices"}),
            "--devices: its value is missing; it must be shared, dedicated or a number from 1 to "
            "--threads");
  for (const char* devices : {"0", "all", "-1", ""}) {
    EXPECT_THAT(error_of({"--devices", devices}), HasSubstr("must be shared, dedicated or"));
  }
  EXPECT_THAT(error_of({"--size", "3:8"}), HasSubstr("--size 3:8: must be N, or A:B"));
}

TEST(options, an_error_names_what_is_no_option) {
  EXPECT_THAT(error_of({"--iter", "2", "--bogus"}), HasSubstr("unknown option --bogus"));
  EXPECT_THAT(error_of({"latency"}), HasSubstr("unexpected argument latency"));
}

TEST(options, collective_operations_have_no_pairs) {
  EXPECT_EQ(parse({"--op", "barrier"}).sizes, std::vector<size_t>{0});
  EXPECT_EQ(parse({"--op", "allreduce"}).sizes.front(), 8U);
  EXPECT_EQ(parse({"--op", "broadcast", "--size", "3"}).sizes, std::vector<size_t>{3});
  EXPECT_EQ(error_of({"--op", "barrier", "--test", "rate"}),
            "--test rate: --op barrier is collective, and measured by --test latency");
  EXPECT_EQ(error_of({"--op", "alltoall", "--threads", "2"}),
            "--threads 2: --op alltoall is collective, and called by one thread of each rank");
  EXPECT_EQ(parse({"--op", "allreduce", "--threads", "2"}).threads, 2);
  EXPECT_EQ(error_of({"--op", "reduce", "--size", "12"}),
            "--size 12: --op reduce adds doubles, of 8 bytes each");
}

TEST(options, collective_operations_can_be_persistent_and_overlap) {
  EXPECT_FALSE(parse({"--op", "allreduce"}).persistent);
  EXPECT_FALSE(parse({"--op", "allreduce"}).overlap);
  const options chosen =
      parse({"--op", "allreduce", "--persistent", "--overlap", "--progress-calls", "7"});
  EXPECT_TRUE(chosen.persistent);
  EXPECT_TRUE(chosen.overlap);
  EXPECT_EQ(chosen.progress_calls, 7);
  EXPECT_EQ(error_of({"--persistent"}),
            "--persistent: is for collective operations, such as --op allreduce, not --op am");
  EXPECT_EQ(error_of({"--overlap", "--op", "put"}),
            "--overlap: is for collective operations, such as --op allreduce, not --op put");
  EXPECT_EQ(error_of({"--progress-calls", "3", "--op", "barrier"}),
            "--progress-calls 3: is for --overlap, as only a rank that computes needs it");
  EXPECT_EQ(error_of({"--overlap", "--op", "barrier", "--progress-calls", "1000001"}),
            "--progress-calls 1000001: must be a number from 0 to 1000000");
  EXPECT_EQ(error_of({"--op", "allreduce", "--threads", "2", "--overlap"}),
            "--threads 2: with --overlap one thread of each rank calls the operation");
}

TEST(options, ranks_can_see_that_theirs_differ) {
  const std::string usual = describe(parse({}));
  EXPECT_EQ(describe(parse({"--format", "csv"})), usual);  // only rank 0 prints
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"--op", "put"},
                                             {"--op", "barrier"},
                                             {"--test", "connect"},
                                             {"--size", "8"},
                                             {"--threads", "2"},
                                             {"--completion", "sync"},
                                             {"--iters", "3"},
                                             {"--warmup", "3"},
                                             {"--time", "3"},
                                             {"--yield", "64"},
                                             {"--stats"},
                                             {"--read"},
                                             {"--validate"}}) {
    EXPECT_NE(describe(parse(other)), usual) << other[0];
  }
  const std::vector<std::string> collective = {"--op", "barrier", "--overlap"};
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--persistent"}, {"--progress-calls", "2"}}) {
    std::vector<std::string> other = collective;
    other.insert(other.end(), more.begin(), more.end());
    EXPECT_NE(describe(parse(other)), describe(parse(collective))) << more[0];
  }
  EXPECT_NE(describe(parse(collective)), describe(parse({"--op", "barrier"})));
}

}  // namespace
}  // namespace perf
