// The program that tests of lcrun start. Its first argument selects the action.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int rank() { return std::atoi(std::getenv("LCI_RANK")); }

// Leaves a process behind that lives until it is killed and keeps stdout open. `escape`: the
// process has a session of its own, as a daemon does.
void leave_child(bool escape, const char* pid_file) {
  const pid_t child = fork();
  if (child != 0) return;
  if (escape) {
    setsid();
    if (fork() != 0) _exit(0);
  }
  signal(SIGTERM, SIG_IGN);
  if (FILE* file = std::fopen((std::string(pid_file) + ".new").c_str(), "w")) {
    std::fprintf(file, "%d\n", getpid());
    std::fclose(file);
    std::rename((std::string(pid_file) + ".new").c_str(), pid_file);
  }
  for (;;) pause();
}

void write_pid(const std::string& path) {
  if (FILE* file = std::fopen((path + ".new").c_str(), "w")) {
    std::fprintf(file, "%d\n", getpid());
    std::fclose(file);
    std::rename((path + ".new").c_str(), path.c_str());
  }
}

void wait_for_file(const char* path) {
  while (access(path, F_OK) != 0) sched_yield();
}

void on_usr1(int) {
  const char text[] = "got SIGUSR1\n";
  if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0) _exit(9);
  _exit(0);
}

// Until the kernel ends this process, or it has so many bytes. Returns whether it has.
bool fill_memory(size_t bytes) {
  constexpr size_t block = size_t{1} << 20;
  for (size_t filled = 0; filled < bytes; filled += block) {
    void* memory = std::malloc(block);
    if (memory == nullptr) return false;
    std::memset(memory, 1, block);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const char* argument = argc > 2 ? argv[2] : "";
  if (what == "exit-of-rank-1") return rank() == 1 ? std::atoi(argument) : (pause(), 0);
  if (what == "signal-of-rank-1") {
    if (rank() == 1) raise(std::atoi(argument));
    for (;;) pause();
  }
  if (what == "fill-memory-of-rank-1") {
    constexpr size_t most = size_t{1} << 30;
    if (rank() == 1) return fill_memory(most) ? 3 : 4;
    for (;;) pause();
  }
  if (what == "ignore-term") {
    signal(SIGTERM, SIG_IGN);
    if (rank() == 0) return 5;
    for (;;) pause();
  }
  if (what == "variable") {
    const char* value = std::getenv(argument);
    std::printf("%s\n", value != nullptr ? value : "(unset)");
    return 0;
  }
  if (what == "directory") {
    char path[4096];
    std::printf("%s\n", getcwd(path, sizeof(path)));
    return 0;
  }
  if (what == "lines") {
    // In pieces, so that a launcher that does not join the pieces of a line mixes lines.
    for (int i = 0; i < std::atoi(argument); ++i) {
      char line[64];
      std::snprintf(line, sizeof(line), "%d %d 0123456789abcdef\n", rank(), i);
      const size_t half = std::strlen(line) / 2;
      if (write(STDOUT_FILENO, line, half) < 0) return 1;
      if (write(STDOUT_FILENO, line + half, std::strlen(line) - half) < 0) return 1;
    }
    return 0;
  }
  if (what == "unfinished-line") {
    std::printf("no newline");
    return 0;
  }
  if (what == "bytes") {
    const std::string block(65536, 'x');
    for (int left = std::atoi(argument); left > 0; left -= 65536) {
      if (std::fwrite(block.data(), 1, block.size(), stdout) != block.size()) return 1;
    }
    return 0;
  }
  if (what == "close-stdout") {
    close(STDOUT_FILENO);
    std::fprintf(stderr, "still here\n");
    return 0;
  }
  if (what == "echo") {
    char block[4096];
    ssize_t n;
    ssize_t total = 0;
    while ((n = read(STDIN_FILENO, block, sizeof(block))) > 0) total += n;
    std::printf("%d read %zd\n", rank(), total);
    return 0;
  }
  if (what == "cores") {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    std::printf("%d\n", CPU_COUNT(&set));
    return 0;
  }
  if (what == "leave-child" || what == "leave-daemon") {
    leave_child(what == "leave-daemon", argument);
    wait_for_file(argument);
    return 0;
  }
  if (what == "leave-daemon-and-stay") {
    leave_child(true, argument);
    for (;;) pause();
  }
  if (what == "on-usr1") {
    signal(SIGUSR1, on_usr1);
    if (FILE* ready = std::fopen(argument, "w")) std::fclose(ready);
    for (;;) pause();
  }
  if (what == "stop-of-rank-1") {
    if (rank() != 1) {
      for (;;) pause();
    }
    raise(SIGSTOP);
    return std::atoi(argument);
  }
  if (what == "stop") {
    if (FILE* file = std::fopen((std::string(argument) + ".new").c_str(), "w")) {
      std::fprintf(file, "%d\n", getpid());
      std::fclose(file);
      std::rename((std::string(argument) + ".new").c_str(), argument);
    }
    raise(SIGSTOP);
    return 0;
  }
  // Rank 1 is stopped, or waits for SIGTERM and says whether SIGCONT follows; rank 0 fails when the
  // argument, a file, is there.
  if (what == "failure-beside-stopped" || what == "failure-beside-waiting") {
    const std::string file_of_rank_1 = std::string(argument) + ".1";
    if (rank() == 0) {
      wait_for_file(what == "failure-beside-stopped" ? argument : file_of_rank_1.c_str());
      return 3;
    }
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGCONT);
    if (what == "failure-beside-waiting") sigprocmask(SIG_BLOCK, &awaited, nullptr);
    write_pid(file_of_rank_1);
    if (what == "failure-beside-stopped") {
      raise(SIGSTOP);
      for (;;) pause();
    }
    sigdelset(&awaited, SIGCONT);
    int got = 0;
    sigwait(&awaited, &got);
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCONT);
    const timespec time_of_launcher = {0, 300'000'000};
    std::printf("%s\n", sigtimedwait(&awaited, nullptr, &time_of_launcher) == SIGCONT
                            ? "SIGTERM, SIGCONT"
                            : "SIGTERM");
    return 0;
  }
  if (what == "stay") {
    for (;;) pause();
  }
  std::fprintf(stderr, "test_child: what is \"%s\"?\n", what.c_str());
  return 99;
}
