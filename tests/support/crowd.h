#pragma once
// Many connections to a server at once, and what one does with each: nothing, a byte now and then, not reading.

#include <chrono>
#include <string>
#include <vector>

namespace impresario::testing {

/// One plain connection that is not in a hurry.
class Line {
  public:
    /// Not connected where the server takes none; `receive_buffer`: bytes that the kernel takes for it, 0 for its own
    /// choice.
    explicit Line(int port, int receive_buffer = 0);
    ~Line();
    Line(Line&& other) noexcept : fd_(other.fd_), got_(std::move(other.got_)) { other.fd_ = -1; }
    Line& operator=(Line&&) = delete;

    bool connected() const { return fd_ >= 0; }
    /// False when the other side has gone.
    bool send(const std::string& bytes) const;
    /// Everything that has come so far, this moment's included.
    const std::string& received();
    /// Waits until the server has closed it; false after `seconds`.
    bool wait_closed(double seconds);
    /// Waits until an answer's head with that status has come.
    bool wait_status(int status, double seconds);
    void hang_up();

  private:
    /// Reads for as long as that; true once it is closed.
    bool read_for(double seconds, bool until_closed);
    int fd_ = -1;
    std::string got_;
};

/// Raises this process's limit of open files and says how many connections a test may hold.
int raise_connections(int wanted);
/// As many lines to one port.
std::vector<Line> crowd(int port, int count);

/// Rounds or seconds: few where every change is tested, all with scripts/cases-long.
int rounds(int short_run, int long_run);

}
