#pragma once

/// The target's side of an rpc: deserialise, wait for distributed objects, call, reply, and keep everything
/// alive as long as the specification says.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <atoll/engine/am.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/pool.hpp>
#include <upcxx/detail/rpc_record.hpp>
#include <upcxx/detail/rpc_wire.hpp>
#include <upcxx/detail/send.hpp>
#include <upcxx/future.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// The results of a round trip on their way home. Written inside callbacks, so it never waits for room; and never
/// refused, since the rank that answers has done nothing wrong: it runs no more calls of an initiator that does not
/// take its answers.
class reply {
 public:
  /// `last`: the results stay until send().
  template <class... Wire>
  reply(std::int32_t initiator, std::uint64_t cookie, bool last, Wire const&... results)
      : message_(initiator, detail::serialized_bound(with_cookie, results...), atl::engine::pressure::always,
                 atl::engine::lane::control) {
    message_.put_word(without_cookie, cookie);
    message_.write(with_cookie, last, results...);
  }
  void send() { message_.commit(atl::engine::message_kind::reply, 0); }

 private:
  outgoing_message message_;
};

/// The parameter that an argument of type `Arg` becomes, from what arrived of it.
template <class Arg, class Object>
decltype(auto) parameter(Object& object) {
  if constexpr (wire_of<Arg>::awaited) {
    return detail::instance_of(object);
  } else {
    return static_cast<typename wire_of<Arg>::parameter>(object);
  }
}

/// A call with function type F and argument types Args (as the initiator deduced them). `RoundTrip`: a cookie
/// comes first and a reply goes back.
template <bool RoundTrip, class F, class... Args>
class incoming_call {
  using function_wire = wire_function<F>;
  using objects_type = deserialized_tuple<typename function_wire::type, typename wire_of<Args>::type...>;
  using result_type = rpc_result_t<F, Args...>;

  static constexpr bool has_awaited = (wire_of<Args>::awaited || ...);
  static constexpr bool returns_future = is_future_v<std::remove_cvref_t<result_type>>;
  // Large argument lists would overflow the stack; those that outlive the call need a place of their own.
  static constexpr bool needs_record = has_awaited || returns_future || sizeof(objects_type) > 8192;
  static constexpr std::size_t start = RoundTrip ? with_cookie : without_cookie;

 public:
  /// Handler of the message; its address is the message's token.
  [[gnu::visibility("hidden")]] static void run(atl::engine::message* m) {
    if constexpr (needs_record) {
      record::create(m);
    } else {
      {
        reader r = read_from(m, start);
        alignas(objects_type) std::byte place[sizeof(objects_type)];
        auto* const objects = ::new (place) objects_type(r);
        call(*objects, m, [objects] { objects->~objects_type(); });
      }
      atl::engine::release(m);
    }
  }

 private:
  static std::uint64_t cookie_of(atl::engine::message const* m) {
    std::uint64_t cookie;
    std::memcpy(&cookie, m->base + without_cookie, sizeof cookie);
    return cookie;
  }

  template <std::size_t... Indices>
  static result_type invoke(objects_type& objects, std::index_sequence<Indices...>) {
    if constexpr (is_function_pointer_v<F>) {
      return function_wire::receive(detail::element_at<0>(objects))(
          detail::parameter<Args>(detail::element_at<Indices + 1>(objects))...);
    } else {
      return detail::call_once(detail::element_at<0>(objects),
                               detail::parameter<Args>(detail::element_at<Indices + 1>(objects))...);
    }
  }
  static result_type invoke(objects_type& objects) {
    return invoke(objects, std::index_sequence_for<Args...>{});
  }

  /// Call whose result is no future: reply at once. `end` destroys the objects. The result may refer to them,
  /// so it is serialized before; the initiator learns of the completion after.
  template <class End>
  static void call(objects_type& objects, atl::engine::message* m, End end) requires(!returns_future) {
    if constexpr (!RoundTrip) {
      static_cast<void>(invoke(objects));
      end();
    } else {
      std::int32_t const initiator = m->source;
      std::uint64_t const cookie = cookie_of(m);
      if constexpr (std::is_void_v<result_type>) {
        invoke(objects);
        end();
        reply(initiator, cookie, true).send();
      } else {
        using value = std::remove_cvref_t<result_type>;
        if constexpr (!std::is_reference_v<result_type> && elements_may_follow<value>) {
          // It stays until it has been sent: its elements may be copied then.
          value const result = invoke(objects);
          reply home(initiator, cookie, true, result);
          end();
          home.send();
        } else {
          // It may refer to the objects, and goes before them.
          std::optional<reply> home;
          {
            result_type&& result = invoke(objects);
            home.emplace(initiator, cookie, false, static_cast<value const&>(result));
          }
          end();
          home->send();
        }
      }
    }
  }

  /// Keeps message and objects until the call, and the future that it returned, are done.
  struct record : atl::fut::pooled<record> {
    atl::engine::message* arrived;
    objects_type objects;

    record(atl::engine::message* m, reader&& r) : arrived(m), objects(r) { ++atl::rt::unfinished_calls; }
    ~record() { --atl::rt::unfinished_calls; }

    static void create(atl::engine::message* m) {
      auto* const self = new record(m, read_from(m, start));
      if constexpr (has_awaited) {
        self->await(std::index_sequence_for<Args...>{});
      } else {
        self->go();
      }
    }

    template <std::size_t... Indices>
    void await(std::index_sequence<Indices...>) {
      // The futures' references are looked up again at the call; what counts here is that all are there. If
      // one never is, the callback goes, and the call with it.
      upcxx::when_all(here_future<Args>(detail::element_at<Indices + 1>(objects))...)
          .then([self = std::unique_ptr<record, never_called>(this)](auto const&...) mutable {
            self.release()->go();
          });
    }
    template <class Arg, class Object>
    static auto here_future(Object& object) {
      if constexpr (wire_of<Arg>::awaited) {
        return object.when_here();
      } else {
        return make_future();
      }
    }

    void go() {
      if constexpr (returns_future) {
        invoke(objects).then([this](auto const&... values) {
          if constexpr (RoundTrip) {
            // The future outlived the library: there is nobody to answer.
            if (!atl::engine::of_this_period(*arrived)) return end();
            reply home(arrived->source, cookie_of(arrived), false, values...);
            end();
            home.send();
          } else {
            end();
          }
        });
      } else {
        call(objects, arrived, [this] { end(); });
      }
    }

    /// Ends a call that will never run.
    struct never_called {
      void operator()(record* call) const { call->end(); }
    };

    void end() {
      atl::engine::message* const m = arrived;
      delete this;
      atl::engine::release(m);
    }
  };
};

}  // namespace upcxx::inline UPCXX_MODE::detail
