#include "tools/info/print.h"
#include "lci/base/strings.h"
#include "tools/info/info.h"

namespace lci::info {

std::string pair(std::string_view name, std::string_view value) {
  return base::StrCat(base::JsonQuote(name), ": ", base::JsonQuote(value));
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
  std::string lines(indent, ' ');
  size_t column = indent;
  for (const std::string_view word : base::StrSplit(text, ' ')) {
    if (column > indent && column + 1 + word.size() > width) {
      base::StrAppend(&lines, "\n", std::string(indent, ' '));
      column = indent;
    }
    if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

namespace {

// "[\n  {...},\n  {...}\n]", of what `one` makes of each element.
template <class Range, class One>
std::string json_list(const Range& range, const One& one) {
  std::string text = "[";
  for (const auto& each : range) {
    base::StrAppend(&text, text.size() > 1 ? ",\n    {" : "\n    {", one(each), "}");
  }
  return text + "\n  ]";
}

// For a cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code_cell(std::string_view text) {
  return text.empty() ? "" : base::StrCat("`", cell(text), "`");
}

}  // namespace

std::string as_text(const info& all) {
  std::string text = base::StrCat("LCI ", all.version, "\n\nBackends (LCI_ATTR_BACKEND)\n");
  for (const backend_info& each : all.backends) {
    base::StrAppend(&text, "  ", each.name, ": ", each.is_usable ? "usable" : "not usable here",
                    "\n");
    if (!each.is_usable) base::StrAppend(&text, wrapped(each.reason, 6, text_width), "\n");
    for (const auto& [name, value] : each.facts) {
      base::StrAppend(&text, wrapped(base::StrCat(name, ": ", value), 6, text_width), "\n");
    }
  }
  std::string resource;
  for (const attribute_info& each : all.attributes) {
    if (each.resource != resource) {
      resource = each.resource;
      base::StrAppend(&text, "\nAttributes of a ", resource, "\n");
    }
    base::StrAppend(&text, "  ", each.variable, "=", each.value,
                    each.is_from_environment
                        ? base::StrCat("  (environment; default: ", each.builtin, ")")
                        : "  (default)",
                    "\n", wrapped(each.meaning, 6, text_width), "\n");
  }
  base::StrAppend(&text, "\nOther variables\n");
  for (const variable_info& each : all.variables) {
    base::StrAppend(&text, "  ", each.name, "=", each.value.empty() ? each.builtin : each.value,
                    each.value.empty() ? "  (default)" : "  (environment)", "\n",
                    wrapped(each.meaning, 6, text_width), "\n");
  }
  if (!all.unknown.empty()) base::StrAppend(&text, "\nUnknown variables of the environment\n");
  for (const auto& [name, nearest] : all.unknown) {
    base::StrAppend(&text, "  ", name,
                    nearest.empty() ? "" : base::StrCat("  (is ", nearest, " meant?)"), "\n");
  }
  return text;
}

std::string as_json(const info& all, std::string_view job) {
  std::string text = "{\n  ";
  if (!job.empty()) base::StrAppend(&text, "\"job\": ", job, ",\n  ");
  base::StrAppend(&text, pair("version", all.version), ",\n  \"backends\": ");
  text += json_list(all.backends, [](const backend_info& each) {
    std::string facts;
    for (const auto& [name, value] : each.facts) {
      base::StrAppend(&facts, facts.empty() ? "" : ", ", pair(name, value));
    }
    return base::StrCat(pair("name", each.name),
                        ", \"usable\": ", each.is_usable ? "true" : "false", ", ",
                        pair("reason", each.reason), ", \"facts\": {", facts, "}");
  });
  base::StrAppend(&text, ",\n  \"attributes\": ");
  text += json_list(all.attributes, [](const attribute_info& each) {
    return base::StrCat(pair("name", each.name), ", ", pair("resource", each.resource), ", ",
                        pair("variable", each.variable), ", ", pair("values", each.values), ", ",
                        pair("default", each.builtin), ", ", pair("value", each.value), ", ",
                        pair("source", each.is_from_environment ? "environment" : "default"), ", ",
                        pair("meaning", each.meaning));
  });
  base::StrAppend(&text, ",\n  \"variables\": ");
  text += json_list(all.variables, [](const variable_info& each) {
    return base::StrCat(pair("name", each.name), ", ", pair("values", each.values), ", ",
                        pair("default", each.builtin), ", ", pair("value", each.value), ", ",
                        pair("meaning", each.meaning));
  });
  base::StrAppend(&text, ",\n  \"unknown\": ");
  text += json_list(all.unknown, [](const std::pair<std::string, std::string>& each) {
    return base::StrCat(pair("name", each.first), ", ", pair("nearest", each.second));
  });
  return text + "\n}\n";
}

std::string as_markdown(const std::vector<attribute_info>& all) {
  std::string text =
      "# Configuration\n\n"
      "Every attribute of a resource has a default, which the variable `LCI_ATTR_<NAME>`, "
      "`set_g_default_attr` and the option of\n"
      "the call that allocates the resource override, in this order. `lci_info` shows the values "
      "of "
      "an environment. This page is\n"
      "made by `lci_info --format markdown`.\n";
  std::string resource;
  for (const attribute_info& each : all) {
    if (each.resource != resource) {
      resource = each.resource;
      base::StrAppend(&text, "\n## Attributes of a ", resource,
                      "\n\n| Attribute | Values | Default | Meaning |\n|---|---|---|---|\n");
    }
    base::StrAppend(&text, "| `", each.name, "` | ", cell(each.values), " | ",
                    code_cell(each.builtin), " | ", cell(each.meaning), " |\n");
  }
  base::StrAppend(&text,
                  "\n## Other variables\n\n| Variable | Values | Default | Meaning |\n"
                  "|---|---|---|---|\n");
  for (const variable_info& each : variables()) {
    base::StrAppend(&text, "| `", each.name, "` | ", cell(each.values), " | ", cell(each.builtin),
                    " | ", cell(each.meaning), " |\n");
  }
  base::StrAppend(&text,
                  "\n`lcrun` reads the variables `LCRUN_<OPTION>`, which `lcrun --help` lists.\n");
  return text;
}

}  // namespace lci::info
