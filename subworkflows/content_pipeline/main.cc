// The content_pipeline service: documents in, article drafts out. See README.md.
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <thread>

#include "platform/log.h"
#include "subworkflows/content_pipeline/letters.h"
#include "subworkflows/content_pipeline/pipeline.h"
#include "subworkflows/kit/service.h"

namespace {

using namespace impresario;
namespace pipeline = subworkflows::content_pipeline;
namespace log = platform::log;

platform::DatabaseSettings database_settings() {
    const char* url = std::getenv("CONTENT_PIPELINE_DATABASE_URL");
    platform::DatabaseSettings settings;
    settings.url = domain::Secret(url ? url : "");
    settings.application_name = "content_pipeline";
    return settings;
}

/// Makes the table before the first batch needs it, or says why it cannot, until it can. Runs beside the service, which
/// takes triggers meanwhile.
void prepare_table(const std::stop_token& stop, const platform::DatabaseSettings& settings) {
    std::mutex mutex;
    std::condition_variable_any wake;
    const auto pause = [&](std::chrono::milliseconds length) {
        std::unique_lock lock(mutex);
        wake.wait_for(lock, stop, length, [] { return false; });
    };
    pause(std::chrono::milliseconds{250});  // serve() opens the log first
    if (settings.url.empty()) {
        log::info("CONTENT_PIPELINE_DATABASE_URL is not set: drafts are kept in the result only");
        return;
    }
    for (auto wait = std::chrono::milliseconds{1000}; !stop.stop_requested();
         wait = std::min(wait * 2, std::chrono::milliseconds{30000})) {
        try {
            pipeline::DraftSession(settings).open();
            log::info("drafts are stored in content_pipeline.drafts");
            return;
        } catch (const platform::StatementRefused& e) {
            log::error("the database refuses the table content_pipeline.drafts", {{"error", pipeline::tidy(e.what())}});
        } catch (const std::exception& e) {
            log::warn(
                "the drafts' database cannot be reached",
                {{"error", pipeline::tidy(e.what())}, {"next", "trying again; is it running, is the URL right?"}});
        }
        pause(wait);
    }
}

}

int main(int argc, char** argv) {
    auto settings = subworkflows::kit::settings_from(argc, argv, "content_pipeline");
    const auto database = database_settings();
    const std::jthread preparing([&](const std::stop_token& stop) { prepare_table(stop, database); });
    return subworkflows::kit::serve(std::move(settings), [&](subworkflows::kit::Run& run) {
        // Workers are threads of their own, and so are their connections.
        thread_local std::unique_ptr<pipeline::DraftSession> session;
        if (!session && !database.url.empty()) session = std::make_unique<pipeline::DraftSession>(database);
        return pipeline::draft_batch(run, session.get());
    });
}
