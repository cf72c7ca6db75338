// A body that runs in a forked child, and what became of it there.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace test {

// Runs the body in a child. It tells of a failure by a text, and so does this; "" if there is none.
// The child ends without the destructors of the process, which are the parent's affair.
template <class Body>
std::string in_child(Body&& body) {
  std::fflush(nullptr);  // or the child writes it a second time
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    close(ends[0]);
    const std::string text = body();
    const bool told = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(told ? 0 : 3);
  }
  close(ends[1]);
  std::string text;
  char piece[256];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) text += " (signal " + std::to_string(WTERMSIG(status)) + ")";
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    text += " (exit code " + std::to_string(WEXITSTATUS(status)) + ")";
  return text;
}

}  // namespace test
