#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/os/descriptor_limit.hpp"
#include "base/os/descriptor_mail.hpp"
#include "base/os/memfd.hpp"
#include "base/os/own_namespace.hpp"
#include "base/os/unique_fd.hpp"
#include "bootstrap/bootstrap.hpp"

// Passing open files from local rank 0 to all ranks of the host. Three ways, in this order; who has got it
// by one takes no part in the next, and all know from an exchange whether another is needed. All exchanges are over
// the machine, where several simulated hosts, each with its own file, take the same steps:
//
//   mail, abstract   a peer's letter box has a name that the kernel chose, in no file system. Needs one network
//                    namespace; known beforehand, so that ranks in several do not even try.
//   /proc            a peer opens /proc/<pid of rank 0>/fd/<n>, which the system grants to processes of the same
//                    user. For one file that can be opened so; needs one PID namespace. Device and inode prove that it is the file meant: in
//                    another namespace the number is another process'.
//   mail, folder     the box has a name in a folder that only this user may enter. Needs a file system in common.
//
// Letters go round by round, if need be: the system counts the descriptors of a user that are under way, in letters that nobody has taken out, and lets
// one who may not do everything send none beyond the limit of open files (ulimit -n, often 1024). An event of each rank to each rank of a host is more from 33 on.
//
// Nothing waits for a peer but in an exchange: a letter is delivered before its receiver looks for it, or its
// sender knows why not. Both ends of a letter are checked to be of one user; a token keeps out other jobs.

namespace atl::bootstrap {
namespace {

constexpr std::size_t token_bytes = 16;
/// What is in a letter beside descriptors: the receiver's token, and the number of the first of them.
struct letter {
  char token[token_bytes];
  std::uint32_t first;
};
/// Letters of a round are taken out while the next ones are sent; the rest is for others of the same user.
constexpr std::uint64_t rounds_at_once = 4;
constexpr char const* errand = "passing a descriptor between ranks: ";

/// What a rank tells the others first. Travels as bytes.
struct offer {
  std::uint64_t network;
  std::int64_t pid;  ///< the rest: of local rank 0
  std::uint64_t device;
  std::uint64_t inode;
  std::int32_t descriptor;
  std::uint64_t sends;  ///< descriptors in all its letters
  std::uint64_t limit;  ///< how many may be under way
};

/// One rank's part.
class sharing {
 public:
  /// `members`: who shares the files, by their local ranks on the machine; the first one has them.
  sharing(channel& with, std::vector<std::size_t> members, std::vector<int> descriptors)
      : with_(with), members_(std::move(members)), own_(std::move(descriptors)), count_(own_.size()) {}

  /// For all but the first one; true: everybody has them.
  bool run(std::vector<os::unique_fd>& into) {
    introduce();
    if (one_network_) {
      by_mail(os::mail_place::abstract);
    } else {
      note("abstract socket: the ranks are in several network namespaces");
    }
    // Each look is an exchange.
    bool all = all_have_it();
    if (!all) {
      by_proc();
      all = all_have_it();
    }
    if (!all) {
      by_mail(os::mail_place::folder);
      all = all_have_it();
    }
    if (!all) return false;
    into = std::move(received_);
    return true;
  }
  /// Collective, after run() has said no. Throws, with words on all who lack them.
  [[noreturn]] void complain();

 private:
  [[nodiscard]] bool leads() const {
    return leader() == static_cast<std::size_t>(with_.machine().local_rank);
  }
  [[nodiscard]] std::size_t leader() const { return members_[0]; }
  [[nodiscard]] bool has_it() const { return leads() || received_.size() == count_; }
  void note(std::string const& problem) { problems_ += (problems_.empty() ? "" : "; ") + problem; }

  void introduce() {
    offer mine{os::own_namespace("net"), ::getpid(), 0, 0, leads() ? own_[0] : -1, 0, 0};
    if (leads()) {
      mine.sends = count_ * (members_.size() - 1);
      if (count_ > 1) os::want_descriptors(rounds_at_once * mine.sends);
      mine.limit = os::descriptor_limit();
    }
    struct stat info {};
    if (leads() && ::fstat(own_[0], &info) == 0) {
      mine.device = info.st_dev;
      mine.inode = info.st_ino;
    }
    auto const all = with_.exchange_machine({reinterpret_cast<char const*>(&mine), sizeof mine});
    std::memcpy(&of_leader_, all[leader()].data(), sizeof of_leader_);
    // On the whole machine: the ways are the same for all, and so are the rounds.
    std::uint64_t sent = 0;
    std::uint64_t limit = of_leader_.limit;
    for (std::string const& blob : all) {
      offer theirs{};
      std::memcpy(&theirs, blob.data(), sizeof theirs);
      one_network_ = one_network_ && theirs.network == of_leader_.network;
      sent += theirs.sends;
      if (theirs.limit != 0) limit = std::min(limit, theirs.limit);
    }
    std::uint64_t const in_a_round = std::max<std::uint64_t>(limit / rounds_at_once, 1);
    std::uint64_t const needed = limit == 0 ? 1 : (sent + in_a_round - 1) / in_a_round;
    rounds_ = std::clamp<std::size_t>(needed, 1, all.size());
  }

  /// Collective. Whether nobody on the machine needs another way.
  bool all_have_it() {
    for (std::string const& has : with_.exchange_machine(has_it() ? "y" : "n")) {
      if (has != "y") return false;
    }
    return true;
  }

  void by_proc() {
    if (has_it() || count_ != 1) return;
    std::string const path =
        format("/proc/%lld/fd/%d", static_cast<long long>(of_leader_.pid), of_leader_.descriptor);
    // Looked at before it is opened: opening something else, a terminal or a tape, may do something.
    if (!is_meant(::stat, path.c_str())) {
      note(path + (errno == 0 ? ": another file; the ranks are in several PID namespaces"
                              : format(": %s", std::strerror(errno))));
      return;
    }
    os::unique_fd opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!opened || !is_meant(::fstat, opened.get())) {
      note(format("%s: %s", path.c_str(), opened ? "another file" : std::strerror(errno)));
      return;
    }
    received_.push_back(std::move(opened));
  }

  /// errno is 0 if there is a file, but another one.
  template <class Stat, class What>
  [[nodiscard]] bool is_meant(Stat stat, What what) const {
    struct stat info {};
    if (stat(what, &info) != 0) return false;
    errno = 0;
    return info.st_dev == of_leader_.device && info.st_ino == of_leader_.inode;
  }

  /// Collective: who has no descriptor puts up a box, and local rank 0 sends to all boxes.
  void by_mail(os::mail_place place) {
    char const* const kind = place == os::mail_place::abstract ? "abstract socket" : "socket in a folder";
    std::string token(token_bytes, '\0');
    std::optional<os::descriptor_mailbox> box;
    if (!has_it()) {
      try {
        os::random_bytes(token.data(), token.size());
        box.emplace(place);
      } catch (startup_error const& error) {
        note(format("%s: %s", kind, without_prefix(error.what())));
      }
    }
    auto const boxes = with_.exchange_machine(box ? token + box->name() : std::string());
    std::string failure;
    for (std::size_t round = 0; round < rounds_; ++round) {
      bool mine = false;
      for (std::size_t i = round; i < members_.size(); i += rounds_) {
        std::size_t const rank = members_[i];
        mine = mine || rank == static_cast<std::size_t>(with_.machine().local_rank);
        if (leads() && failure.empty() && boxes[rank].size() > token_bytes) failure = deliver(boxes[rank]);
      }
      std::string const senders_problem = with_.exchange_machine(failure.substr(0, 900))[leader()];
      if (mine && box && !collect(*box, token))
        note(format("%s: %s", kind, senders_problem.empty() ? "no letter came" : senders_problem.c_str()));
    }
  }

  static char const* without_prefix(char const* text) {
    return std::strncmp(text, errand, std::strlen(errand)) == 0 ? text + std::strlen(errand) : text;
  }

  /// Empty, or why a letter could not be sent.
  std::string deliver(std::string_view to) const {
    letter what{};
    std::memcpy(what.token, to.data(), token_bytes);
    int tries = 1000;  // a box that was put up just now is full only if somebody makes it so
    try {
      while (what.first < own_.size()) {
        std::span<int const> const next = std::span(own_).subspan(
            what.first, std::min(own_.size() - what.first, os::descriptors_in_a_letter));
        if (os::descriptor_mailbox::try_send(to.substr(token_bytes), &what, sizeof what, next)) {
          what.first += static_cast<std::uint32_t>(next.size());
        } else if (--tries == 0) {
          return "the receiver's box is full";
        } else {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }
      return {};
    } catch (startup_error const& error) {
      return without_prefix(error.what());
    }
  }

  /// Letters with another token are not from this job.
  bool collect(os::descriptor_mailbox& box, std::string const& token) {
    letter shown{};
    std::vector<os::unique_fd> in_letter, all(count_);
    std::size_t got = 0;
    while (std::size_t const bytes = box.try_receive(&shown, sizeof shown, in_letter)) {
      bool const whole = bytes == sizeof shown;
      if (!whole || token != std::string_view(shown.token, token_bytes)) {
        box.refuse(whole ? os::foreign_letter : os::no_letter);
        continue;
      }
      for (std::size_t i = 0; i < in_letter.size() && shown.first + i < count_; ++i) {
        if (!all[shown.first + i]) ++got;
        all[shown.first + i] = std::move(in_letter[i]);
      }
    }
    if (got != count_) return false;
    received_ = std::move(all);
    return true;
  }

  channel& with_;
  std::vector<std::size_t> members_;
  std::vector<int> own_;  ///< of the first one; as many on the others, of no meaning
  std::size_t count_;
  std::vector<os::unique_fd> received_;
  offer of_leader_{};
  std::size_t rounds_ = 1;  ///< of letters
  bool one_network_ = true;
  std::string problems_;
};

void sharing::complain() {
  auto const outcomes = with_.exchange_machine(has_it() ? "" : (problems_ + ".").substr(0, 900));
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (outcomes[rank].empty()) continue;
    throw bootstrap_error(format(
        "%slocal rank %zu has no access to the memory that the ranks of this host share: %s Let the ranks "
        "share a network namespace, a PID namespace, or /dev/shm or /tmp; where that cannot be, give each group that "
        "shares memory a host of its own (ATOLL_HOST).",
        errand, rank, outcomes[rank].c_str()));
  }
  throw bootstrap_error(format("%ssome rank has no access any more", errand));
}

std::vector<std::size_t> members_of_host(channel const& with) {
  host_ranks const on_machine = with.machine().ranks_of_host();
  host_ranks const on_host = with.where().ranks_of_host();
  std::vector<std::size_t> members;
  for (std::uint32_t r = 0; r < on_host.count(); ++r)
    members.push_back(on_machine.local_rank(on_host.world_rank(r)));
  return members;
}

std::vector<std::size_t> members_of_machine(channel const& with) {
  std::vector<std::size_t> members(static_cast<std::size_t>(with.machine().local_size));
  std::iota(members.begin(), members.end(), std::size_t{0});
  return members;
}

int share(channel& with, std::vector<std::size_t> members, int descriptor) {
  // Not the host's size: a simulated host of one rank makes the exchanges that the others make.
  if (with.machine().local_size == 1) return descriptor;
  bool const leads = members[0] == static_cast<std::size_t>(with.machine().local_rank);
  sharing how(with, std::move(members), {descriptor});
  std::vector<os::unique_fd> received;
  if (!how.run(received)) how.complain();
  return leads ? descriptor : received[0].release();
}

}  // namespace

int share_descriptor(channel& with, int descriptor) { return share(with, members_of_host(with), descriptor); }

int share_descriptor_on_machine(channel& with, int descriptor) {
  return share(with, members_of_machine(with), descriptor);
}

bool share_descriptors(channel& with, sharers who, std::vector<os::unique_fd>& descriptors) {
  if (with.machine().local_size == 1) return true;
  std::vector<std::size_t> members = who == sharers::host ? members_of_host(with) : members_of_machine(with);
  bool const leads = members[0] == static_cast<std::size_t>(with.machine().local_rank);
  std::vector<int> own;
  for (os::unique_fd const& each : descriptors) own.push_back(each.get());
  std::vector<os::unique_fd> received;
  bool const all = sharing(with, std::move(members), std::move(own)).run(received);
  if (!leads) descriptors = std::move(received);
  return all;
}

}  // namespace atl::bootstrap
