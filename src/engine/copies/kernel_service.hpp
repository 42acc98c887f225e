#pragma once

/// What the host does for kernels that communicate: their mailboxes (kernel_mailbox.hpp), and words whose users all go
/// through their owner, because no atomic operation of all of them would be atomic for the others.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <atoll/engine/am.hpp>
#include <atoll/engine/kernels.hpp>

#include "base/single.hpp"
#include "engine/copies/segments.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

/// Open mailboxes are work whose end rings no bell: nobody sleeps meanwhile. Under the engine's lock.
class kernel_service final : public single<kernel_service>, public work_source {
 public:
  kernel_service(progress_engine& engine, segment_table& segments);
  ~kernel_service() override;

  // See kernels.hpp.
  void serve(kernel_mailbox* words, std::uint64_t team, notice_listener* listener);
  void end(kernel_mailbox* words);
  [[nodiscard]] bool owes(kernel_mailbox* words);
  [[nodiscard]] bool is_listening(notice_listener const* listener) const;
  /// Mailboxes that are open, which lie in this rank's heap.
  [[nodiscard]] std::vector<kernel_mailbox const*> open_mailboxes() const;

  // Called by messages.
  void serve_word(message* m);
  void serve_notice(message* m);
  void answered(message* m);

 private:
  struct mailbox;
  struct command;
  struct word_request;

  bool advance() override;
  bool take(mailbox& box);
  void begin(command& c);
  void copy(command& c, memory_place to, memory_place from, std::size_t bytes);
  void change_word(command& c);
  void give_answer(command& c, std::uint64_t value);
  void finish(command& c);
  bool advance_request();
  void move_word(word_request& r);
  static bool copied(copy_completion* done) noexcept;
  static bool word_moved(copy_completion* done) noexcept;
  mailbox* find(kernel_mailbox* words);

  progress_engine& engine_;
  segment_table& segments_;
  std::vector<std::unique_ptr<mailbox>> boxes_;
  std::vector<command*> copied_;                        ///< their data is in place
  std::vector<command*> unread_;                        ///< their kernels have not read the answer
  std::deque<std::unique_ptr<word_request>> requests_;  ///< on words of own devices; the first is under way
};

}  // namespace atl::engine
