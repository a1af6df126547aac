// A program that knows nothing of LCI and loads a plugin that uses it, and unloads the plugin while
// a thread that has used it still runs.
#include <dlfcn.h>

#include <cstdio>
#include <future>
#include <thread>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "host: %s\n", dlerror());
    return 1;
  }
  using entry = int (*)();
  const auto call = [plugin](const char* name) {
    const entry function = reinterpret_cast<entry>(dlsym(plugin, name));
    return function == nullptr ? 1 : function();
  };
  int result = 0;
  // In threads that end: a thread whose thread-local objects are the plugin's keeps it in memory.
  std::thread([&] { result = call("begin_plugin"); }).join();
  if (result != 0) return result;

  std::promise<int> used;
  std::promise<void> unloaded;
  std::thread user([&] {
    used.set_value(call("use_plugin"));
    unloaded.get_future().wait();
  });
  result = used.get_future().get();
  std::thread([&] { result |= call("end_plugin"); }).join();
  dlclose(plugin);
  unloaded.set_value();
  user.join();
  return result;
}
