#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::run_program;
using test::Said;
using ::testing::HasSubstr;

/// The server itself is tested with the official client: python/tests/test_mcp.py.
TEST(McpCommand, HandsItsWordsAndItsOwnPlaceToPython) {
  const Said said = run_program(
      "cd $(mktemp -d) && mkdir bin && printf '#!/bin/sh\\necho \"$@\" cli=$APLOMB_CLI\\n' "
      ">bin/python3 && chmod +x bin/python3 && "
      "PATH=$PWD/bin:$PATH % mcp --root /data --help; rm -r bin");
  EXPECT_EQ(said.status, 0);
  EXPECT_THAT(said.out, HasSubstr("-m aplomb mcp --root /data --help cli=" APLOMB_BINARY));
}

TEST(McpCommand, WithoutPythonSaysWhatToInstall) {
  const Said said = run_program("PATH=/nowhere % mcp");
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.error, HasSubstr("aplomb[mcp]"));
}

}  // namespace
}  // namespace aplomb::cli
