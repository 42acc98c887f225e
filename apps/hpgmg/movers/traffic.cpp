#include "movers/traffic.hpp"

#include <bit>
#include <utility>

namespace hpgmg {
namespace {

class counting_mover final : public mover {
 public:
  counting_mover(std::unique_ptr<mover> inner, std::shared_ptr<counting_runtime::tally> count)
      : inner_(std::move(inner)), count_(std::move(count)) {}
  void run(std::ptrdiff_t source_offset, std::ptrdiff_t destination_offset, bool disturbed,
           move_times& times) override {
    ++count_->runs;
    inner_->run(source_offset, destination_offset, disturbed, times);
  }

 private:
  std::unique_ptr<mover> inner_;
  std::shared_ptr<counting_runtime::tally> count_;
};

}  // namespace

char const* name_of(message_form form) {
  return form == message_form::row ? "row" : form == message_form::region ? "region" : "rank";
}

message_form form_of(std::string_view communication) {
  if (communication == "bulk" || communication == "mpi") return message_form::rank;
  bool const regions = communication == "+vis" || communication == "+group" || communication == "array";
  return regions ? message_form::region : message_form::row;
}

message_sizes sizes_of(plan const& moves, message_form form) {
  message_sizes sizes;
  std::map<int, std::ptrdiff_t> by_rank;
  for (region const& r : moves.sends) {
    switch (form) {
      case message_form::row:
        sizes[r.extent[0]] += long{r.extent[1]} * r.extent[2];
        break;
      case message_form::region:
        ++sizes[r.size()];
        break;
      case message_form::rank:
        by_rank[r.peer] += r.size();
        break;
    }
  }
  for (auto const& [peer, doubles] : by_rank) ++sizes[doubles];
  return sizes;
}

plan_traffic traffic_of(plan const& moves, group& world) {
  plan_traffic total;
  double doubles = 0;
  for (region const& r : moves.sends) doubles += static_cast<double>(r.size());
  total.doubles = world.sum(doubles);
  total.most_doubles = world.max(doubles);
  total.local_regions = world.sum(static_cast<double>(moves.locals.size()));
  for (std::size_t form = 0; form < message_form_n; ++form) {
    double messages = 0;
    for (auto const& [size, count] : sizes_of(moves, message_forms[form])) {
      messages += static_cast<double>(count);
    }
    total.messages[form] = world.sum(messages);
    total.most_messages[form] = world.max(messages);
  }
  return total;
}

std::unique_ptr<mover> counting_runtime::counted(std::unique_ptr<mover> inner, plan const& moves) {
  auto count = std::make_shared<tally>();
  for (std::size_t form = 0; form < message_form_n; ++form) {
    count->sizes[form] = sizes_of(moves, message_forms[form]);
  }
  tallies_.push_back(count);
  return std::make_unique<counting_mover>(std::move(inner), std::move(count));
}

std::unique_ptr<mover> counting_runtime::make_mover(plan const& moves, group* members) {
  return counted(inner().make_mover(moves, members), moves);
}
std::unique_ptr<mover> counting_runtime::make_exchange(level const& l, ghost_shape shape, group* members) {
  return counted(inner().make_exchange(l, shape, members), plan_exchange(l, shape));
}
std::unique_ptr<mover> counting_runtime::make_restriction(level const& fine, level const& coarse,
                                                          restriction_plan const& what, group* members) {
  return counted(inner().make_restriction(fine, coarse, what, members), what.moves);
}
std::unique_ptr<mover> counting_runtime::make_interpolation(level const& coarse, level const& fine,
                                                            interpolation_plan const& what, group* members) {
  return counted(inner().make_interpolation(coarse, fine, what, members), what.moves);
}

void counting_runtime::reset() {
  for (auto const& each : tallies_) each->runs = 0;
}

std::array<size_histogram, message_form_n> counting_runtime::histograms() {
  std::array<size_histogram, message_form_n> result;
  for (std::size_t form = 0; form < message_form_n; ++form) {
    size_histogram& h = result[form];
    for (auto const& each : tallies_) {
      for (auto const& [doubles, count] : each->sizes[form]) {
        auto const bytes = static_cast<unsigned long>(doubles) * sizeof(double);
        auto const bin = static_cast<std::size_t>(std::bit_width(bytes) - 1);
        auto const messages = static_cast<double>(count * each->runs);
        h.messages[bin] += messages;
        h.bytes[bin] += messages * static_cast<double>(bytes);
      }
    }
    for (auto* const numbers : {&h.messages, &h.bytes}) {
      for (double& number : *numbers) number = world().sum(number);
    }
  }
  return result;
}

}  // namespace hpgmg
