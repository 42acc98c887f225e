#include "bootstrap/host_hub.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/os/memfd.hpp"
#include "base/os/own_namespace.hpp"
#include "bootstrap/board.hpp"
#include "bootstrap/bootstrap.hpp"

// Joining: a rank makes a pair of sockets and sends one of them, in a letter with the hub's token and its local rank, to the hub's
// letter box. The abstract one needs the same network namespace, which the invitation names; the other a file
// system in common. Its first byte says that the letter has been read by whom it was meant for.
//
// On a link: length and bytes of a blob to the hub; back the same of each rank.

namespace atl::bootstrap {
namespace {

constexpr std::size_t token_bytes = 16;

struct letter {
  char token[token_bytes];
  std::uint32_t local_rank;
};

struct invitation_head {
  char token[token_bytes];
  std::uint64_t network;
  std::uint32_t abstract_bytes;  ///< of the names, which follow
  std::uint32_t folder_bytes;
};

[[noreturn]] void lost(char const* whom, std::size_t bytes) {
  throw bootstrap_error(format("%s is gone, or the job is being ended (%s)", whom,
                               bytes == 0 ? "its end of the connection is closed" : std::strerror(errno)));
}

void send_all(int link, void const* data, std::size_t bytes, char const* whom) {
  auto const* at = static_cast<char const*>(data);
  while (bytes > 0) {
    ::ssize_t const sent = ::send(link, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) lost(whom, 1);
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void receive_all(int link, void* data, std::size_t bytes, char const* whom) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    ::ssize_t const got = ::recv(link, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) lost(whom, got < 0 ? 1 : 0);
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

std::string receive_blob(int link, char const* whom) {
  std::uint32_t bytes = 0;
  receive_all(link, &bytes, sizeof bytes, whom);
  if (bytes > blob_limit)
    throw bootstrap_error(format("%s sends a blob of %u bytes; the limit is %zu", whom, bytes, blob_limit));
  std::string blob(bytes, '\0');
  receive_all(link, blob.data(), blob.size(), whom);
  return blob;
}

void append_blob(std::string& to, std::string_view blob) {
  auto const bytes = static_cast<std::uint32_t>(blob.size());
  to.append(reinterpret_cast<char const*>(&bytes), sizeof bytes).append(blob);
}

/// A link over the box of that name, or why there is none.
os::unique_fd call(std::string_view box, letter const& words, std::string& problems) {
  try {
    int pair[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
      throw startup_error(format("socketpair: %s", std::strerror(errno)));
    os::unique_fd own(pair[0]);
    os::unique_fd theirs(pair[1]);
    int const sent[] = {theirs.get()};
    while (!os::descriptor_mailbox::try_send(box, &words, sizeof words, sent)) ::usleep(500);
    theirs.reset();
    char hello = 0;
    receive_all(own.get(), &hello, 1, "local rank 0");
    return own;
  } catch (startup_error const& error) {
    problems += (problems.empty() ? "" : "; ") + std::string(error.what());
    return {};
  }
}

}  // namespace

host_hub host_hub::open(bool one_network) {
  host_hub hub;
  hub.leads_ = true;
  hub.token_.resize(token_bytes);
  os::random_bytes(hub.token_.data(), hub.token_.size());
  std::string problems;
  for (auto const& [place, box] : {std::pair(os::mail_place::abstract, &hub.abstract_),
                                   std::pair(os::mail_place::folder, &hub.folder_)}) {
    if (place == os::mail_place::folder && one_network && hub.abstract_) break;
    try {
      *box = std::make_unique<os::descriptor_mailbox>(place);
    } catch (startup_error const& error) {
      problems += (problems.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  if (!hub.abstract_ && !hub.folder_) throw bootstrap_error("ranks of this host cannot meet: " + problems);
  return hub;
}

std::string host_hub::invitation() const {
  std::string const abstract = abstract_ ? abstract_->name() : "";
  std::string const folder = folder_ ? folder_->name() : "";
  invitation_head head{{},
                       os::own_namespace("net"),
                       static_cast<std::uint32_t>(abstract.size()),
                       static_cast<std::uint32_t>(folder.size())};
  token_.copy(head.token, sizeof head.token);
  return std::string(reinterpret_cast<char const*>(&head), sizeof head) + abstract + folder;
}

bool host_hub::take_letter(os::descriptor_mailbox& box) {
  letter words{};
  std::vector<os::unique_fd> sent;
  std::size_t const bytes = box.try_receive(&words, sizeof words, sent);
  if (bytes == 0) return false;
  bool const whole = bytes == sizeof words && sent.size() == 1;
  bool const ours = whole && token_ == std::string_view(words.token, token_bytes);
  if (!ours || words.local_rank == 0 || words.local_rank > links_.size() || links_[words.local_rank - 1]) {
    box.refuse(!whole ? os::no_letter : !ours ? os::foreign_letter : "of a rank that is not awaited");
    return false;
  }
  send_all(sent[0].get(), "!", 1, "a rank of this host");
  links_[words.local_rank - 1] = std::move(sent[0]);
  return true;
}

void host_hub::await(std::uint32_t count) {
  links_.resize(count - 1);
  for (std::uint32_t missing = count - 1; missing > 0;) {
    bool any = false;
    for (auto* const box : {abstract_.get(), folder_.get()}) {
      if (box == nullptr || missing == 0 || !take_letter(*box)) continue;
      --missing;
      any = true;
    }
    if (!any) ::usleep(200);
  }
  abstract_.reset();
  folder_.reset();
}

host_hub host_hub::join(std::string_view invitation, std::uint32_t local_rank) {
  invitation_head head{};
  if (invitation.size() < sizeof head)
    throw bootstrap_error("local rank 0 of this host has left no invitation");
  std::memcpy(&head, invitation.data(), sizeof head);
  invitation.remove_prefix(sizeof head);
  if (std::uint64_t{head.abstract_bytes} + head.folder_bytes != invitation.size())
    throw bootstrap_error("local rank 0 of this host has left an invitation that makes no sense");
  letter words{{}, local_rank};
  std::memcpy(words.token, head.token, sizeof words.token);
  std::string_view const abstract = invitation.substr(0, head.abstract_bytes);
  std::string_view const folder = invitation.substr(head.abstract_bytes);
  std::string problems;
  host_hub hub;
  os::unique_fd link;
  if (head.network != os::own_namespace("net")) {
    problems = "the ranks are in several network namespaces";
  } else if (!abstract.empty()) {
    link = call(abstract, words, problems);
  }
  if (!link && !folder.empty()) link = call(folder, words, problems);
  if (!link) {
    throw bootstrap_error(format(
        "local rank %u cannot reach local rank 0 of this host: %s. Let the ranks share a network namespace, or /dev/shm or "
        "/tmp; where that cannot be, give each group that shares memory a host of its own (ATOLL_HOST)",
        local_rank, problems.c_str()));
  }
  hub.links_.push_back(std::move(link));
  return hub;
}

std::vector<std::string> host_hub::exchange(std::string_view mine) {
  if (mine.size() > blob_limit)
    throw bootstrap_error(format("exchange of %zu bytes; the limit is %zu", mine.size(), blob_limit));
  std::vector<std::string> all;
  std::string text;
  if (leads_ || links_.empty()) {
    all.emplace_back(mine);
    for (std::size_t i = 0; i < links_.size(); ++i)
      all.push_back(receive_blob(links_[i].get(), format("local rank %zu of this host", i + 1).c_str()));
    auto const count = static_cast<std::uint32_t>(all.size());
    text.assign(reinterpret_cast<char const*>(&count), sizeof count);
    for (std::string const& blob : all) append_blob(text, blob);
    for (std::size_t i = 0; i < links_.size(); ++i)
      send_all(links_[i].get(), text.data(), text.size(),
               format("local rank %zu of this host", i + 1).c_str());
    return all;
  }
  constexpr char const* whom = "local rank 0 of this host";
  append_blob(text, mine);
  send_all(links_[0].get(), text.data(), text.size(), whom);
  std::uint32_t count = 0;
  receive_all(links_[0].get(), &count, sizeof count, whom);
  while (all.size() < count) all.push_back(receive_blob(links_[0].get(), whom));
  return all;
}

}  // namespace atl::bootstrap
