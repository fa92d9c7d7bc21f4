#include "hyperv/machine.hpp"

namespace hyperv {

Features look_at_machine() { return {false, Presence::absent, Presence::absent}; }

}  // namespace hyperv
