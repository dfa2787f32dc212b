#pragma once
// What became of an e-mail, judged by what was said on its connection (RFC 5321).

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "domain/secret.h"

namespace impresario::platform {

// Texts are for people: UTF-8, short, and without the password in any form in which it may have left.

/// Somebody who does not get a message that others get.
struct RefusedRecipient {
    std::string address;
    /// 4xx: may be tried again later; 5xx: for good.
    int code = 0;
    std::string said;
};

/// The server has taken the message, for at least one recipient.
struct SmtpDelivered {
    /// Its answer, often with the number under which it can be found in the server's log.
    std::string said;
    std::vector<RefusedRecipient> refused;
};

/// The message was certainly not taken; later it may be.
struct SmtpFailed {
    std::string why;
};

/// The message was certainly not taken, and will not be as long as nobody changes something.
struct SmtpRefused {
    std::string why;
};

/// The whole message left and no answer came: sent again it may arrive twice.
struct SmtpUnknown {
    std::string why;
};

using SmtpOutcome = std::variant<SmtpDelivered, SmtpFailed, SmtpRefused, SmtpUnknown>;

/// Why a connection ended other than by what the server said.
struct SmtpTrouble {
    std::string what;
    /// Another try would meet the same.
    bool lasting = false;
};

/// Listens to one connection. A value; one thread at a time.
class SmtpDialogue {
  public:
    /// `secrets` are taken out of every text.
    explicit SmtpDialogue(std::vector<domain::Secret> secrets = {}) : secrets_(std::move(secrets)) {}

    /// A command as it left. What is no command, such as the rest of a login, is not looked at.
    void sent(std::string_view command);
    /// A line as it came.
    void received(std::string_view line);
    /// Every byte of the message has left; the server may take it from now on.
    void message_left();

    /// The farewell was said; nothing that comes after it counts.
    bool over() const { return farewell_; }
    /// How it ended. `trouble` counts where the server has not said itself what it thinks.
    SmtpOutcome outcome(const SmtpTrouble& trouble) const;

  private:
    enum class Step { connect, hello, starttls, login, sender, recipient, data, message };
    struct Reply {
        int code = 0;
        std::string text;
    };

    void begin(Step step);
    std::string clean(std::string_view text) const;
    bool objected() const;
    bool only_for_now() const;
    std::string objection() const;

    std::vector<domain::Secret> secrets_;
    Step step_ = Step::connect;
    std::string lines_;
    /// To the step at hand.
    std::optional<Reply> reply_;
    std::string recipient_;
    bool recipient_taken_ = false;
    std::vector<RefusedRecipient> refused_;
    bool farewell_ = false;
};

}
