// What a system waits with. Each has its own file of these.
#pragma once

#include <chrono>

namespace plugins::engine {

// A descriptor, or on Windows the handle of an event.
#ifdef _WIN32
using Waitable = void*;
#else
using Waitable = int;
#endif

// Something that can be rung from any thread to end a wait. Throws rmgr::Error (retry) where none is free.
Waitable make_bell();
void ring(Waitable bell) noexcept;
void drop_bell(Waitable bell) noexcept;

// Waits until `what` is ready, the bell rings, or the time is over; says whether `what` is. `events` as of
// poll(2), of descriptors only. Throws rmgr::Error (internal).
bool wait_for(Waitable what, short events, Waitable bell, std::chrono::milliseconds time);

}  // namespace plugins::engine
