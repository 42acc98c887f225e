// What is asked of libfabric, and which providers are taken: over one that is made by hand.

#include "transport/ofi/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace atl::transport::ofi {
namespace {

/// All of an fi_info in one piece.
struct whole_info {
  fi_info info{};
  fi_tx_attr tx{};
  fi_rx_attr rx{};
  fi_ep_attr ep{};
  fi_domain_attr domain{};
  fi_fabric_attr fabric{};

  explicit whole_info(fi_info const* of) {
    if (of != nullptr) {
      info = *of;
      tx = *of->tx_attr;
      rx = *of->rx_attr;
      ep = *of->ep_attr;
      domain = *of->domain_attr;
      fabric = *of->fabric_attr;
    }
    info.next = nullptr;
    info.tx_attr = &tx;
    info.rx_attr = &rx;
    info.ep_attr = &ep;
    info.domain_attr = &domain;
    info.fabric_attr = &fabric;
  }
};

/// Where the info is the first member, its address is that of the whole.
fi_info* copy_whole(fi_info const* of) { return &(new whole_info(of))->info; }
void free_whole(fi_info* of) { delete reinterpret_cast<whole_info*>(of); }

/// The only provider.
struct {
  std::uint64_t order;
  std::uint64_t flags;
  std::size_t ordered_reads;
} offered;
constexpr std::size_t longest_message = 1U << 20;

int list(std::uint32_t /*version*/, char const* /*node*/, char const* /*service*/, std::uint64_t /*flags*/,
         fi_info const* hints, fi_info** found) {
  bool const fits = hints->ep_attr->type == FI_EP_MSG && (hints->tx_attr->msg_order & ~offered.order) == 0 &&
                    (hints->rx_attr->msg_order & ~offered.order) == 0 &&
                    (hints->tx_attr->op_flags & ~offered.flags) == 0;
  if (!fits) return -FI_ENODATA;
  static char provider[] = "by_hand", name[] = "device";
  *found = copy_whole(hints);  // libfabric promises what was asked for, and no more
  (*found)->fabric_attr->prov_name = provider;
  (*found)->domain_attr->name = name;
  (*found)->ep_attr->max_msg_size = longest_message;
  (*found)->ep_attr->max_order_raw_size = offered.ordered_reads;
  return 0;
}

class ofi_devices : public testing::Test {
 protected:
  void SetUp() override {
    fi.version = []() -> std::uint32_t { return FI_VERSION(1, 17); };
    fi.getinfo = &list;
    fi.dupinfo = &copy_whole;
    fi.freeinfo = &free_whole;
  }
  static device chosen(std::uint64_t order, std::uint64_t flags, std::size_t ordered_reads) {
    offered = {order, flags, ordered_reads};
    return choose_device({});
  }
};

constexpr std::uint64_t messages = FI_ORDER_SAS | FI_ORDER_SAW;
constexpr std::size_t any = ~std::size_t{0};

TEST_F(ofi_devices, PutsThatSayWhenTheyHaveArrivedComeFirst) {
  device const d = chosen(messages | FI_ORDER_RAW, FI_DELIVERY_COMPLETE, any);
  ASSERT_NE(d.info, nullptr) << d.why_not;
  EXPECT_TRUE(d.says_delivered);
  EXPECT_EQ(d.info->tx_attr->op_flags, 0U) << "messages would say so, too";
  EXPECT_EQ(longest_put(*d.info, d.says_delivered), longest_message);
}

TEST_F(ofi_devices, PutsThatSayNothingAreConfirmedByReadsThatStayBehindThem) {
  for (std::uint64_t const order : {messages | FI_ORDER_RAW, FI_ORDER_SAS | FI_ORDER_RAW}) {
    device const d = chosen(order, 0, any);
    ASSERT_NE(d.info, nullptr) << d.why_not;
    EXPECT_FALSE(d.says_delivered);
    EXPECT_EQ(d.info->tx_attr->msg_order, order);
    EXPECT_EQ(d.info->rx_attr->msg_order, order);
    EXPECT_EQ(longest_put(*d.info, d.says_delivered), longest_message);
  }
}

TEST_F(ofi_devices, ReadsAreBehindPutsOfSomeLengthOnly) {
  device const d = chosen(messages | FI_ORDER_RAW, 0, 4096);
  ASSERT_NE(d.info, nullptr) << d.why_not;
  EXPECT_EQ(longest_put(*d.info, d.says_delivered), 4096U);
}

TEST_F(ofi_devices, PutsOfWhichNobodyKnowsWhenTheyHaveArrivedAreOfNoUse) {
  EXPECT_THAT(chosen(messages, 0, any).why_not, testing::HasSubstr("known to have arrived"));
  EXPECT_EQ(chosen(messages | FI_ORDER_RAW, 0, 0).info, nullptr);
}

}  // namespace
}  // namespace atl::transport::ofi
