#include "serve/http.h"

#include <gtest/gtest.h>

#include <string>

namespace aplomb::serve {
namespace {

int fault_of(const std::string& head) {
  Request request;
  return parse_head(head, {}, request);
}

TEST(Http, ReadsARequest) {
  Request request;
  EXPECT_EQ(
      parse_head(
          "GET /api/runs/a%2Fb?from=1&name=a+b%26&x HTTP/1.1\r\nHost: localhost:1\r\nX-A: 1\r\n"
          "x-a:  2 \r\n\r\n",
          {}, request),
      0);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/api/runs/a%2Fb");
  EXPECT_EQ(request.query.at("name"), "a b&");
  EXPECT_EQ(request.query.at("x"), "");
  EXPECT_EQ(request.header("host"), "localhost:1");
  EXPECT_EQ(request.header("x-a"), "1, 2");
  EXPECT_EQ(request.header("none"), "");
}

TEST(Http, RefusesWhatOthersReadInAnotherWay) {
  const std::string line = "GET / HTTP/1.1\r\n";
  const std::string host = "Host: localhost\r\n";
  EXPECT_EQ(fault_of(line + host + "\r\n"), 0);
  EXPECT_EQ(fault_of(line + "\r\n"), 400) << "no host";
  EXPECT_EQ(fault_of(line + host + host + "\r\n"), 400) << "two hosts";
  EXPECT_EQ(fault_of(line + host + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400);
  EXPECT_EQ(fault_of(line + host + "A : b\r\n\r\n"), 400) << "a blank before the colon";
  EXPECT_EQ(fault_of(line + host + "A: b\r\n c\r\n\r\n"), 400) << "a line that goes on";
  EXPECT_EQ(fault_of(line + host + "A: b\nC: d\r\n\r\n"), 400) << "a bare line feed";
  EXPECT_EQ(fault_of(line + host + std::string("A: b\0c\r\n\r\n", 10)), 400);
  EXPECT_EQ(fault_of(line + host + "Transfer-Encoding: chunked\r\n\r\n"), 501);
  EXPECT_EQ(fault_of(line + host + "Expect: 100-continue\r\n\r\n"), 417);
  EXPECT_EQ(fault_of("GET http://localhost/ HTTP/1.1\r\n" + host + "\r\n"), 400);
  EXPECT_EQ(fault_of("GET / HTTP/1.0\r\n" + host + "\r\n"), 505);
  EXPECT_EQ(fault_of("GET / HTTP/2\r\n" + host + "\r\n"), 505);
  EXPECT_EQ(fault_of("GET /\r\n" + host + "\r\n"), 400);
  EXPECT_EQ(fault_of("G(T / HTTP/1.1\r\n" + host + "\r\n"), 400);
  EXPECT_EQ(fault_of("GET /\xc3\xa4 HTTP/1.1\r\n" + host + "\r\n"), 400);
  EXPECT_EQ(fault_of("GET /?a=%4 HTTP/1.1\r\n" + host + "\r\n"), 400);
  EXPECT_EQ(fault_of("\r\n\r\n"), 400);
  EXPECT_EQ(fault_of(""), 400);
}

TEST(Http, RefusesTooManyHeaders) {
  std::string head = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 100; ++i) head += "A" + std::to_string(i) + ": b\r\n";
  EXPECT_EQ(fault_of(head + "\r\n"), 431);
}

TEST(Http, DecodesPercents) {
  EXPECT_EQ(percent_decoded("a%2Fb%c3%A4+"), "a/b\xc3\xa4+");
  EXPECT_EQ(percent_decoded("a+b", true), "a b");
  for (const char* broken : {"%", "%4", "%zz", "a%2"}) EXPECT_FALSE(percent_decoded(broken));
}

}  // namespace
}  // namespace aplomb::serve
