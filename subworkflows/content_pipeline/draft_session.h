#pragma once
// One thread's connection to the drafts' database.

#include <functional>
#include <memory>

#include "platform/database.h"

namespace impresario::subworkflows::content_pipeline {

/// Connects when it is needed and again after a failure; every new connection finds the schema there or makes it. One
/// thread at a time.
class DraftSession {
  public:
    explicit DraftSession(platform::DatabaseSettings settings) : settings_(std::move(settings)) {}

    /// Connects and sees to the schema. Throws DatabaseUnavailable, StatementRefused.
    void open();

    /// Runs `body` in one transaction, up to four times where the database goes away meanwhile, with growing waits and
    /// not once `stopped` says so. `body` must not mind being run again, even after it was committed. Throws what the
    /// last try threw.
    void transact(const std::function<void(platform::Tx&)>& body, const std::function<bool()>& stopped);

  private:
    platform::DatabaseSettings settings_;
    std::unique_ptr<platform::Connection> connection_;
};

}
