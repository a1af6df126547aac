// A program that knows nothing of LCI and loads a plugin that uses it.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "host: %s\n", dlerror());
    return 1;
  }
  using entry = int (*)();
  const entry run = reinterpret_cast<entry>(dlsym(plugin, "run_plugin"));
  return run == nullptr ? 1 : run();
}
