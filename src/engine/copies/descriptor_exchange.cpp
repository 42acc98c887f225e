// A letter box for each rank, for the length of the exchange; a random token of each receiver, known to the
// job's ranks only, keeps other jobs' descriptors out. Sending does not wait for a full receiver.

#include "engine/copies/descriptor_exchange.hpp"

#include <cstring>
#include <utility>

#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "base/os/memfd.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

descriptor_exchange::descriptor_exchange() {
  os::random_bytes(token_.data(), token_.size());
  if (progress_engine::here().host.one_network()) {
    box_.emplace(os::mail_place::abstract);
    return;
  }
  try {
    box_.emplace(os::mail_place::folder);
  } catch (startup_error const& problem) {
    warn("device",
         "this rank cannot get descriptors of others' device memory, so their owners will copy for it, "
         "which is slower: the ranks of this host are in several network namespaces, and %s",
         problem.what());
  }
}

descriptor_exchange::offer descriptor_exchange::make_offer(segment_notice const& mine,
                                                           os::unique_fd descriptor) {
  own_ = std::move(descriptor);
  offer result{mine, token_, {}, 0};
  if (box_)
    result.mailbox_bytes =
        static_cast<std::uint32_t>(box_->name().copy(result.mailbox.data(), result.mailbox.size()));
  return result;
}

void descriptor_exchange::begin(std::vector<offer> offers) {
  offers_ = std::move(offers);
  for (std::size_t r = 0; r < offers_.size(); ++r) {
    segment_notice& theirs = offers_[r].segment;
    if (theirs.name.number == 0 || static_cast<std::int32_t>(r) == job.local_rank) continue;
    bool const by_letter = theirs.sharing.reach == memory::export_record::way::descriptor;
    if (by_letter && !box_) theirs.sharing.reach = memory::export_record::way::none;
    if (by_letter && box_) {
      ++missing_;
    } else {
      segment_table::here().adopt(theirs, {});
    }
  }
  if (!own_) next_ = offers_.size();
}

bool descriptor_exchange::advance() {
  receive();
  for (; next_ < offers_.size(); ++next_) {
    offer const& to = offers_[next_];
    if (static_cast<std::int32_t>(next_) == job.local_rank || to.mailbox_bytes == 0) continue;
    letter const mine{to.token, job.rank_me};
    int const own = own_.get();
    if (!os::descriptor_mailbox::try_send({to.mailbox.data(), to.mailbox_bytes}, &mine, sizeof mine,
                                          {&own, 1}))
      return false;
  }
  return missing_ == 0;
}

void descriptor_exchange::receive() {
  letter got{};
  std::vector<os::unique_fd> descriptors;
  while (missing_ != 0) {
    std::size_t const bytes = box_->try_receive(&got, sizeof got, descriptors);
    if (bytes == 0) return;
    bool const whole = bytes == sizeof got && descriptors.size() == 1;
    if (!whole || got.token != token_) {
      box_->refuse(whole ? os::foreign_letter : os::no_letter);
      continue;
    }
    segment_table::here().adopt(offers_[progress_engine::here().host.local_rank(got.rank)].segment,
                                std::move(descriptors[0]));
    --missing_;
  }
}

}  // namespace atl::engine
