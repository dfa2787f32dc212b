#include "webhooks/callback_token.h"

#include <gtest/gtest.h>

namespace impresario::webhooks {
namespace {

class CallbackToken : public ::testing::Test {
  protected:
    const platform::KeyRing keys_{{domain::Secret(platform::base64(std::string(32, 'k')))}};
    const domain::ExecutionId execution_ = *domain::ExecutionId::parse("018f3c1e-7b2a-7def-8123-456789abcdef");
    const domain::ExecutionId other_ = *domain::ExecutionId::parse("018f3c1e-7b2a-7def-8123-456789abcde0");
    const domain::AttemptId attempt_ = *domain::AttemptId::parse("018f3c1e-7b2a-7def-8123-000000000001");
};

TEST_F(CallbackToken, SpeaksForItsAttemptOnly) {
    const auto token = callback_token(keys_, execution_, attempt_).reveal();
    EXPECT_EQ(verify_callback_token(keys_, execution_, token), attempt_);
    EXPECT_FALSE(verify_callback_token(keys_, other_, token));
    EXPECT_EQ(callback_token(keys_, execution_, attempt_).reveal(), token) << "any node can make it again";
}

TEST_F(CallbackToken, CannotBeForgedOrBent) {
    const auto token = callback_token(keys_, execution_, attempt_).reveal();
    for (std::size_t i = 0; i < token.size(); ++i) {
        auto bent = token;
        bent[i] = bent[i] == 'A' ? 'B' : 'A';
        const auto found = verify_callback_token(keys_, execution_, bent);
        // Only bits that base64 does not use may differ without harm.
        if (found) EXPECT_EQ(*found, attempt_) << i;
        if (i < token.size() - 1) EXPECT_FALSE(found) << i;
    }
    const platform::KeyRing others({domain::Secret(platform::base64(std::string(32, 'x')))});
    EXPECT_FALSE(verify_callback_token(others, execution_, token));
    for (const auto* bad : {"", "icb_", "icb_AAAA", "imp_key", "icb_*"})
        EXPECT_FALSE(verify_callback_token(keys_, execution_, bad)) << bad;
}

}
}
