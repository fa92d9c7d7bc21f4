// What a hostile job tells the test: one line for each thing that it tried, over a loopback connection, since
// what it may write to is part of what is tested.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace hostile {

// "name=value" words of the command line.
using Words = std::map<std::string, std::string>;

void open_report(int port);  // ends the program if nobody listens
void note(const std::string& text);
// `done` is what must never happen; otherwise errno says why it did not.
void tried(const std::string& what, bool done);
// Runs `act` in a child, so that neither its death nor what it changes about itself ends the job; `act`
// answers whether it got through.
void tried_apart(const std::string& what, const std::function<bool()>& act);

}  // namespace hostile
