#include "run/hosts/long_list.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/os/memfd.hpp"

namespace atl::tools {

os::unique_fd put_long_list_into_file(std::vector<std::string>& words) {
  constexpr std::size_t longest = 100'000;  // Linux takes 128 KiB
  auto list = std::find(words.begin(), words.end(), "-w");
  if (list == words.end() || ++list == words.end() || list->size() <= longest) return {};
  // srun wants a host a line.
  std::replace(list->begin(), list->end(), ',', '\n');
  *list += '\n';
  os::unique_fd file = os::make_sealed_memfd("atoll-hosts", list->size());
  for (std::size_t done = 0; done < list->size();) {
    ::ssize_t const now =
        ::pwrite(file.get(), list->data() + done, list->size() - done, static_cast<::off_t>(done));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) throw startup_error(format("cannot write the list of hosts: %s", std::strerror(errno)));
    done += static_cast<std::size_t>(now);
  }
  ::fcntl(file.get(), F_SETFD, 0);
  *list = format("/proc/self/fd/%d", file.get());
  return file;
}

}  // namespace atl::tools
