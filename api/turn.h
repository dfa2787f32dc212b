#pragma once
// What only one request of a node does at a time.

namespace impresario::api {

/// Taken from here to the end of its scope.
class Turn {
  public:
    explicit Turn(bool& taken) : taken_(taken) { taken_ = true; }
    ~Turn() { taken_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

  private:
    bool& taken_;
};

}
