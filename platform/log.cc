#include "platform/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "platform/json_text.h"
#include "platform/json_writer.h"

namespace impresario::platform::log {

namespace {

struct State {
    Format format = Format::text;
    std::string component = "impresario";
    std::shared_ptr<spdlog::logger> logger;
    std::mutex mutex;
    std::string worker_id;
};

State& state() {
    static State made;
    static const bool ready = [] {
        made.logger = std::make_shared<spdlog::logger>("impresario", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made.logger->set_pattern("%v");
        return true;
    }();
    static_cast<void>(ready);
    return made;
}

spdlog::level::level_enum spd(Level level) {
    switch (level) {
        case Level::debug:
            return spdlog::level::debug;
        case Level::info:
            return spdlog::level::info;
        case Level::warn:
            return spdlog::level::warn;
        case Level::error:
            return spdlog::level::err;
    }
    return spdlog::level::info;
}

std::string_view name(Level level) {
    switch (level) {
        case Level::debug:
            return "debug";
        case Level::info:
            return "info";
        case Level::warn:
            return "warn";
        case Level::error:
            return "error";
    }
    return "info";
}

std::string now_text() {
    return domain::rfc3339(std::chrono::floor<domain::Duration>(std::chrono::system_clock::now()));
}

}

void start(Level least, Format format, std::string_view component) {
    state().format = format;
    state().component = component;
    state().logger->set_level(spd(least));
    state().logger->flush_on(spdlog::level::debug);
}

void identify(std::string_view worker_id) {
    const std::lock_guard lock(state().mutex);
    state().worker_id = worker_id;
}

void write(Level level, std::string_view message, Fields fields) {
    State& s = state();
    if (!s.logger->should_log(spd(level))) return;
    if (s.format == Format::json) {
        JsonWriter json;
        json.open();
        json.field("time", now_text()).field("level", name(level)).field("component", s.component);
        {
            const std::lock_guard lock(s.mutex);
            if (!s.worker_id.empty()) json.field("worker_id", s.worker_id);
        }
        json.field("message", message);
        for (const auto& [key, value] : fields) {
            if (value.quoted()) {
                json.field(key, storable_text(value.text()));
            } else {
                json.raw(key, value.text());
            }
        }
        json.close();
        s.logger->log(spd(level), json.text());
        return;
    }
    std::string line = now_text().substr(11, 12) + " " + std::string(name(level)) +
                       (level == Level::info || level == Level::warn ? "  " : " ");
    line += message;
    for (const auto& [key, value] : fields) {
        line += ' ';
        line += key;
        line += '=';
        const bool plain = value.text().find_first_of(" \"=\n\t") == std::string::npos && !value.text().empty();
        line += plain ? value.text() : json_quoted(storable_text(value.text()));
    }
    s.logger->log(spd(level), line);
}

}
