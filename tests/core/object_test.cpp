// Reference counts, and references given up where a destructor must not run.
#include "core/object.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/in_child.h"

namespace {

using mr::Object;
using mr::Ref;

std::atomic<int> alive{0};

struct Thing final : Object {
  Thing() : Object(mr::ObjectKind::kBuffer) { ++alive; }

 private:
  ~Thing() override { --alive; }
};

}  // namespace

TEST_CASE("a reference is shared, moved, copied, assigned and given away") {
  auto* raw = new Thing;
  CHECK(raw->kind() == mr::ObjectKind::kBuffer);
  CHECK(!raw->forked());
  {
    Ref<Thing> first = Ref<Thing>::take(raw);
    Ref<Thing> second = first;
    Ref<Thing> third = std::move(first);
    CHECK(!first);
    CHECK(third.get() == raw);
    second = Ref<Thing>();
    CHECK(alive == 1);
    Ref<Thing>& self = third;
    third = self;
    CHECK(alive == 1);
    Thing* given = third.give();
    CHECK(given == raw);
    CHECK(alive == 1);
    given->release();
    CHECK(alive == 0);
  }
  CHECK(alive == 0);
  CHECK(!Ref<Thing>::share(nullptr));
}

TEST_CASE("release_later() destroys in release_due(), and not before") {
  auto* thing = new Thing;
  thing->release_later();
  CHECK(alive == 1);
  Object::release_due();
  CHECK(alive == 0);
  Object::release_due();  // nothing is due
}

TEST_CASE("an object may be set aside several times before it is due, and again afterwards") {
  auto* thing = new Thing;
  for (int i = 0; i < 5; ++i) thing->retain();
  for (int i = 0; i < 3; ++i) thing->release_later();
  Object::release_due();
  CHECK(alive == 1);
  for (int i = 0; i < 2; ++i) thing->release_later();
  Object::release_due();
  CHECK(alive == 1);
  thing->release_later();
  Object::release_due();
  CHECK(alive == 0);
}

TEST_CASE("several objects at once, each with its own count") {
  std::vector<Thing*> things;
  for (int i = 0; i < 10; ++i) things.push_back(new Thing);
  for (int i = 0; i < 10; ++i) {
    if (i % 2 == 0) things[static_cast<size_t>(i)]->retain();
  }
  for (Thing* thing : things) thing->release_later();
  for (Thing* thing : things) {
    if (thing == things.front()) thing->release_later();
  }
  Object::release_due();
  CHECK(alive == 4);
  for (size_t i = 2; i < 10; i += 2) things[i]->release();
  CHECK(alive == 0);
}

TEST_CASE("threads set aside and drop at once: every reference goes exactly once") {
  constexpr int kThreads = 4, kObjects = 64, kRounds = 500;
  std::vector<Thing*> things;
  for (int i = 0; i < kObjects; ++i) {
    things.push_back(new Thing);
    for (int r = 1; r < kThreads * kRounds; ++r) things.back()->retain();
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int r = 0; r < kRounds; ++r) {
        for (int i = 0; i < kObjects; ++i) {
          things[static_cast<size_t>((i + t * 17) % kObjects)]->release_later();
        }
        if (r % 8 == t) Object::release_due();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Object::release_due();
  CHECK(alive == 0);
}

TEST_CASE("an object knows whether it was made before a fork") {
  Ref<Thing> before = Ref<Thing>::take(new Thing);
  const uint32_t generation = mr::fork_generation();
  CHECK(test::in_child([&]() -> std::string {
          Ref<Thing> after = Ref<Thing>::take(new Thing);
          if (!before->forked()) return "the parent's object is not forked";
          if (after->forked()) return "the child's object is";
          return mr::fork_generation() == generation + 1 ? "" : "the generation";
        }) == "");
  CHECK(!before->forked());
}
