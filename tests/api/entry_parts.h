// The pieces that entry_points() is put together from.
#pragma once

#include "api/entry_points.h"

namespace test {

void add_memory(std::vector<EntryPoint>& all);
void add_blocks(std::vector<EntryPoint>& all);
void add_context(std::vector<EntryPoint>& all);
void add_stream(std::vector<EntryPoint>& all);
void add_event(std::vector<EntryPoint>& all);
void add_graph(std::vector<EntryPoint>& all);
void add_ring(std::vector<EntryPoint>& all);
void add_operators(std::vector<EntryPoint>& all);  // those before the plans
void add_plan(std::vector<EntryPoint>& all);
void add_sampling(std::vector<EntryPoint>& all);
mr_matmul_problem small_problem();

}  // namespace test
