// Runs a fuzz target over stored inputs: replay FILE-OR-DIRECTORY... A crash is the failure; no
// input at all is one too, since it would look like success.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" [[gnu::weak]] int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace {

namespace fs = std::filesystem;

bool collect(const fs::path& path, std::vector<fs::path>& files) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    files.push_back(path);
    return true;
  }
  fs::recursive_directory_iterator entries(path, error);
  if (error) {
    std::fprintf(stderr, "replay: %s: %s\n", path.c_str(), error.message().c_str());
    return false;
  }
  for (const fs::directory_entry& entry : entries) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  return true;
}

// The input being run, for the message of a crash.
const char* current_input = "";

void name_input(int signal) {
  const char* parts[] = {"replay: crashed on ", current_input, "\n"};
  for (const char* part : parts) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

bool run(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream) {
    std::fprintf(stderr, "replay: %s: cannot be read\n", file.c_str());
    return false;
  }
  // A buffer of exactly the input's size, so that a sanitizer sees a read of one byte too much.
  std::vector<uint8_t> input(text.begin(), text.end());
  input.shrink_to_fit();
  static const uint8_t nothing = 0;
  LLVMFuzzerTestOneInput(input.empty() ? &nothing : input.data(), input.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  // Sanitizers that stop the process raise SIGABRT when told to (abort_on_error=1).
  for (int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(signal, name_input);
  std::vector<fs::path> files;
  bool good = true;
  for (int i = 1; i < argc; ++i) good = collect(argv[i], files) && good;
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    current_input = file.c_str();
    good = run(file) && good;
  }
  std::printf("replayed %zu inputs\n", files.size());
  if (files.empty()) std::fprintf(stderr, "replay: there is nothing to replay\n");
  return good && !files.empty() ? 0 : 1;
}
