// planner/stages_test.cpp - chains stay one task, branches become several, and nothing runs before what it needs.
#include "planner/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace sardonyx::planner {
namespace {

std::vector<StagedStep> Steps(std::vector<std::vector<int>> before, std::int64_t work = 100) {
  std::vector<StagedStep> steps;
  for (auto& needed : before) steps.push_back({std::move(needed), work});
  return steps;
}

TEST(Stages, AChainIsOneTask) {
  EXPECT_EQ(FindStages(Steps({{}, {0}, {1}, {2}}), 1, 16), (std::vector<Stage>{{{0, 1, 2, 3}}}));
  EXPECT_TRUE(FindStages({}, 1, 16).empty());
}

TEST(Stages, BranchesBetweenTwoCutsRunAtOnce) {
  // 0 forks into 1-2, 3 and 4-5, which 6 joins; 7 follows.
  EXPECT_EQ(FindStages(Steps({{}, {0}, {1}, {0}, {0}, {4}, {2, 3, 5}, {6}}), 1, 16),
            (std::vector<Stage>{{{0}}, {{1, 2}, {4, 5}, {3}}, {{6, 7}}}));
}

TEST(Stages, ATowerThatNothingJoinsIsATask) {
  EXPECT_EQ(FindStages(Steps({{}, {}, {0}, {1}, {2}, {3}}), 1, 16), (std::vector<Stage>{{{0, 2, 4}, {1, 3, 5}}}));
}

TEST(Stages, LittleWorkIsNotHandedOver) {
  auto steps = Steps({{}, {0}, {0}, {1, 2}});
  steps[2].work = 5;
  EXPECT_EQ(FindStages(steps, 50, 16), (std::vector<Stage>{{{0, 1, 2, 3}}}));
  steps[2].work = 50;
  EXPECT_EQ(FindStages(steps, 50, 16).size(), 3u);
}

TEST(Stages, NoMoreTasksThanAllowedAndTheHeaviestFirst) {
  std::vector<std::vector<int>> before = {{}};
  for (int i = 0; i < 9; ++i) before.push_back({0});
  auto steps = Steps(before);
  steps[4].work = 1000;
  const auto stages = FindStages(steps, 1, 4);
  ASSERT_EQ(stages.size(), 2u);
  ASSERT_EQ(stages[1].size(), 4u);
  EXPECT_TRUE(std::count(stages[1][0].begin(), stages[1][0].end(), 4)) << "the heaviest step is in the first task";
}

TEST(Stages, RandomGraphsKeepTheirOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<StagedStep> steps(1 + random() % 40);
    for (std::size_t i = 1; i < steps.size(); ++i) {
      for (std::size_t k = 0; k < random() % 3; ++k) steps[i].before.push_back(static_cast<int>(random() % i));
      steps[i].work = static_cast<std::int64_t>(random() % 100);
    }
    std::set<int> done;
    for (const Stage& stage : FindStages(steps, 20, 3)) {
      std::set<int> now;
      for (const Task& task : stage) {
        std::set<int> seen = done;  // what other tasks of the stage do may not be over yet
        for (const int step : task) {
          for (const int before : steps[step].before) EXPECT_TRUE(seen.count(before)) << step << " needs " << before;
          EXPECT_TRUE(seen.insert(step).second);
          EXPECT_TRUE(now.insert(step).second);
        }
      }
      done.insert(now.begin(), now.end());
    }
    EXPECT_EQ(done.size(), steps.size()) << "round " << round;
  }
}

}  // namespace
}  // namespace sardonyx::planner
