#include "platform/smtp_outcome.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "platform/json_text.h"
#include "platform/redact.h"

namespace impresario::platform {

namespace {

constexpr std::size_t kLongestText = 500;
/// Somebody may talk without end.
constexpr std::size_t kLongestReply = 4096;

int code_of(std::string_view line) {
    int code = 0;
    if (line.size() >= 3) std::from_chars(line.data(), line.data() + 3, code);
    return code;
}

bool is_for_now(int code) { return code / 100 == 4; }
bool is_objection(int code) { return is_for_now(code) || code / 100 == 5; }

/// RCPT TO:<ada@example.com> → ada@example.com
std::string address_in(std::string_view command) {
    const auto from = command.find('<');
    const auto to = command.rfind('>');
    if (from == std::string_view::npos || to == std::string_view::npos || to < from) return {};
    return std::string(command.substr(from + 1, to - from - 1));
}

}

void SmtpDialogue::begin(Step step) {
    step_ = step;
    reply_.reset();
    lines_.clear();
}

void SmtpDialogue::sent(std::string_view command) {
    static constexpr std::array<std::pair<std::string_view, Step>, 7> kCommands{{{"EHLO", Step::hello},
                                                                                 {"HELO", Step::hello},
                                                                                 {"STARTTLS", Step::starttls},
                                                                                 {"AUTH", Step::login},
                                                                                 {"MAIL", Step::sender},
                                                                                 {"RCPT", Step::recipient},
                                                                                 {"DATA", Step::data}}};
    const auto verb = command.substr(0, command.find_first_of(" \r\n"));
    // What was said before it is what counts.
    if (verb == "QUIT") farewell_ = true;
    if (farewell_) return;
    for (const auto& [name, step] : kCommands)
        if (verb == name) begin(step);
    if (verb == "RCPT") recipient_ = address_in(command);
}

void SmtpDialogue::received(std::string_view line) {
    if (farewell_) return;
    const bool more_to_come = line.size() > 3 && line[3] == '-';
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    if (lines_.empty()) {
        lines_ = line;
    } else if (line.size() > 4 && lines_.size() < kLongestReply) {
        lines_ += " ";
        lines_ += line.substr(4);
    }
    if (more_to_come) return;
    reply_ = Reply{code_of(line), clean(std::exchange(lines_, {}))};
    if (step_ != Step::recipient) return;
    if (is_objection(reply_->code)) {
        refused_.push_back({recipient_, reply_->code, reply_->text});
    } else {
        recipient_taken_ = true;
    }
}

void SmtpDialogue::message_left() { begin(Step::message); }

bool SmtpDialogue::objected() const {
    if (!reply_ || !is_objection(reply_->code)) return false;
    // One of several recipients ends nothing.
    return step_ != Step::recipient || !recipient_taken_;
}

bool SmtpDialogue::only_for_now() const {
    if (step_ != Step::recipient) return is_for_now(reply_->code);
    return std::any_of(refused_.begin(), refused_.end(), [](const auto& each) { return is_for_now(each.code); });
}

std::string SmtpDialogue::objection() const {
    static constexpr std::array<std::string_view, 8> kRefused{
        "the connection", "the greeting",   "STARTTLS", "the user name or password",
        "the sender",     "all recipients", "DATA",     "the message"};
    std::string text = "the server refused ";
    text += kRefused[static_cast<std::size_t>(step_)];
    if (only_for_now()) text += " for now";
    text += ": ";
    if (step_ != Step::recipient) return clean(text + reply_->text);
    for (const auto& [address, code, said] : refused_) text += address + " (" + said + ") ";
    text.pop_back();
    return clean(text);
}

std::string SmtpDialogue::clean(std::string_view text) const {
    return std::string(utf8_prefix(redacted(storable_text(text), secrets_), kLongestText));
}

SmtpOutcome SmtpDialogue::outcome(const SmtpTrouble& trouble) const {
    const bool message = step_ == Step::message;
    if (message && reply_ && reply_->code / 100 == 2) return SmtpDelivered{reply_->text, refused_};
    if (objected()) return only_for_now() ? SmtpOutcome{SmtpFailed{objection()}} : SmtpRefused{objection()};
    if (message) return SmtpUnknown{clean(trouble.what)};
    if (trouble.lasting) return SmtpRefused{clean(trouble.what)};
    return SmtpFailed{clean(trouble.what)};
}

}
