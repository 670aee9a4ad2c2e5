#include "train/text/jinja_parser.h"

#include <algorithm>

namespace aplomb::train::text::jinja {

Block Parser::parse_block(const std::vector<std::string_view>& ends) {
  Block block;
  if (++depth_ > k_deepest) wrong("the template is nested too deeply");
  while (!at(Kind::end)) {
    if (at(Kind::text)) {
      Statement text;
      text.text = here().text;
      block.push_back(std::move(text));
      step();
    } else if (at(Kind::print_begin)) {
      step();
      Statement print;
      print.kind = Statement::Kind::print;
      print.line = here().line;
      print.expression = parse_expression();
      if (!at(Kind::print_end))
        wrong(fmt::format("'{}' is not expected in {{{{ }}}}", here().text));
      step();
      block.push_back(std::move(print));
    } else {
      const Token& name = tokens_[std::min(at_ + 1, tokens_.size() - 1)];
      if (std::find(ends.begin(), ends.end(), name.text) != ends.end()) break;
      step();
      block.push_back(parse_tag());
    }
  }
  --depth_;
  return block;
}

Statement Parser::parse_tag() {
  const int line = here().line;
  const std::string name = need_name();
  Statement made;
  if (name == "if") {
    made = parse_if();
  } else if (name == "for") {
    made = parse_for();
  } else if (name == "set") {
    made = parse_set();
  } else if (name == "macro") {
    made = parse_macro();
  } else if (name == "generation") {
    end_tag();
    made.kind = Statement::Kind::generation;
    made.body = parse_block({"endgeneration"});
    closing("endgeneration");
  } else if (name == "break" || name == "continue") {
    made.kind = name == "break" ? Statement::Kind::leave : Statement::Kind::again;
    end_tag();
  } else {
    wrong(fmt::format("the tag {{% {} %}} is not supported", name));
  }
  made.line = line;
  return made;
}

Statement Parser::parse_if() {
  Statement made;
  made.kind = Statement::Kind::branch;
  made.expression = parse_expression();
  end_tag();
  made.body = parse_block({"elif", "else", "endif"});
  if (at(Kind::block_begin)) step();
  if (take_name("elif")) {
    if (++depth_ > k_deepest) wrong("too many branches");
    made.other.push_back(parse_if());
    --depth_;
    return made;
  }
  if (take_name("else")) {
    end_tag();
    made.other = parse_block({"endif"});
  }
  closing("endif");
  return made;
}

std::vector<std::string> Parser::parse_names() {
  std::vector<std::string> names{need_name()};
  while (take_sign(",")) names.push_back(need_name());
  return names;
}

Statement Parser::parse_for() {
  Statement made;
  made.kind = Statement::Kind::loop;
  made.names = parse_names();
  if (!take_name("in")) wrong("`in` is missing in {% for %}");
  made.expression = parse_or();  // no conditional here: `if` filters the loop
  if (take_name("if")) made.condition = parse_expression();
  end_tag();
  made.body = parse_block({"else", "endfor"});
  if (at(Kind::block_begin)) step();
  if (take_name("else")) {
    end_tag();
    made.other = parse_block({"endfor"});
  }
  closing("endfor");
  return made;
}

Statement Parser::parse_set() {
  Statement made;
  made.kind = Statement::Kind::assign;
  made.names = parse_names();
  if (take_sign(".")) {
    made.member = true;
    made.names.push_back(need_name());
  }
  if (take_sign("=")) {
    made.expression = parse_expression();
    end_tag();
    return made;
  }
  made.kind = Statement::Kind::capture;
  end_tag();
  made.body = parse_block({"endset"});
  closing("endset");
  return made;
}

Statement Parser::parse_macro() {
  Statement made;
  made.kind = Statement::Kind::macro;
  made.macro = std::make_unique<Macro>();
  made.macro->name = need_name();
  need_sign("(");
  while (error_.empty() && !at_sign(")")) {
    Argument parameter{.name = need_name(), .value = nullptr};
    if (take_sign("=")) parameter.value = parse_expression();
    made.macro->parameters.push_back(std::move(parameter));
    if (!take_sign(",")) break;
  }
  need_sign(")");
  end_tag();
  made.macro->body = parse_block({"endmacro"});
  closing("endmacro");
  return made;
}

core::Result<Block> parse_template(std::string_view text) {
  core::Result<std::vector<Token>> tokens = lex_template(text);
  if (!tokens) return tl::unexpected<core::Error>(tokens.error());
  return Parser(std::move(*tokens)).run();
}

}  // namespace aplomb::train::text::jinja
