#pragma once
// Tables and colours on a terminal, plain text elsewhere.

#include <string>
#include <vector>

namespace impresario::cli {

/// Whether standard output is a terminal that takes colours (NO_COLOR is obeyed).
bool colours();
/// Whether standard output is a terminal.
bool on_terminal();

enum class Colour { plain, dim, bold, green, yellow, red, blue };
std::string painted(const std::string& text, Colour colour);
/// The colour of an execution's status.
Colour colour_of_status(const std::string& status);

/// Columns that are as wide as they need to be.
class Table {
  public:
    explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    /// `status_column` is painted by status; -1: none.
    std::string text(int status_column = -1) const;
    void print(int status_column = -1) const;
    bool empty() const { return rows_.empty(); }

  private:
    std::vector<std::string> head_;
    std::vector<std::vector<std::string>> rows_;
};

}
