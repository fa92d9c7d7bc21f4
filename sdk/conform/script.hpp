// What is called to see how a component behaves as such, whatever it answers.
#pragma once

#include <functional>

#include "conform/operation.hpp"
#include "conform/test.hpp"

namespace rmgr::conform {

// Every operation once, on what never was and with arguments that make most of them fail.
void provoke(const Context& context);

// Every operation once, from init to deinit, that many times.
void exercise(const Context& context, int times);

// Every operation with these limits; tells each answer as it comes.
void call_each(const Context& context, const Within& within, const std::function<void(const Answer&)>& seen);

}  // namespace rmgr::conform
