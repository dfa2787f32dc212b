#pragma once
// Somebody at a prompt, with a transaction of his own that stays open as long as he likes.

#include <memory>
#include <string>

#include "tests/support/database.h"

namespace impresario::testing {

class Prompt {
  public:
    explicit Prompt(const TestDatabase& database) {
        platform::DatabaseSettings settings;
        settings.url = database.url();
        settings.application_name = "prompt";
        connection_ = std::make_unique<platform::Connection>(settings, nullptr);
        // He has gone for a coffee.
        run("set idle_in_transaction_session_timeout = 0");
    }
    void run(const std::string& sql) {
        act([&](platform::Tx& tx) { tx.run(sql); });
    }
    /// The same for what a store does.
    void act(const std::function<void(platform::Tx&)>& body) { connection_->autocommit(body); }

  private:
    std::unique_ptr<platform::Connection> connection_;
};

}
