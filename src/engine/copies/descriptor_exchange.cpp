// A datagram socket for each rank, for the length of the exchange; a random token of each receiver, known to
// the job's ranks only, keeps strangers' descriptors out. Sending does not wait for a full receiver.

#include "engine/copies/descriptor_exchange.hpp"

#include <cstring>
#include <utility>

#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "base/os/memfd.hpp"

namespace atl::engine {

descriptor_exchange::descriptor_exchange() {
  os::random_bytes(token_.data(), token_.size());
  if (box_.name().size() > sizeof(offer::mailbox)) throw startup_error("a socket's name is too long");
}

descriptor_exchange::offer descriptor_exchange::make_offer(segment_notice const& mine,
                                                           os::unique_fd descriptor) {
  own_ = std::move(descriptor);
  offer result{mine, token_, {}, static_cast<std::uint32_t>(box_.name().size())};
  box_.name().copy(result.mailbox.data(), result.mailbox.size());
  return result;
}

void descriptor_exchange::begin(std::vector<offer> offers) {
  offers_ = std::move(offers);
  for (std::size_t r = 0; r < offers_.size(); ++r) {
    segment_notice const& theirs = offers_[r].segment;
    if (theirs.name.number == 0 || static_cast<std::int32_t>(r) == job.local_rank) continue;
    if (theirs.sharing.reach == memory::export_record::way::descriptor) {
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
    if (static_cast<std::int32_t>(next_) == job.local_rank) continue;
    letter const mine{to.token, job.rank_me};
    if (!box_.try_send({to.mailbox.data(), to.mailbox_bytes}, &mine, sizeof mine, own_.get())) return false;
  }
  return missing_ == 0;
}

void descriptor_exchange::receive() {
  letter got{};
  os::unique_fd descriptor;
  while (missing_ != 0) {
    std::size_t const bytes = box_.try_receive(&got, sizeof got, descriptor);
    if (bytes == 0) return;
    if (bytes != sizeof got || got.token != token_ || !descriptor) continue;
    segment_table::here().adopt(offers_[static_cast<std::size_t>(got.rank - job.local_first)].segment,
                                std::move(descriptor));
    --missing_;
  }
}

}  // namespace atl::engine
