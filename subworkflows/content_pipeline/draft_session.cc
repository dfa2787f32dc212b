#include "subworkflows/content_pipeline/draft_session.h"

#include <thread>

#include "platform/log.h"
#include "subworkflows/content_pipeline/draft_store.h"

namespace impresario::subworkflows::content_pipeline {

void DraftSession::open() {
    auto fresh = std::make_unique<platform::Connection>(settings_, nullptr);
    bool made = false;
    fresh->transact([&](platform::Tx& tx) { made = DraftStore{}.prepare(tx); });
    if (made) platform::log::info("the table content_pipeline.drafts was made");
    connection_ = std::move(fresh);
}

void DraftSession::transact(const std::function<void(platform::Tx&)>& body, const std::function<bool()>& stopped) {
    constexpr int kTries = 4;
    auto wait = std::chrono::milliseconds{250};
    for (int tries = 1;; ++tries, wait *= 2) {
        try {
            if (!connection_) open();
            connection_->transact(body);
            return;
        } catch (const platform::DatabaseUnavailable&) {
            connection_.reset();
            if (tries == kTries || stopped()) throw;
        } catch (const platform::DatabaseInDoubt&) {
            connection_.reset();
            if (tries == kTries || stopped()) throw;
        }
        std::this_thread::sleep_for(wait);
    }
}

}
