// What the program is built with. Under a sanitizer the longest loops are shorter.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define MR_TEST_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define MR_TEST_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MR_TEST_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define MR_TEST_TSAN 1
#endif
#endif
#ifndef MR_TEST_ASAN
#define MR_TEST_ASAN 0
#endif
#ifndef MR_TEST_TSAN
#define MR_TEST_TSAN 0
#endif

// Can a process with threads fork, and its child have threads? AddressSanitizer of clang 14 forks
// its allocator in whatever state another thread has it, so that the child may wait for ever for a
// lock that nobody holds there; ThreadSanitizer knows no threads in such a child.
#define MR_TEST_FORK_WITH_THREADS (!MR_TEST_ASAN && !MR_TEST_TSAN)
